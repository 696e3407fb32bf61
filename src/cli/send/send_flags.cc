#include "cli/send/send_flags.h"

#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retryq/amqp/table.h"
#include "retryq/delay_queue_options.h"

namespace retryq::cli {
namespace {

constexpr std::size_t kLongestName = 255;  // of anything with a name in AMQP

constexpr char kDescription[] =
    "Publishes one message, now or so that it arrives later, and waits until the broker has "
    "confirmed it.";

constexpr char kUsage[] =
    "retryq send --queue QUEUE [OPTIONS] [BODY|-]\n"
    "       retryq send --exchange EXCHANGE --routing-key KEY [OPTIONS] [BODY|-]";

constexpr char kFooter[] =
    R"(Exits with 0 only when the broker has confirmed the message and routed it to a queue. Exit codes: 64
wrong options; 69 nothing to route it to, or no answer within 30s; 77 refused by the broker.

Example: arrives in the queue orders half a minute from now
  retryq send --queue orders --delay 30s --header customer=7 'order 42'
)";

struct SendFlags {
  std::vector<std::string> urls;
  std::vector<std::string> headers;
  FlagText queue, exchange, routing_key, prefix, delay, max_delay_queues, content_type, message_id,
      body;
  bool round_up = false;
};

void AddFlags(FlagParser& parser, SendFlags& flags) {
  parser.AddPositional(
      "BODY", &flags.body,
      "The message's body. - is all of stdin, and so is none where stdin is no\nterminal");
  parser.Group("Where");
  parser.Add("--queue", "QUEUE", &flags.queue, "The queue to publish to");
  parser.Add("--exchange", "EXCHANGE", &flags.exchange, "The exchange to publish to");
  parser.Add("--routing-key", "KEY", &flags.routing_key,
             "With --exchange: the key to publish with");
  parser.Add("--url", "URL", &flags.urls,
             "amqp://user:password@host:port/vhost; again for more nodes of a cluster\n"
             "(default: $RETRYQ_URL, else amqp://guest:guest@localhost:5672/)");

  parser.Group("When");
  parser.Add("--delay", "DURATION", &flags.delay,
             "Be handled this much later, to the millisecond, in a queue that retryq works on:\n"
             "it sends on what comes early (default: 0, at once)");
  parser.Add("--round-up", &flags.round_up,
             "For queues that others consume, who would get the message early: the delay is\n"
             "rounded up to a step such as 1s, 2s, 3s, 5s, 10s, 15s, 30s, 1m, 2m … 30d");
  parser.Add("--max-delay-queues", "NUMBER", &flags.max_delay_queues,
             "With --delay: as that queue's workers have it (default: 64)");
  parser.Add("--prefix", "PREFIX", &flags.prefix,
             "With --delay: delay queues are named PREFIX.MILLISECONDS (default: retry)");

  parser.Group("What");
  parser.Add("--header", "NAME=VALUE", &flags.headers, "A header, as text; again for more");
  parser.Add("--content-type", "TYPE", &flags.content_type, "The body's MIME type");
  parser.Add("--message-id", "ID", &flags.message_id, "What the message is known by");
}

void ReadAddress(const SendFlags& flags, FlagReader& reader, OutgoingMessage* message) {
  if (flags.queue && (flags.exchange || flags.routing_key)) {
    reader.Complain("--queue: excludes --exchange and --routing-key; give one or the other");
  } else if (!flags.queue && !flags.exchange) {
    reader.Complain("--queue is missing: name the queue, or --exchange and --routing-key");
  } else if (flags.exchange && !flags.routing_key) {
    reader.Complain("--routing-key is missing: --exchange needs one; '' is one too");
  }
  if (flags.exchange && flags.exchange->empty()) {
    reader.Complain("--exchange '': is the default exchange; use --queue");
  }
  reader.Read("--queue", flags.queue, &message->routing_key);
  message->exchange = flags.exchange.value_or("");
  if (flags.routing_key) message->routing_key = *flags.routing_key;
}

void ReadHeaders(const std::vector<std::string>& headers, FlagReader& reader, amqp::Table* table) {
  for (const std::string& header : headers) {
    const std::size_t equals = header.find('=');
    if (equals == std::string::npos || equals == 0) {
      reader.Complain("--header '" + header + "': write NAME=VALUE");
    } else {
      table->Set(header.substr(0, equals), header.substr(equals + 1));
    }
  }
}

void CheckNames(const OutgoingMessage& message, FlagReader& reader) {
  const auto check = [&reader](const std::string& flag, const std::string& name) {
    if (name.size() <= kLongestName) return;
    reader.Complain(flag + ": has " + std::to_string(name.size()) + " bytes; AMQP takes at most " +
                    std::to_string(kLongestName));
  };
  check("--exchange", message.exchange);
  check(message.exchange.empty() ? "--queue" : "--routing-key", message.routing_key);
  check("--content-type", message.content_type);
  check("--message-id", message.message_id);
  for (const auto& [name, value] : message.headers.fields()) check("--header", name);
}

SendOptions ReadOptions(const SendFlags& flags, FlagReader& reader) {
  SendOptions options;
  ReadAddress(flags, reader, &options.message);
  ReadHeaders(flags.headers, reader, &options.message.headers);
  reader.Read("--content-type", flags.content_type, &options.message.content_type);
  reader.Read("--message-id", flags.message_id, &options.message.message_id);
  CheckNames(options.message, reader);
  reader.Read("--delay", flags.delay, &options.publish.delay);
  options.publish.round_up = flags.round_up;
  if (flags.round_up && !flags.delay) {
    reader.Complain("--round-up: is for --delay; add that, or leave this out");
  }

  const absl::Duration heartbeat = reader.ReadUrls(flags.urls, &options.client);
  reader.Read("--prefix", flags.prefix, &options.client.delay_queues.prefix);
  reader.Read("--max-delay-queues", flags.max_delay_queues, 0, UINT32_MAX,
              &options.client.delay_queues.max_delay_queues);
  reader.Complain(Validate(options.client.delay_queues, heartbeat));

  options.body_from_stdin = !flags.body || *flags.body == "-";
  if (!options.body_from_stdin) {
    options.message.body = *flags.body;
  } else if (!flags.body && ::isatty(STDIN_FILENO) != 0) {
    reader.Complain("BODY is missing: write it last, or - to type it in");
  }
  return options;
}

}  // namespace

absl::StatusOr<std::variant<SendOptions, Answer>> ParseSend(const Arguments& arguments) {
  SendFlags flags;
  FlagParser parser(kDescription, kUsage, kFooter);
  AddFlags(parser, flags);
  return parser.ParseInto(arguments,
                          [&flags](FlagReader& reader) { return ReadOptions(flags, reader); });
}

}  // namespace retryq::cli
