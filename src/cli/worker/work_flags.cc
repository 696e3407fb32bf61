#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "base/name_size.h"
#include "cli/process/subprocess.h"
#include "cli/text/duration.h"
#include "cli/tracing/span_export.h"
#include "cli/worker/work_command.h"

namespace retryq::cli {
namespace {

constexpr std::uint64_t kMostJobs = 1024;
constexpr std::uint64_t kMostLinesInFlight = 4096;
constexpr std::uint64_t kMostPrefetch = 65535;
constexpr std::uint64_t kMostBody = std::uint64_t{512} << 20;

constexpr HelpText kWorkHelp = {
    .description =
        "Runs COMMAND once for each message of a queue. If COMMAND fails, the message is retried "
        "after a\n"
        "delay: it waits in a queue that is named after the delay, such as retry.4000. RabbitMQ "
        "deletes\n"
        "this queue when it is no longer used.",
    .usage = "retryq work --queue QUEUE [OPTIONS] -- COMMAND [ARGUMENT...]",
    .footer =
        R"(COMMAND reads the body of the message from stdin. These variables describe the message:
  RETRYQ_ATTEMPT        number of failures so far; 0 at first
  RETRYQ_MAX_ATTEMPTS   value of --max-attempts; 0 means unlimited
  RETRYQ_LAST_ERROR     error of the last failure
  RETRYQ_ID             identical for all copies of a message; may be empty until it has failed
  RETRYQ_QUEUE          the work queue
  RETRYQ_EXCHANGE, RETRYQ_ROUTING_KEY
                        exchange and routing key of the original publication
  RETRYQ_MESSAGE_ID, RETRYQ_CORRELATION_ID, RETRYQ_CONTENT_TYPE, RETRYQ_CONTENT_ENCODING,
  RETRYQ_REPLY_TO, RETRYQ_TYPE, RETRYQ_APP_ID, RETRYQ_PRIORITY
                        properties of the message
  RETRYQ_TIMESTAMP, RETRYQ_EXPIRATION
                        in seconds since 1970; in milliseconds
  RETRYQ_REDELIVERED    true if the broker has delivered the message before, otherwise false
  TRACEPARENT, TRACESTATE
                        headers of these names; empty if the message does not have them. With
                        --otlp the context of the span of this attempt
  RETRYQ_HEADERS        all headers as one line of JSON: byte arrays as base64, decimals as
                        strings, timestamps as seconds since 1970. A value that is longer than
                        64 KiB or nested too deeply is replaced by {"retryq-omitted": "why"}
RETRYQ_URL and RETRYQ_MANAGEMENT_URL are removed from the environment unless --pass-url is set.

The exit status of COMMAND decides about the message:
  0        success: acked
  65       a retry cannot help: parked
  126, 127, or COMMAND cannot be started: failed and retried, if COMMAND has handled another
           message since the last such exit. Otherwise consuming pauses until COMMAND can be run;
           the message keeps its attempts
  any other status, a signal, or --timeout: failed and retried. The error is the last line on
           stderr. If this line is "retry-after: 30s", it sets the delay, and the line before it is
           the error. If it is "snooze: 30s", the message returns after this delay and has not
           failed
COMMAND shares stdout and stderr with retryq. With --json, its stdout is redirected to stderr.

With --lines, COMMAND is started --jobs times and keeps running. It reads messages from stdin, one
line of JSON each, and answers each with a line on stdout, in any order. It must flush each line:
  {"id":7,"attempt":0,"max_attempts":25,"last_error":"","retry_id":"…","queue":"orders",
   "exchange":"","routing_key":"orders","message_id":"…","correlation_id":"…","content_type":"…",
   "content_encoding":"","reply_to":"","type":"","app_id":"","expiration":"","priority":null,
   "timestamp":null,"redelivered":false,"traceparent":"","tracestate":"","headers":{…},"body":"…"}
     ("body_base64" instead of "body" if the body is not UTF-8)
  {"id":7,"ok":true}                            success: acked
  {"id":7,"error":"busy"}                       failed: retried
  {"id":7,"error":"busy","retry_after":"30s"}   retried after this delay; a number is seconds
  {"id":7,"park":"no such customer"}            a retry cannot help: parked
  {"id":7,"discard":"too late"}                 acked and deleted
  {"id":7,"snooze":"30s","reason":"closed"}     returns after this delay and has not failed; "reason"
                                                is optional
COMMAND is started again if it exits, writes an invalid line or exceeds --timeout. The first message
that it had not answered has failed; the others are given to the next process. If COMMAND exits
before it has read anything, or has never answered any message, no message has failed, and consuming
pauses until COMMAND works. When retryq stops, it closes the stdin of COMMAND.

On SIGINT, SIGTERM or SIGHUP, retryq takes no more messages, waits for running commands and exits
with 0. After a second signal, or after --grace, it stops the commands and requeues their messages.
Exit statuses: 64 invalid options; 69 the queue, vhost or exchange does not exist; 71 the limit of
open files is too low; 77 the broker refuses the user.

Examples:
Retry failed messages after 1s and 2s, then park them in orders.parked:
  retryq work --queue orders --base 1s --max-attempts 3 -- sh -c 'grep -q paid'
Retry after 1s, 10s, 100s, and then every 500s, with a quarter of each delay random:
  retryq work --queue orders --delays 1s,10s,100s,500s --jitter 0.25 -- ./charge
Keep four processes running, with up to 16 messages each:
  retryq work --queue orders --lines --jobs 4 --in-flight 16 -- ./charge.py
)",
};

void CheckParkedName(const ConsumerOptions& consumer, FlagReader& reader) {
  if (!reader.given("--parked") &&
      consumer.queue.size() + std::string_view(".parked").size() > kMaxNameSize) {
    reader.Complain(absl::StrCat("--queue: with the suffix \".parked\" the name is longer than ",
                                 kMaxNameSize, " bytes; name the parked queue with --parked"));
  }
}

void AddQueueFlags(FlagParser& parser, ConsumerOptions* consumer) {
  parser.AddName("--queue", "QUEUE", &consumer->queue,
                 "Consume from this queue. It must exist, unless --declare is set. A worker "
                 "requires it");
  const auto declare = std::make_shared<std::optional<QueueType>>();
  AddDeclareFlags(parser, declare.get());
  parser.AddName("--work-exchange", "EXCHANGE", &consumer->work_exchange,
                 "Return retries through this exchange. Workers of other queues that are bound to "
                 "it ack and ignore them. Default: directly to QUEUE");
  parser.Add("--share-retries", &consumer->share_retries,
             "Handle retries of other queues, which a work exchange routes here, too. The attempts "
             "of all queues count together");
  parser.Add("--former-queue", "QUEUE", &consumer->former_queues,
             "Previous name of QUEUE; its attempt counts are kept. Repeatable");
  parser.Check([consumer, declare](FlagReader& reader) {
    CheckParkedName(*consumer, reader);
    if (consumer->parked_queue.empty() && !consumer->queue.empty()) {
      consumer->parked_queue = consumer->queue + ".parked";
    }
    if (!*declare) return;
    consumer->declare.emplace();
    consumer->declare->type = **declare;
    reader.RefuseTogether("--declare", "--no-declare");
  });
}

// These flags belong to the group of AddRetryFlags in the help.
void AddLimitFlags(FlagParser& parser, WorkOptions* options) {
  ConsumerOptions& consumer = options->consumer;
  parser.AddWord(
      "--on-limit",
      {{"park", OnLimit::kPark}, {"reject", OnLimit::kReject}, {"discard", OnLimit::kDiscard}},
      &consumer.retry.on_limit,
      "Set what happens to a message after its last attempt: park, reject (to the dead-letter "
      "exchange of QUEUE, if it has one) or discard. Default: park");
  parser.AddName("--parked", "QUEUE", &consumer.parked_queue,
                 "Park messages in this queue; declared if missing. Default: QUEUE.parked");
  parser.Add("--on-parked", "COMMAND", &options->on_parked,
             "Run this command line of /bin/sh for each parked message, with the same stdin, "
             "environment and --timeout, one at a time. Its exit status has no effect");
  parser.AddWord("--count-redeliveries",
                 {{"counted", CountRedeliveries::kWhereCounted},
                  {"always", CountRedeliveries::kAlways},
                  {"never", CountRedeliveries::kNever}},
                 &consumer.retry.count_redeliveries,
                 "Count redeliveries after a worker has died as failures: counted (if the queue is "
                 "a quorum queue, which counts them), always (classic queues, too) or never. "
                 "Default: counted");
  parser.Add("--earlier-count", "HEADER", &consumer.retry.earlier_counts,
             "Start with the number of failures in this header, which another retry system has "
             "set: x-retry-count, x-death, x-delivery-count or any other. A path selects a field "
             "of a table: rascal.recovery.QUEUE.republished. Repeatable");
}

void CheckPrefetch(const WorkOptions& options, int in_flight, FlagReader& reader,
                   std::uint16_t* prefetch) {
  const int at_once = options.jobs * in_flight;
  if (*prefetch < at_once && reader.given("--prefetch")) {
    reader.Complain(absl::StrCat(
        "--prefetch ", *prefetch, " must be at least ", at_once,
        reader.given("--in-flight") ? ", which is --jobs times --in-flight" : ", which is --jobs"));
  }
  *prefetch = static_cast<std::uint16_t>(
      std::clamp<int>(at_once, *prefetch, static_cast<int>(kMostPrefetch)));
}

void CheckTimeouts(const WorkOptions& options, FlagReader& reader) {
  const absl::Duration consumer_timeout = options.consumer.consumer_timeout;
  if (options.timeout == absl::ZeroDuration()) {
    reader.Complain("--timeout 0: must be above 0; leave it out for an unlimited time");
  }
  if (!reader.given("--consumer-timeout")) return;
  if (consumer_timeout == absl::ZeroDuration()) {
    reader.Complain(
        "--consumer-timeout 0: must be above 0; leave it out for the timeout of the broker");
  } else if (reader.given("--timeout") && options.timeout >= consumer_timeout) {
    reader.Complain(
        absl::StrCat("--timeout ", DurationText(options.timeout),
                     " must be less than --consumer-timeout ", DurationText(consumer_timeout),
                     ", after which RabbitMQ requeues the message while COMMAND still runs"));
  }
}

void AddRunningFlags(FlagParser& parser, WorkOptions* options) {
  ConsumerOptions& consumer = options->consumer;
  const auto lines = std::make_shared<bool>(false);
  const auto in_flight = std::make_shared<int>(1);
  parser.Group("Running");
  parser.AddNumber("--jobs", 1, kMostJobs, &options->jobs,
                   "Run this number of commands at the same time. Default: 1. Range: 1 to 1024");
  parser.Add("--lines", lines.get(),
             "Keep COMMAND running and give it one message after the other, each as a line of "
             "JSON; see below. Much faster than one COMMAND per message");
  parser.AddNumber("--in-flight", 1, kMostLinesInFlight, in_flight.get(),
                   "With --lines: give each COMMAND up to this number of messages before it "
                   "answers. Default: 1. Range: 1 to 4096");
  parser.AddNumber("--prefetch", 1, kMostPrefetch, &consumer.prefetch,
                   "Limit the unacked messages. Default: 64, or --jobs times --in-flight if that "
                   "is more. Range: from --jobs times --in-flight to 65535");
  parser.AddSize("--max-body", kMostBody, &consumer.max_body,
                 "Limit the size of bodies in memory, in bytes, KiB or MiB. A message with a "
                 "larger body is not handled, but parked, or treated as --on-limit says. All "
                 "bodies together take at most twice this size. Default: 128MiB");
  parser.Add("--timeout", "DURATION", &options->timeout,
             "Stop a command that takes longer than this for a message: SIGTERM, then SIGKILL, to "
             "its process group. The message has failed. Default: unlimited");
  parser.Add("--consumer-timeout", "DURATION", &consumer.consumer_timeout,
             "Set the time after which RabbitMQ requeues an unsettled message, which counts as a "
             "failure. Quorum queues of RabbitMQ 4.3 and later use it; other queues use the "
             "broker's configuration. Default: the broker's configuration, usually 30m");
  parser.Add("--grace", "DURATION", &options->grace,
             "Stop the running commands this long after the first signal. Default: 25s");
  parser.Add("--pass-url", &options->pass_url,
             "Keep RETRYQ_URL and RETRYQ_MANAGEMENT_URL, which contain passwords, in the "
             "environment of COMMAND");
  parser.Check([options, lines, in_flight](FlagReader& reader) {
    reader.RequireFor("--in-flight", *lines, "--lines");
    if (*lines) options->lines = *in_flight;
    CheckPrefetch(*options, *in_flight, reader, &options->consumer.prefetch);
    CheckTimeouts(*options, reader);
    if (options->command.empty()) return;
    if (const absl::Status status = CheckExecutable(options->command.front()); !status.ok()) {
      reader.Complain("COMMAND: " + std::string(status.message()));
    }
  });
}

void AddOutputFlags(FlagParser& parser, const std::string& json, WorkOptions* options) {
  parser.Group("Output");
  parser.Add("--json", &options->json, json);
  parser.AddWord("--log-level",
                 {{"debug", Severity::kDebug},
                  {"info", Severity::kInfo},
                  {"warning", Severity::kWarning},
                  {"error", Severity::kError}},
                 &options->log_from,
                 "Log events from this level on: debug, info, warning or error. Default: info; "
                 "with --json debug, which is every event",
                 "LEVEL");
  parser.Add(
      "--metrics", "PORT",
      [options](const std::string& text) {
        absl::StatusOr<MetricsAddress> address = ParseMetricsAddress(text);
        if (address.ok()) options->metrics = *address;
        return std::string(address.status().message());
      },
      "Serve Prometheus metrics at http://…:PORT/metrics. /healthz returns 200 while messages are "
      "consumed, otherwise 503 and the reason. ADDRESS:PORT listens on one address only; 0 selects "
      "a free port");
  AddOtlpFlag(parser,
              "Send a span of each attempt to the OpenTelemetry collector at this URL, such as "
              "http://localhost:4318, and give COMMAND the context of the span. Default: no spans",
              &options->otlp);
  parser.Check([options](FlagReader& reader) {
    if (options->json && !reader.given("--log-level")) options->log_from = Severity::kDebug;
  });
}

}  // namespace

Arguments TakeCommand(const Arguments& arguments, Arguments* command) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  command->assign(dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
  return {arguments.begin(), dashes};
}

void AddWorkFlags(FlagParser& parser, const std::string& json, WorkOptions* options) {
  AddPlaceFlags(parser, /*waits=*/true, &options->place);
  AddQueueFlags(parser, &options->consumer);
  AddRetryFlags(parser, &options->consumer.retry);
  AddLimitFlags(parser, options);
  AddDelayQueueFlags(parser, &options->place.client);
  parser.Group("Circuit breaker");
  AddBreakerFlags(parser,
                  "Pause consuming while most runs fail and would be retried, and requeue waiting "
                  "messages. Then try one message at a time until enough of them succeed",
                  &options->consumer.breaker);
  AddRunningFlags(parser, options);
  AddOutputFlags(parser, json, options);
}

Parsed<WorkOptions> ParseWork(const Arguments& arguments) {
  WorkOptions options;
  FlagParser parser(kWorkHelp);
  AddWorkFlags(parser, "Print each event as a line of JSON on stdout, not as text on stderr",
               &options);
  const Arguments flags = TakeCommand(arguments, &options.command);
  parser.Check([&options](FlagReader& reader) {
    reader.Require("--queue", "name the queue to consume from");
    if (options.command.empty()) {
      reader.Complain("COMMAND is required: write it last, after --, such as: -- ./handle-order");
    }
  });
  return parser.ParseInto(flags, options);
}

}  // namespace retryq::cli
