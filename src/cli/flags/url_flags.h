#ifndef RETRYQ_CLI_FLAGS_URL_FLAGS_H_
#define RETRYQ_CLI_FLAGS_URL_FLAGS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "retryq/client.h"

namespace retryq::cli {

// The flags that name the broker.
struct UrlFlags {
  std::vector<std::string> urls;
  FlagText file;
  bool is_given() const { return !urls.empty() || file; }
};
void AddFlags(FlagParser& parser, UrlFlags& flags, const std::string& help);

// Reads the broker's addresses from the flags, otherwise from RETRYQ_URL_FILE, RETRYQ_URL or the
// library's default, in this order, and reports errors. A file is read again before each attempt to
// connect. Returns the heartbeat in the URLs.
absl::Duration ReadUrls(const UrlFlags& flags, FlagReader& reader, ClientOptions* client);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_URL_FLAGS_H_
