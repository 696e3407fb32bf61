#include "cli/send/send_command.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/header_names.h"
#include "base/iso_time.h"
#include "base/name_size.h"
#include "base/quoting.h"
#include "base/remedy.h"
#include "cli/flags/shared_flags.h"
#include "cli/management/management_api.h"
#include "cli/text/duration.h"
#include "cli/text/io.h"
#include "cli/text/json_line.h"
#include "cli/tracing/span_export.h"
#include "retryq/broker/delay_queue_name.h"
#include "retryq/event_loop.h"
#include "retryq/retryq.h"

namespace retryq::cli {
namespace {

constexpr std::uint64_t kMostInFlight = 100'000;

constexpr HelpText kSendHelp = {
    .description =
        "Publishes a message, now or with a delay, and waits until the broker has confirmed "
        "it.\nWith --lines it publishes a message for each line of stdin.",
    .usage =
        "retryq send --queue QUEUE [OPTIONS] [BODY|-]\n"
        "       retryq send --exchange EXCHANGE --routing-key KEY [OPTIONS] [BODY|-]\n"
        "       retryq send --lines [OPTIONS]",
    .footer =
        R"(Exit status: 0 only after the broker has confirmed the message and routed it to a queue; 64 wrong
options; 69 the message cannot be routed, or the broker does not answer within 10s; 77 refused by
the broker. With a delay, the exchange or the queue must exist. If RETRYQ_MANAGEMENT_URL names the
management API, the bindings of the exchange are checked. The broker drops a message that no queue
accepts when it is due.

--lines reads one JSON object per line, and writes one result per line, in any order:
  {"id":1,"queue":"orders","body":"order 42","headers":{"customer":7},"delay":"30s"}
  {"id":1,"ok":true}      or      {"id":1,"error":"why"}
Fields: id (a text or a number); queue, or exchange and routing_key; body, or body_base64; headers
(numbers, texts, true, false, null, lists and objects keep their type); delay ("30s", or seconds) or
at (RFC 3339); priority, correlation_id, reply_to, type, app_id, user_id, message_id, content_type,
content_encoding, expiration ("30s"), timestamp (seconds since 1970, or RFC 3339), transient (true).
The flags set the fields that a line does not contain. Exit status: 69 if a message failed; 74 if a
result could not be written; 75 after a signal. It first writes the results of all lines that it has
read.

Example: a message that arrives in the queue orders after half a minute
  retryq send --queue orders --delay 30s --header customer=7 'order 42'
Example: a message for each line of a file; declares the queue if it is missing
  jq -c '{id: .number, body: tojson}' orders.jsonl | retryq send --lines --queue orders --declare
)",
};

// The options, and the values of flags that are converted later, together with other flags.
struct SendFlags {
  SendOptions options;
  std::vector<std::string> headers, typed_headers;
  std::optional<std::string> body;
  std::size_t in_flight = 2000;
  std::optional<QueueType> declare;
  bool lines = false;
};

// The properties that are texts.
struct TextFlag {
  const char* flag;
  const char* value;
  std::string OutgoingMessage::*text;
  const char* help;
};
constexpr TextFlag kTextFlags[] = {
    {"--content-type", "TYPE", &OutgoingMessage::content_type, "Set the MIME type of the body"},
    {"--content-encoding", "NAME", &OutgoingMessage::content_encoding,
     "Set the encoding of the body, such as gzip. The body is sent unchanged"},
    {"--message-id", "ID", &OutgoingMessage::message_id, "Set the id of the message"},
    {"--correlation-id", "ID", &OutgoingMessage::correlation_id,
     "Set the id of the request that the message belongs to"},
    {"--reply-to", "QUEUE", &OutgoingMessage::reply_to, "Set the queue for replies"},
    {"--type", "NAME", &OutgoingMessage::type, "Set the kind of message, for the consumer"},
    {"--app-id", "NAME", &OutgoingMessage::app_id, "Set the name of the sending program"},
    {"--user-id", "USER", &OutgoingMessage::user_id,
     "Set the user-id property; must be the user of the connection"},
};

void CheckTarget(const SendFlags& flags, FlagReader& reader) {
  if (reader.given("--queue")) {
    reader.RefuseTogether("--exchange", "--queue");
    reader.RefuseTogether("--routing-key", "--queue");
  } else if (!flags.lines && !reader.given("--exchange")) {
    reader.Require("--queue", "name the queue, or give --exchange and --routing-key");
  } else if (!flags.lines) {
    reader.Require("--routing-key", "--exchange needs one, which may be empty ('')");
  }
}

void AddTargetFlags(FlagParser& parser, SendFlags* flags) {
  OutgoingMessage* const message = &flags->options.message;
  parser.Group("Target");
  parser.AddName("--queue", "QUEUE", &message->routing_key, "Publish to this queue");
  parser.AddName("--exchange", "EXCHANGE", &message->exchange,
                 "Publish to this exchange. For the default exchange, use --queue");
  parser.AddName("--routing-key", "KEY", &message->routing_key,
                 "With --exchange: publish with this routing key", /*may_be_empty=*/true);
  AddDeclareFlags(parser, &flags->declare);
  AddBrokerFlags(parser, &flags->options.client, &flags->options.wait);
  parser.Check([flags, message](FlagReader& reader) {
    CheckTarget(*flags, reader);
    if (!reader.RequireFor("--declare", reader.given("--queue"), "--queue") || !flags->declare) {
      return;
    }
    flags->options.declare = WorkQueue{.name = message->routing_key, .type = *flags->declare};
  });
}

// Adds the flags that set when the message is delivered.
void AddTimeFlags(FlagParser& parser, SendFlags* flags) {
  PublishOptions* const publish = &flags->options.publish;
  parser.Group("Delay");
  parser.Add("--delay", "DURATION", &publish->delay,
             "Deliver the message after this time, exact to the millisecond if retryq consumes the "
             "queue; other consumers may get it early. Default: 0");
  parser.Add(
      "--at", "TIME",
      [publish](const std::string& text) {
        publish->at = ParseIsoTime(text);
        return publish->at ? "" : "write a time such as 2027-01-31T08:00:00Z";
      },
      "Deliver the message not before this time, such as 2027-01-31T08:00:00Z");
  parser.Add("--round-up", &publish->round_up,
             "Round the delay up to a step such as 1s, 2s, 3s, 5s, 10s, 15s, 30s, 1m, 2m … 30d, so "
             "that it is also exact for other consumers");
  parser.Check([flags](FlagReader& reader) {
    const bool is_delayed = reader.given("--delay") || reader.given("--at");
    reader.RefuseTogether("--at", "--delay");
    reader.RequireFor("--round-up", is_delayed || flags->lines, "--delay or --at");
    if (is_delayed) reader.RefuseBeside("--expiration", "a delay", "which it would end early");
    for (const char* flag : {"--delay", "--at"}) {
      reader.RefuseTogether(flag, "--lines", "whose lines contain it");
    }
  });
  AddDelayQueueFlags(parser, &flags->options.client);
}

void ReadHeaders(const SendFlags& flags, FlagReader& reader, amqp::Table* table) {
  for (const std::string& text : flags.headers) {
    if (auto header = reader.SplitPair("--header", text)) table->Set(header->first, header->second);
  }
  for (const std::string& text : flags.typed_headers) {
    const auto header = reader.SplitPair("--header-json", text, "NAME=JSON");
    if (!header) continue;
    const nlohmann::json json = ParseJson(header->second);
    absl::StatusOr<amqp::Value> value =
        json.is_discarded() ? absl::InvalidArgumentError(
                                  "the value is not JSON; write a text as \"text\", or use "
                                  "--header")
                            : TypedValue(json);
    if (value.ok()) {
      table->Set(header->first, *std::move(value));
    } else {
      reader.Refuse("--header-json", text, std::string(value.status().message()));
    }
  }
}

void AddMessageFlags(FlagParser& parser, SendFlags* flags) {
  OutgoingMessage* const message = &flags->options.message;
  parser.Group("Message");
  parser.Add("--header", "NAME=VALUE", &flags->headers, "Add a header with a text. Repeatable");
  parser.Add("--header-json", "NAME=JSON", &flags->typed_headers,
             "Add a header with the type of a JSON value: 7, 1.5, true, null, \"7\", [1,2], "
             "{\"a\":1}. Repeatable");
  for (const TextFlag& each : kTextFlags) {
    parser.AddName(each.flag, each.value, &(message->*each.text), each.help);
  }
  parser.AddNumber("--priority", 0, UINT8_MAX, &message->priority,
                   "Set the priority, for queues with priorities. Range: 0 to 255");
  parser.Add(
      "--timestamp", "TIME",
      [message](const std::string& text) {
        message->timestamp = text == "now" ? absl::Now() : ParseTimestamp(text);
        return message->timestamp
                   ? ""
                   : "write now, a time such as 2027-01-31T08:00:00Z, or seconds since 1970";
      },
      "Set when the message was created: now, RFC 3339 or seconds since 1970");
  parser.Add(
      "--expiration", "DURATION",
      [message](const std::string& text) {
        message->expiration = ParseExpiration(text);
        return message->expiration ? "" : "write a duration such as 30s";
      },
      "Let the broker drop the message after this time in its queue. Cannot be combined with a "
      "delay");
  parser.Add("--transient", &message->transient,
             "Do not persist the message: a classic queue loses it when the broker restarts");
  parser.Check([flags, message](FlagReader& reader) {
    ReadHeaders(*flags, reader, &message->headers);
    for (const auto& [name, value] : message->headers.fields()) {
      if (name.size() > kMaxNameSize) reader.Refuse("--header", name, "is longer than 255 bytes");
    }
  });
}

void AddLinesFlags(FlagParser& parser, SendFlags* flags) {
  parser.Group("Lines");
  parser.Add("--lines", &flags->lines,
             "Publish a message for each line of stdin, a JSON object, and write a result for "
             "each");
  parser.AddNumber("--in-flight", 1, kMostInFlight, &flags->in_flight,
                   "With --lines: limit the messages that have no result yet. Default: 2000. "
                   "Range: 1 to 100000");
  parser.Check([flags](FlagReader& reader) {
    SendOptions& options = flags->options;
    reader.RequireFor("--in-flight", flags->lines, "--lines");
    if (flags->lines) {
      options.lines = flags->in_flight;
      if (flags->body) {
        reader.Complain("BODY cannot be combined with --lines, whose lines contain it");
      }
      return;
    }
    options.body_from_stdin = !flags->body || *flags->body == "-";
    if (!options.body_from_stdin) options.message.body = *flags->body;
    if (!flags->body && ::isatty(STDIN_FILENO) != 0) {
      reader.Complain("BODY is required as the last argument; - reads it from the terminal");
    }
  });
}

// Remembers the delay queue of the message.
struct RouteWatch : BrokerWatch {
  using BrokerWatch::BrokerWatch;

  void OnEvent(const Event& event) override {
    BrokerWatch::OnEvent(event);
    if (event.kind != EventKind::kPublished) return;
    delay_queue = event.delay_queue;
    delay = event.delay.value_or(absl::ZeroDuration());
  }

  std::string delay_queue;
  absl::Duration delay;
};

std::string Target(const OutgoingMessage& message) {
  if (message.exchange.empty()) return "queue " + message.routing_key;
  return "exchange " + message.exchange + " with routing key " + message.routing_key;
}

std::string DescribeRoute(const SendOptions& options, const std::string& target,
                          const RouteWatch& route) {
  const std::string way = "waits in " + route.delay_queue + " and arrives in " + target;
  if (options.publish.at) {
    if (route.delay_queue.empty()) return "";
    return absl::StrCat(way, " at ", IsoSeconds(*options.publish.at));
  }
  const absl::Duration asked = options.publish.delay;
  if (asked <= absl::ZeroDuration()) return "";
  const std::string kept = " after " + DurationText(route.delay);
  const std::optional<DelayQueueName> queue =
      ParseDelayQueueName(route.delay_queue, options.client.delay_queues.prefix);
  const bool arrives_early = !queue || queue->ttl != route.delay;
  if (arrives_early && !options.publish.round_up) return way + ", where retryq handles it" + kept;
  return way + kept +
         (route.delay != asked ? ", as " + DurationText(asked) + " is rounded up" : "");
}

// Returns kNotFound if no queue is bound to the exchange of a delayed message. Otherwise returns
// what the user should know about its bindings.
absl::StatusOr<std::string> CheckDelayedTarget(const SendOptions& options) {
  const absl::Status bound =
      BindingCheck(ConnectionOf(options.client)).Check(options.message, options.publish);
  if (absl::IsNotFound(bound)) return WithSendRemedy(bound, /*to_queue=*/false);
  if (bound.ok()) return "";
  return absl::StrCat("; if no queue is bound when it is due, the broker drops it (",
                      std::string(bound.message()), ")");
}

// Moves the message into the publish, and waits for the confirm.
absl::Status PublishOne(SendOptions& options, BrokerWatch& watch, EventLoop& loop) {
  const bool to_queue = options.message.exchange.empty();
  options.client.observer = &watch;
  options.publish.deadline = kLongestOperation;
  absl::Status published;
  Client client(loop, options.client);
  const auto publish = [&] {
    client.Publish(std::move(options.message), options.publish, [&](absl::Status status) {
      published = WithSendRemedy(status, to_queue);
      loop.Stop();
    });
  };
  watch.WhenConnected([&] {
    if (!options.declare) return publish();
    client.Declare(*options.declare, {.only_if_missing = true, .deadline = kLongestOperation},
                   [&](absl::Status status) {
                     if (status.ok()) return publish();
                     published = std::move(status);
                     loop.Stop();
                   });
  });
  return watch.Run(published);
}

constexpr absl::Duration kTrusted = absl::Seconds(5);
constexpr std::size_t kMostKnown = 1000;
constexpr std::size_t kMostPassed = 100;

}  // namespace

Parsed<SendOptions> ParseSend(const Arguments& arguments) {
  SendFlags flags;
  FlagParser parser(kSendHelp);
  parser.AddPositional("BODY", &flags.body,
                       "Set the body. Read from stdin if BODY is \"-\", or if BODY is omitted and "
                       "stdin is not a terminal");
  AddTargetFlags(parser, &flags);
  AddTimeFlags(parser, &flags);
  AddMessageFlags(parser, &flags);
  AddLinesFlags(parser, &flags);
  parser.Group("Output");
  AddOtlpFlag(parser,
              "Send a span of each message to the OpenTelemetry collector at this URL, such as "
              "http://localhost:4318. Default: no spans",
              &flags.options.otlp);
  return parser.ParseInto(arguments, flags.options);
}

absl::StatusOr<std::string> Send(SendOptions options) {
  if (options.body_from_stdin) {
    absl::StatusOr<std::string> body = ReadAll(STDIN_FILENO);
    if (!body.ok()) return body.status();
    options.message.body = *std::move(body);
  }
  const absl::StatusOr<std::string> doubt = CheckDelayedTarget(options);
  if (!doubt.ok()) return doubt.status();
  const std::string target = Target(options.message);
  EventLoop loop;
  RouteWatch route(loop, options.client, options.wait,
                   "the broker has not confirmed the message yet");
  const SpanExport spans(loop, options.otlp, SayOfSpans);
  if (!spans.status().ok()) return spans.status();
  options.client.tracer = spans.tracer();
  if (absl::Status sent = PublishOne(options, route, loop); !sent.ok()) return sent;
  const std::string described = DescribeRoute(options, target, route);
  return described.empty() ? described : described + *doubt;
}

void SayOfSpans(const std::string& why) { WriteErrors(absl::StrCat("retryq send: ", why, "\n")); }

absl::Status WithSendRemedy(const absl::Status& status, bool to_queue) {
  if (absl::IsNotFound(status) && !absl::StartsWith(status.message(), "no vhost '")) {
    return WithRemedy(
        status, to_queue
                    ? "declare the queue (retryq declare --queue, or --declare), or correct its "
                      "name"
                    : "bind a queue (retryq declare --queue QUEUE --exchange EXCHANGE "
                      "--routing-key KEY), or correct the names");
  }
  if (absl::IsPermissionDenied(status) && !absl::StrContains(status.message(), "grant ")) {
    // From 4.3 on, a passive declare needs a permission, too (F48 in doc/rabbitmq_facts.md).
    const bool is_look = absl::StrContains(status.message(), "looking for queue");
    return WithRemedy(status, GrantRemedy(is_look    ? "'read' on the queue"
                                          : to_queue ? "'write' on 'amq.default'"
                                                     : "'write' on the exchange"));
  }
  return status;
}

BindingCheck::Known BindingCheck::LookUp(const std::string& exchange) const {
  Known known{.until = absl::Now() + kTrusted};
  EventLoop loop;
  ManagementApi api(loop, **management_);
  const std::string path = UrlPath({"exchanges", broker_.vhost, exchange});
  const auto found = api.Get(path);
  const auto bindings = found.ok() ? api.Get(path + "/bindings/source") : found;
  known.looked_up = bindings.status();
  if (!bindings.ok()) return known;
  known.exchange = found->json;
  known.bindings = bindings->json;
  const std::string of_policy = PathOfPolicy(found->json);
  const auto policy = of_policy.empty() ? absl::NotFoundError("no policy") : api.Get(of_policy);
  if (policy.ok()) known.policy = policy->json;
  return known;
}

absl::Status BindingCheck::Check(const OutgoingMessage& message, const PublishOptions& publish) {
  const bool is_delayed = publish.at || publish.delay > absl::ZeroDuration();
  if (!is_delayed || message.exchange.empty()) return absl::OkStatus();
  if (!management_) management_ = ManagementByEnvironment(broker_);
  if (!*management_) {
    return absl::UnavailableError(
        "the bindings of the exchange were not checked; remedy: set RETRYQ_MANAGEMENT_URL to the "
        "URL of the management API");
  }
  // The message may have several routing keys (CC, BCC).
  const auto& headers = message.headers.fields();
  if (std::any_of(headers.begin(), headers.end(),
                  [](const auto& field) { return IsRoutingHeader(field.first); })) {
    return absl::OkStatus();
  }
  std::set<std::string> passed;
  const absl::StatusOr<bool> reaches = ReachesAQueue(message.exchange, message, &passed);
  if (!reaches.ok()) {
    return absl::UnavailableError(absl::StrCat("the bindings of the exchange cannot be read: ",
                                               std::string(reaches.status().message())));
  }
  if (*reaches) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(passed.size() == 1 ? "no queue is bound to exchange "
                                      : "no queue is bound to the exchanges behind exchange ",
                   InQuotes(message.exchange), " for routing key ", InQuotes(message.routing_key),
                   message.headers.empty() ? "" : " and these headers",
                   ", so the broker would drop the message when it is due"));
}

absl::StatusOr<bool> BindingCheck::ReachesAQueue(const std::string& exchange,
                                                 const OutgoingMessage& message,
                                                 std::set<std::string>* passed) {
  if (!passed->insert(exchange).second) return false;
  if (passed->size() > kMostPassed) return true;
  if (known_.size() > kMostKnown) known_.clear();
  Known& known = known_[exchange];
  if (absl::Now() >= known.until) known = LookUp(exchange);
  // The broker drops messages for an alternate exchange that does not exist.
  if (absl::IsNotFound(known.looked_up) && exchange != message.exchange) return false;
  if (!known.looked_up.ok()) return known.looked_up;
  const Route route = RouteOf(known.exchange, known.bindings, known.policy,
                              {.routing_key = message.routing_key, .headers = &message.headers});
  if (route.may_lead_on || !route.queues.empty()) return true;
  for (const std::string& next : route.exchanges) {
    absl::StatusOr<bool> reaches = ReachesAQueue(next, message, passed);
    if (!reaches.ok() || *reaches) return reaches;
  }
  return false;
}

}  // namespace retryq::cli
