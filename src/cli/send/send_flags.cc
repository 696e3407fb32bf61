#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "cli/connect/broker_watch.h"
#include "cli/send/parse_time.h"
#include "cli/send/send_command.h"
#include "cli/text/json_line.h"
#include "cli/text/typed_value.h"
#include "retryq/amqp/table.h"
#include "retryq/delay_queue_options.h"

namespace retryq::cli {
namespace {

constexpr std::uint64_t kMostInFlight = 100'000;

constexpr HelpText kSendHelp = {
    .description =
        "Publishes a message, now or so that it arrives later, and waits until the broker has "
        "confirmed it;\nwith --lines many, a JSON object a line.",
    .usage =
        "retryq send --queue QUEUE [OPTIONS] [BODY|-]\n"
        "       retryq send --exchange EXCHANGE --routing-key KEY [OPTIONS] [BODY|-]\n"
        "       retryq send --lines [OPTIONS]",
    .footer =
        R"(Exits with 0 only when the broker has confirmed the message and routed it to a queue. Exit codes: 64
wrong options; 69 nothing to route it to, or no answer within 10s; 77 refused by the broker. With a delay,
the exchange or the queue must be there; the bindings of the exchange are looked at where
RETRYQ_MANAGEMENT_URL names the management API. The broker drops what no queue takes when it is due.

--lines reads a JSON object a line, and answers with one a line, in any order:
  {"id":1,"queue":"orders","body":"order 42","headers":{"customer":7},"delay":"30s"}
  {"id":1,"ok":true}      or      {"id":1,"error":"why"}
Fields: id (a text or a number); queue, or exchange and routing_key; body, or body_base64; headers
(numbers, texts, true, false, null, lists and objects keep their type); delay ("30s", or seconds) or
at (RFC 3339); priority, correlation_id, reply_to, type, app_id, user_id, message_id, content_type,
content_encoding, expiration ("30s"), timestamp (seconds since 1970, or RFC 3339), transient (true).
What a line does not give is as the flags say. Exit codes: 69 if any message failed; 74 if an answer
could not be written; 75 after a signal. Messages that were read are answered first.

Example: arrives in the queue orders half a minute from now
  retryq send --queue orders --delay 30s --header customer=7 'order 42'
Example: a message for each line of a file, the queue made if it is missing
  jq -c '{id: .number, body: tojson}' orders.jsonl | retryq send --lines --queue orders --declare
)",
};

struct SendFlags {
  BrokerFlags broker;
  std::vector<std::string> headers, typed_headers;
  FlagText queue, exchange, routing_key, prefix, delay, at, max_delay_queues, body;
  FlagText content_type, content_encoding, message_id, correlation_id, reply_to, type, app_id,
      user_id, priority, expiration, timestamp;
  FlagText declare_type, in_flight;
  bool round_up = false;
  bool transient = false;
  bool declare = false;
  bool lines = false;
};

void AddMessageFlags(FlagParser& parser, SendFlags& flags) {
  parser.Group("What");
  parser.Add("--header", "NAME=VALUE", &flags.headers, "A header, as text; again for more");
  parser.Add("--header-json", "NAME=JSON", &flags.typed_headers,
             "A header with a type: 7, 1.5, true, null, \"7\", [1,2], {\"a\":1}; again for more");
  parser.Add("--content-type", "TYPE", &flags.content_type, "The body's MIME type");
  parser.Add("--content-encoding", "NAME", &flags.content_encoding,
             "How the body is encoded, such as gzip; it is sent as it is");
  parser.Add("--message-id", "ID", &flags.message_id, "What the message is known by");
  parser.Add("--correlation-id", "ID", &flags.correlation_id, "What it belongs to");
  parser.Add("--reply-to", "QUEUE", &flags.reply_to, "Where an answer shall go");
  parser.Add("--type", "NAME", &flags.type, "What kind of message it is");
  parser.Add("--app-id", "NAME", &flags.app_id, "What program sends it");
  parser.Add("--user-id", "USER", &flags.user_id,
             "Who sends it: the broker refuses any other than the user of the URL");
  parser.Add("--priority", "NUMBER", &flags.priority, "0 to 255, for queues with priorities");
  parser.Add("--timestamp", "TIME", &flags.timestamp,
             "When it was made: now, RFC 3339 or seconds since 1970");
  parser.Add("--expiration", "DURATION", &flags.expiration,
             "How long it may wait in its queue until the broker drops it; not with a delay");
  parser.Add("--transient", &flags.transient,
             "Lost when the broker restarts, from a classic queue (default: persistent)");
}

void AddFlags(FlagParser& parser, SendFlags& flags) {
  parser.AddPositional(
      "BODY", &flags.body,
      "The message's body. - is all of stdin, and so is none where stdin is no\nterminal");
  parser.Group("Where");
  parser.Add("--queue", "QUEUE", &flags.queue, "The queue to publish to");
  parser.Add("--exchange", "EXCHANGE", &flags.exchange, "The exchange to publish to");
  parser.Add("--routing-key", "KEY", &flags.routing_key,
             "With --exchange: the key to publish with");
  parser.Add("--declare", &flags.declare,
             "Declare QUEUE, durable, if it is missing; see also retryq declare");
  parser.Add("--declare-type", "classic|quorum", &flags.declare_type,
             "With --declare: what it becomes (default: classic)");
  AddBrokerFlags(parser, flags.broker);

  parser.Group("When");
  parser.Add("--delay", "DURATION", &flags.delay,
             "Be handled this much later, to the millisecond, in a queue that retryq works on:\n"
             "it sends on what comes early (default: 0, at once)");
  parser.Add("--at", "TIME", &flags.at,
             "Instead: not before this time, such as 2027-01-31T08:00:00Z");
  parser.Add("--round-up", &flags.round_up,
             "For queues that others consume, who would get the message early: the delay is\n"
             "rounded up to a step such as 1s, 2s, 3s, 5s, 10s, 15s, 30s, 1m, 2m … 30d");
  parser.Add("--max-delay-queues", "NUMBER", &flags.max_delay_queues,
             "With a delay: as that queue's workers have it (default: 64)");
  parser.Add("--prefix", "PREFIX", &flags.prefix,
             "With a delay: delay queues are named PREFIX.MILLISECONDS (default: retry)");

  AddMessageFlags(parser, flags);

  parser.Group("Many");
  parser.Add("--lines", &flags.lines,
             "Publish a message for each line of stdin, a JSON object, and answer each");
  parser.Add("--in-flight", "NUMBER", &flags.in_flight,
             "With --lines: messages that are not answered yet, at most (default: 2000)");
}

void ReadAddress(const SendFlags& flags, FlagReader& reader, OutgoingMessage* message) {
  if (flags.queue && (flags.exchange || flags.routing_key)) {
    reader.Complain("--queue: excludes --exchange and --routing-key; give one or the other");
  } else if (!flags.queue && !flags.exchange && !flags.lines) {
    reader.Complain("--queue is missing: name the queue, or --exchange and --routing-key");
  } else if (flags.exchange && !flags.routing_key && !flags.lines) {
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

void ReadTypedHeaders(const std::vector<std::string>& headers, FlagReader& reader,
                      amqp::Table* table) {
  for (const std::string& header : headers) {
    const std::size_t equals = header.find('=');
    if (equals == std::string::npos || equals == 0) {
      reader.Complain("--header-json '" + header + "': write NAME=JSON");
      continue;
    }
    const auto json = ParseJson(header.substr(equals + 1));
    if (json.is_discarded()) {
      reader.Complain("--header-json '" + header +
                      "': the value is not JSON; write a text as \"text\", or use --header");
      continue;
    }
    absl::StatusOr<amqp::Value> value = TypedValue(json);
    if (value.ok()) {
      table->Set(header.substr(0, equals), *std::move(value));
    } else {
      reader.Complain("--header-json '" + header + "': " + std::string(value.status().message()));
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
  check("--content-encoding", message.content_encoding);
  check("--message-id", message.message_id);
  check("--correlation-id", message.correlation_id);
  check("--reply-to", message.reply_to);
  check("--type", message.type);
  check("--app-id", message.app_id);
  check("--user-id", message.user_id);
  for (const auto& [name, value] : message.headers.fields()) check("--header", name);
}

void ReadTimes(const SendFlags& flags, FlagReader& reader, SendOptions* options) {
  reader.Read("--delay", flags.delay, &options->publish.delay);
  if (flags.at) {
    options->publish.at = ParseTime(*flags.at);
    if (!options->publish.at) {
      reader.Complain("--at '" + *flags.at + "': write a time such as 2027-01-31T08:00:00Z");
    }
  }
  if (flags.delay && flags.at) {
    reader.Complain("--delay and --at: exclude each other; give one of them");
  }
  const bool is_delayed = flags.delay || flags.at;
  options->publish.round_up = flags.round_up;
  if (flags.round_up && !is_delayed && !flags.lines) {
    reader.Complain("--round-up: is for --delay and --at; add one of them, or leave this out");
  }
  if (flags.expiration) {
    options->message.expiration = ParseExpiration(*flags.expiration);
    if (!options->message.expiration) {
      reader.Complain("--expiration '" + *flags.expiration + "': write a duration such as 30s");
    } else if (is_delayed) {
      reader.Complain("--expiration: would end the delay early; leave one of them out");
    }
  }
  if (!flags.timestamp) return;
  options->message.timestamp =
      *flags.timestamp == "now" ? absl::Now() : ParseTimestamp(*flags.timestamp);
  if (!options->message.timestamp) {
    reader.Complain("--timestamp '" + *flags.timestamp +
                    "': write now, a time such as 2027-01-31T08:00:00Z, or seconds since 1970");
  }
}

void ReadMessage(const SendFlags& flags, FlagReader& reader, OutgoingMessage* message) {
  ReadHeaders(flags.headers, reader, &message->headers);
  ReadTypedHeaders(flags.typed_headers, reader, &message->headers);
  reader.Read("--content-type", flags.content_type, &message->content_type);
  reader.Read("--content-encoding", flags.content_encoding, &message->content_encoding);
  reader.Read("--message-id", flags.message_id, &message->message_id);
  reader.Read("--correlation-id", flags.correlation_id, &message->correlation_id);
  reader.Read("--reply-to", flags.reply_to, &message->reply_to);
  reader.Read("--type", flags.type, &message->type);
  reader.Read("--app-id", flags.app_id, &message->app_id);
  reader.Read("--user-id", flags.user_id, &message->user_id);
  if (flags.priority) {
    std::uint8_t priority = 0;
    reader.Read("--priority", flags.priority, 0, UINT8_MAX, &priority);
    message->priority = priority;
  }
  message->transient = flags.transient;
  CheckNames(*message, reader);
}

void ReadDeclare(const SendFlags& flags, FlagReader& reader, SendOptions* options) {
  if (flags.declare_type && !flags.declare) {
    reader.Complain("--declare-type: is for --declare; add that, or leave this out");
  }
  if (!flags.declare) return;
  if (!flags.queue) {
    reader.Complain("--declare: declares the --queue; name it, or use retryq declare first");
    return;
  }
  options->declare = WorkQueue{.name = *flags.queue};
  reader.Read("--declare-type", flags.declare_type, &options->declare->type);
}

void ReadLines(const SendFlags& flags, FlagReader& reader, SendOptions* options) {
  if (!flags.lines) {
    if (flags.in_flight) {
      reader.Complain("--in-flight: is for --lines; add that, or leave this out");
    }
    return;
  }
  options->lines.emplace();
  reader.Read("--in-flight", flags.in_flight, 1, kMostInFlight, &options->lines->in_flight);
  if (flags.body) reader.Complain("BODY: is in the lines of --lines; leave it out");
  if (flags.delay || flags.at) {
    reader.Complain("--delay and --at: are in the lines of --lines; leave them out");
  }
}

SendOptions ReadOptions(const SendFlags& flags, FlagReader& reader) {
  SendOptions options;
  ReadAddress(flags, reader, &options.message);
  ReadMessage(flags, reader, &options.message);
  ReadTimes(flags, reader, &options);
  ReadDeclare(flags, reader, &options);
  ReadLines(flags, reader, &options);

  const absl::Duration heartbeat =
      ReadBrokerFlags(flags.broker, reader, &options.client, &options.wait);
  reader.Read("--prefix", flags.prefix, &options.client.delay_queues.prefix);
  reader.Read("--max-delay-queues", flags.max_delay_queues, 0, UINT32_MAX,
              &options.client.delay_queues.max_delay_queues);
  reader.Complain(Validate(options.client.delay_queues, heartbeat));

  if (flags.lines) return options;
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
  FlagParser parser(kSendHelp);
  AddFlags(parser, flags);
  return parser.ParseInto(arguments,
                          [&flags](FlagReader& reader) { return ReadOptions(flags, reader); });
}

}  // namespace retryq::cli
