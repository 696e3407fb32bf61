#ifndef RETRYQ_CLI_FLAGS_SHARED_FLAGS_H_
#define RETRYQ_CLI_FLAGS_SHARED_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "cli/flags/flag_parser.h"
#include "cli/management/http_client.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/breaker.h"
#include "retryq/client.h"
#include "retryq/delay_queue_options.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

// The flags that several subcommands have, each defined once: name, help, conversion and checks.
// Each function adds its flags to the parser, some to a group of the help that is named below.
// ParseInto then writes the values to the options, which must outlive the parser.

// Group "Retries": --backoff, --base, --factor, --max, --delays, --jitter, --max-attempts,
// --max-age.
void AddRetryFlags(FlagParser& parser, RetryOptions* retry);

// Group "Delay queues": --prefix, --queue-type, --outage, --margin, --max-length, …
void AddDelayQueueFlags(FlagParser& parser, ClientOptions* client);

// --prefix, for commands that only read delay queues.
void AddPrefixFlag(FlagParser& parser, std::string* prefix);

// --declare and --declare-type: `*type` is set with --declare.
void AddDeclareFlags(FlagParser& parser, std::optional<QueueType>* type);

// --breaker and its settings; without --breaker, `*breaker` stays empty. `help` is that of
// --breaker.
void AddBreakerFlags(FlagParser& parser, const std::string& help,
                     std::optional<BreakerOptions>* breaker);

// --url and --url-file. Without them the addresses come from RETRYQ_URL_FILE, RETRYQ_URL or the
// library's default, in this order. A file is read again before each attempt to connect.
void AddUrlFlags(FlagParser& parser, const std::string& help, ClientOptions* client);

// The broker and its management API.
struct BrokerPlace {
  ClientOptions client;
  amqp::ConnectionOptions connection;
  ManagementUrl management;
};

// Group "Where": --url, --url-file and --management, or RETRYQ_URL, RETRYQ_URL_FILE and
// RETRYQ_MANAGEMENT_URL. `waits`: the command waits for hosts that cannot be resolved yet, so these
// are not errors.
void AddPlaceFlags(FlagParser& parser, bool waits, BrokerPlace* place);

// Returns RETRYQ_MANAGEMENT_URL if its host is one of the broker's hosts.
std::optional<ManagementUrl> ManagementByEnvironment(const amqp::ConnectionOptions& broker);

// The broker of client options that have been read. Describe() of it contains no password.
amqp::ConnectionOptions ConnectionOf(const ClientOptions& client);

// The number of quorum queues above which users are warned. Their cost for a broker is measured in
// test/bench/README.md.
inline constexpr std::int64_t kManyQuorumQueues = 1000;

// The number of quorum queues of a delay at a time: names rotate, and an older queue exists until
// its lease ends. 1 if workers do not declare them, 0 if the queues are classic.
std::int64_t QuorumQueuesOfADelay(const DelayQueueOptions& options);

// The cost of many quorum delay queues, and the flags to have fewer.
std::string ManyQuorumQueuesCost();
std::string FewerQuorumQueues(const DelayQueueOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_SHARED_FLAGS_H_
