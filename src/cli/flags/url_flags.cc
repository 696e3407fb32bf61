#include "cli/flags/url_flags.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/text/io.h"
#include "retryq/amqp/connection_options.h"

namespace retryq::cli {
namespace {

// Reads a file with one URL per line.
absl::StatusOr<std::vector<std::string>> ReadUrlFile(const std::string& name) {
  const FileDescriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return absl::ErrnoToStatus(errno, absl::StrCat("file '", name, "'"));
  struct stat kind = {};
  if (::fstat(file.get(), &kind) != 0 || !S_ISREG(kind.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("file '", name, "' is read again at each connect: name a regular file"));
  }
  const absl::StatusOr<std::string> text = ReadAll(file.get());
  if (!text.ok()) return text.status();
  std::vector<std::string> urls;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const absl::string_view url = absl::StripAsciiWhitespace(line);
    if (!url.empty()) urls.emplace_back(url);
  }
  if (urls.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("file '", name, "' holds no URL"));
  }
  return urls;
}

std::string UrlVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

void AddFlags(FlagParser& parser, UrlFlags& flags, const std::string& help) {
  parser.Add("--url", "URL", &flags.urls,
             help + "\n(default: $RETRYQ_URL, else amqp://guest:guest@localhost:5672/)");
  parser.Add("--url-file", "FILE", &flags.file,
             "Take --url from the lines of this file, which is read again at each connect, so\n"
             "that a password may change (default: $RETRYQ_URL_FILE)");
}

absl::Duration ReadUrls(const UrlFlags& flags, FlagReader& reader, ClientOptions* client) {
  if (!flags.urls.empty() && flags.file) {
    reader.Complain("--url and --url-file: exclude each other; leave one of them out");
  }
  std::vector<std::string> all = flags.urls;
  std::string source = "--url";
  std::string file = flags.file.value_or("");
  if (flags.file) {
    source = "--url-file";
  } else if (all.empty()) {
    source = "RETRYQ_URL_FILE";
    file = UrlVariable("RETRYQ_URL_FILE");
  }
  if (!file.empty() || flags.file) {
    absl::StatusOr<std::vector<std::string>> read = ReadUrlFile(file);
    if (!read.ok()) {
      reader.Complain(absl::StrCat(source, ": ", std::string(read.status().message())));
      return amqp::ConnectionOptions().heartbeat;
    }
    all = *std::move(read);
    client->url_source = [file] { return ReadUrlFile(file); };
  } else if (std::string url = UrlVariable("RETRYQ_URL"); all.empty() && !url.empty()) {
    all.push_back(std::move(url));
    source = "RETRYQ_URL";
  }
  if (!all.empty()) {
    client->url = all.front();
    client->more_urls.assign(all.begin() + 1, all.end());
  }
  all.insert(all.begin(), client->url);
  const absl::StatusOr<amqp::ConnectionOptions> connection = amqp::ParseUris(all);
  if (connection.ok()) return connection->heartbeat;
  reader.Complain(source + ": " + std::string(connection.status().message()));
  return amqp::ConnectionOptions().heartbeat;
}

}  // namespace retryq::cli
