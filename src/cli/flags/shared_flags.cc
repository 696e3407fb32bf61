#include "cli/flags/shared_flags.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/text/io.h"

namespace retryq::cli {
namespace {

enum class BackoffKind { kExponential, kLinear, kFixed };

// Reports flags that have no effect together with others. Returns whether all can be combined.
bool CheckBackoff(BackoffKind kind, const BackoffOptions& backoff, FlagReader& reader) {
  bool fits = true;
  const auto refuse = [&](const char* flag, const std::string& beside, const char* why) {
    fits = reader.RefuseBeside(flag, beside, why) && fits;
  };
  if (reader.given("--delays")) {
    for (const char* flag : {"--backoff", "--base", "--factor", "--max"}) {
      fits = reader.RefuseTogether(flag, "--delays", "which lists all delays") && fits;
    }
  } else if (kind == BackoffKind::kFixed) {
    for (const char* flag : {"--factor", "--max"}) {
      refuse(flag, "--backoff fixed", "where each delay is --base");
    }
  } else if (kind == BackoffKind::kLinear) {
    refuse("--factor", "--backoff linear", "which grows by --base");
  }
  if (backoff.jitter_kind != JitterKind::kDecorrelated) return fits;
  for (const char* flag : {"--backoff", "--factor", "--delays"}) {
    refuse(flag, "--jitter decorrelated", "where each delay depends on the previous one");
  }
  return fits;
}

// The library must not report again what CheckBackoff has reported.
void ResetContradictions(BackoffOptions* backoff) {
  backoff->growth = Growth::kExponential;
  backoff->delays.clear();
  backoff->jitter_kind = JitterKind::kFraction;
}

// Reads a file with one URL per line.
absl::StatusOr<std::vector<std::string>> UrlsInFile(const std::string& name) {
  const FileDescriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return absl::ErrnoToStatus(errno, absl::StrCat("file '", name, "'"));
  struct stat kind = {};
  if (::fstat(file.get(), &kind) != 0 || !S_ISREG(kind.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("file '", name,
                     "' is not a regular file, but is read again at each connect: name a regular "
                     "file"));
  }
  const absl::StatusOr<std::string> text = ReadAll(file.get());
  if (!text.ok()) return text.status();
  std::vector<std::string> urls;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const absl::string_view url = absl::StripAsciiWhitespace(line);
    if (!url.empty()) urls.emplace_back(url);
  }
  if (urls.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("file '", name, "' contains no URL"));
  }
  return urls;
}

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<amqp::ConnectionOptions> ParsedUrls(const ClientOptions& client) {
  std::vector<std::string> urls = client.more_urls;
  urls.insert(urls.begin(), client.url);
  return amqp::ParseUris(urls);
}

// Reads the addresses of the broker from the first source that has some. `urls` and `file` are
// those of --url and --url-file.
void ReadUrls(std::vector<std::string> urls, std::string file, FlagReader& reader,
              ClientOptions* client) {
  if (!reader.RefuseTogether("--url", "--url-file")) return;
  std::string source = file.empty() ? "--url" : "--url-file";
  if (urls.empty() && file.empty()) {
    source = "RETRYQ_URL_FILE";
    file = Variable("RETRYQ_URL_FILE");
  }
  if (!file.empty()) {
    absl::StatusOr<std::vector<std::string>> found = UrlsInFile(file);
    if (!found.ok()) {
      return reader.Complain(absl::StrCat(source, ": ", std::string(found.status().message())));
    }
    urls = *std::move(found);
    client->url_source = [file] { return UrlsInFile(file); };
  }
  if (urls.empty()) {
    source = "RETRYQ_URL";
    if (std::string url = Variable("RETRYQ_URL"); !url.empty()) urls.push_back(std::move(url));
  }
  if (!urls.empty()) {
    client->url = urls.front();
    client->more_urls.assign(urls.begin() + 1, urls.end());
  }
  const absl::Status status = ParsedUrls(*client).status();
  if (!status.ok()) reader.Complain(absl::StrCat(source, ": ", std::string(status.message())));
}

// `unknown` is the result if a host cannot be resolved.
bool IsOnAHostOf(const amqp::ConnectionOptions& broker, const ManagementUrl& management,
                 bool unknown) {
  return std::any_of(broker.endpoints.begin(), broker.endpoints.end(),
                     [&](const amqp::Endpoint& endpoint) {
                       return IsSameHost(endpoint.host, management.endpoint.host).value_or(unknown);
                     });
}

// If the broker's URLs are in a file, reads its user's current password from the file.
ManagementUrl Renewed(ManagementUrl management, const ClientOptions& client,
                      const amqp::ConnectionOptions& broker) {
  if (client.url_source == nullptr || management.user != broker.user ||
      management.password != broker.password) {
    return management;
  }
  management.renewed = [source = client.url_source]() -> absl::StatusOr<amqp::ConnectionOptions> {
    const absl::StatusOr<std::vector<std::string>> urls = source();
    if (!urls.ok()) return urls.status();
    return amqp::ParseUris(*urls);
  };
  return management;
}

constexpr char kUrlHelp[] =
    "Connect to this broker: amqp://user:password@host:port/vhost. Repeatable, for the nodes of a "
    "cluster.";
constexpr char kManagementHelp[] =
    "Use the management API at http://user:password@host:port, or https:// with the parameters of "
    "amqps://. Default: $RETRYQ_MANAGEMENT_URL, which with --url must name one of its hosts; "
    "otherwise the hosts and the user of --url, on port 15672 (with amqps:// by https on 15671)";

// `urls_flag` is the flag that names the broker; empty: the environment does.
ManagementUrl Resolved(const std::optional<std::string>& given, const std::string& urls_flag,
                       const ClientOptions& client, bool waits, FlagReader& reader) {
  const amqp::ConnectionOptions broker = ConnectionOf(client);
  const std::string variable = Variable("RETRYQ_MANAGEMENT_URL");
  const bool by_variable = !given && !variable.empty();
  if (!given && !by_variable) return Renewed(DefaultManagementUrl(broker), client, broker);
  absl::StatusOr<ManagementUrl> management =
      ParseManagementUrl(by_variable ? variable : *given, broker);
  if (!management.ok()) {
    reader.Complain(absl::StrCat(by_variable ? "RETRYQ_MANAGEMENT_URL: " : "--management: ",
                                 std::string(management.status().message())));
    return DefaultManagementUrl(broker);
  }
  // A variable for another broker must not select the queues to read or delete.
  if (by_variable && !urls_flag.empty() && !IsOnAHostOf(broker, *management, waits)) {
    reader.Complain(absl::StrCat(
        "RETRYQ_MANAGEMENT_URL names the management API of another host, ", Describe(*management),
        ", than the broker in ", urls_flag, ", ", amqp::Describe(broker),
        "; unset the variable, or name the management API of the broker with --management"));
  }
  return Renewed(*std::move(management), client, broker);
}

}  // namespace

void AddRetryFlags(FlagParser& parser, RetryOptions* retry) {
  BackoffOptions* const backoff = &retry->backoff;
  parser.Group("Retries");
  const auto kind = std::make_shared<BackoffKind>(BackoffKind::kExponential);
  parser.AddWord(
      "--backoff",
      {{"exponential", BackoffKind::kExponential},
       {"linear", BackoffKind::kLinear},
       {"fixed", BackoffKind::kFixed}},
      kind.get(),
      "Set how delays grow: exponential, linear (by --base) or fixed. Default: exponential");
  parser.Add("--base", "DURATION", &backoff->base, "Set the first delay. Default: 1s");
  parser.Add("--factor", "NUMBER", &backoff->factor,
             "Exponential: multiply each delay by this. Default: 2");
  parser.Add("--max", "DURATION", &backoff->max, "Limit each delay. Default: 10m");
  parser.Add("--delays", "LIST", &backoff->delays,
             "List the delays instead, such as 1s,10s,100s,500s. The last one repeats until "
             "--max-attempts or --max-age is reached");
  parser.Add(
      "--jitter", "PART|full|decorrelated",
      [backoff](const std::string& text) -> std::string {
        backoff->jitter_kind =
            text == "decorrelated" ? JitterKind::kDecorrelated : JitterKind::kFraction;
        if (text == "decorrelated") return "";
        return Convert(text == "full" ? "1" : text, &backoff->jitter);
      },
      "Set the random part of each delay: 0 to 1; full, which is 1; or decorrelated: from --base "
      "to three times the previous delay, at most --max. Default: 0");
  parser.AddNumber("--max-attempts", 0, UINT64_MAX, &retry->max_attempts,
                   "Limit the runs for one message, including the first. 0: unlimited. Default: "
                   "25");
  parser.Add("--max-age", "DURATION", &retry->max_age,
             "Start no retry later than this after the first failure. 0: unlimited. Default: 0");
  parser.Check([kind, retry](FlagReader& reader) {
    if (*kind == BackoffKind::kLinear) retry->backoff.growth = Growth::kLinear;
    if (*kind == BackoffKind::kFixed) retry->backoff.factor = 1.0;
    if (!CheckBackoff(*kind, retry->backoff, reader)) ResetContradictions(&retry->backoff);
    reader.Complain(Validate(*retry));
  });
}

void AddDelayQueueFlags(FlagParser& parser, ClientOptions* client) {
  DelayQueueOptions* const options = &client->delay_queues;
  parser.Group("Delay queues");
  parser.Add("--prefix", "PREFIX", &options->prefix,
             "Begin the names of delay queues with this: PREFIX.MILLISECONDS, or for quorum queues "
             "PREFIX.MILLISECONDS.QUEUE.q0 to .q3. Default: retry");
  parser.Add("--queue-type", "classic|quorum", &options->queue_type,
             "Set the type of delay queues. Quorum queues lose no message even if the broker is "
             "killed. Default: classic");
  parser.Add("--outage", "DURATION", &options->outage,
             "With --queue-type quorum: set the total downtime of broker and QUEUE that is "
             "survived without losing messages. Default: 1d. Range: from 5m");
  parser.Add("--share-delay-queues", &options->share,
             "With --queue-type quorum: let all work queues share the delay queues, as they share "
             "classic ones. There are fewer queues, but a work queue that is missing or full can "
             "delay, and in the end lose, messages of all others");
  parser.Add("--margin", "DURATION", &options->margin,
             "Keep a classic delay queue this much longer than necessary. Default: 1m");
  parser.AddNumber("--max-length", 0, INT64_MAX, &options->max_length,
                   "Limit the messages in a delay queue. Further failed messages stay unacked and "
                   "are tried again with growing pauses. 0: unlimited. Default: 0");
  parser.AddNumber("--max-length-bytes", 0, INT64_MAX, &options->max_length_bytes,
                   "Limit the bytes of bodies in a delay queue, like --max-length. 0: unlimited. "
                   "Default: 0");
  const auto no_declare = std::make_shared<bool>(false);
  parser.Add("--no-declare", no_declare.get(),
             "Declare nothing, for users without the configure permission: use the queues that "
             "were imported from retryq plan --definitions");
  parser.AddNumber(
      "--max-delay-queues", 0, UINT32_MAX, &options->max_delay_queues,
      "Limit the delays that have a queue of their own. Longer lists of delays pass through "
      "several of these queues, and are as exact. Default: 64. Range: from 16");
  const auto no_exact_queues = std::make_shared<bool>(false);
  parser.Add("--no-exact-queues", no_exact_queues.get(),
             "Use no exact queues for the delays of the policy. If every worker with this prefix "
             "sets it, --max-delay-queues limits their queues together");
  parser.Check([no_declare, no_exact_queues, client, options](FlagReader& reader) {
    const bool quorum = options->queue_type == QueueType::kQuorum;
    reader.RequireFor("--outage", quorum, "--queue-type quorum");
    reader.RequireFor("--share-delay-queues", quorum,
                      "--queue-type quorum, as classic delay queues are always shared");
    options->declare = !*no_declare;
    options->exact_queues = !*no_exact_queues;
    reader.Complain(Validate(*options, ConnectionOf(*client).heartbeat));
  });
}

void AddPrefixFlag(FlagParser& parser, std::string* prefix) {
  parser.Add("--prefix", "PREFIX", prefix,
             "Set the prefix of the names of delay queues, PREFIX.MILLISECONDS. Default: retry");
  parser.Check([prefix](FlagReader& reader) {
    DelayQueueOptions delay_queues;
    delay_queues.prefix = *prefix;
    reader.Complain(Validate(delay_queues, amqp::ConnectionOptions().heartbeat));
  });
}

void AddDeclareFlags(FlagParser& parser, std::optional<QueueType>* type) {
  const auto is_on = std::make_shared<bool>(false);
  const auto given = std::make_shared<QueueType>(QueueType::kClassic);
  parser.Add("--declare", is_on.get(),
             "Declare QUEUE, durable, if it does not exist. See also retryq declare");
  parser.Add("--declare-type", "classic|quorum", given.get(),
             "With --declare: set the type of QUEUE. Default: classic");
  parser.Check([is_on, given, type](FlagReader& reader) {
    reader.RequireFor("--declare-type", *is_on, "--declare");
    if (*is_on) *type = *given;
  });
}

void AddBreakerFlags(FlagParser& parser, const std::string& help,
                     std::optional<BreakerOptions>* breaker) {
  const auto settings = std::make_shared<BreakerOptions>();
  const auto is_on = std::make_shared<bool>(false);
  parser.Add("--breaker", is_on.get(), help);
  parser.AddNumber("--breaker-calls", 1, 10'000, &settings->calls,
                   "With --breaker: look at this number of the last runs. Default: 20");
  parser.Add(
      "--breaker-ratio", "RATIO", &settings->ratio,
      "With --breaker: open it if this fraction of them failed. Default: 0.5. Range: up to 1");
  parser.Add("--breaker-pause", "DURATION", &settings->pause,
             "With --breaker: pause consuming for this time. Default: 30s. Range: 1s to 24h");
  parser.AddNumber("--breaker-probes", 1, 1'000, &settings->probes,
                   "With --breaker: close it after this number of successes in a row. Default: 3");
  parser.Check([settings, is_on, breaker](FlagReader& reader) {
    for (const char* flag :
         {"--breaker-calls", "--breaker-ratio", "--breaker-pause", "--breaker-probes"}) {
      reader.RequireFor(flag, *is_on, "--breaker");
    }
    if (!*is_on) return;
    reader.Complain(Validate(*settings));
    *breaker = *settings;
  });
}

void AddUrlFlags(FlagParser& parser, const std::string& help, ClientOptions* client) {
  const auto urls = std::make_shared<std::vector<std::string>>();
  const auto file = std::make_shared<std::string>();
  parser.Add("--url", "URL", urls.get(),
             help + "\nDefault: $RETRYQ_URL, otherwise amqp://guest:guest@localhost:5672/");
  parser.Add("--url-file", "FILE", file.get(),
             "Read the URLs from this file, one per line, again at each connect, so that a "
             "password may change. Default: $RETRYQ_URL_FILE");
  parser.Resolve(
      [urls, file, client](FlagReader& reader) { ReadUrls(*urls, *file, reader, client); });
}

void AddPlaceFlags(FlagParser& parser, bool waits, BrokerPlace* place) {
  parser.Group("Where");
  AddUrlFlags(parser, kUrlHelp, &place->client);
  const auto url = std::make_shared<std::optional<std::string>>();
  parser.Add("--management", "URL", url.get(), kManagementHelp);
  parser.Resolve([url, waits, place](FlagReader& reader) {
    place->connection = ConnectionOf(place->client);
    place->management = Resolved(*url,
                                 reader.given("--url-file") ? "--url-file"
                                 : reader.given("--url")    ? "--url"
                                                            : "",
                                 place->client, waits, reader);
  });
}

std::optional<ManagementUrl> ManagementByEnvironment(const amqp::ConnectionOptions& broker) {
  const std::string variable = Variable("RETRYQ_MANAGEMENT_URL");
  if (variable.empty()) return std::nullopt;
  absl::StatusOr<ManagementUrl> management = ParseManagementUrl(variable, broker);
  if (!management.ok() || !IsOnAHostOf(broker, *management, /*unknown=*/false)) return std::nullopt;
  return *std::move(management);
}

amqp::ConnectionOptions ConnectionOf(const ClientOptions& client) {
  return ParsedUrls(client).value_or(amqp::ConnectionOptions());
}

std::int64_t QuorumQueuesOfADelay(const DelayQueueOptions& options) {
  if (options.queue_type != QueueType::kQuorum) return 0;
  return options.declare ? 3 : 1;
}

std::string ManyQuorumQueuesCost() {
  return absl::StrCat("each takes 0.1 to 0.2 MiB of the broker's memory, and ", kManyQuorumQueues,
                      " of them 8 % of a core even when idle");
}

std::string FewerQuorumQueues(const DelayQueueOptions& options) {
  return absl::StrCat(options.share ? "" : "share them among work queues (--share-delay-queues); ",
                      "have fewer different delays, or a lower --max-delay-queues; or use classic "
                      "delay queues");
}

}  // namespace retryq::cli
