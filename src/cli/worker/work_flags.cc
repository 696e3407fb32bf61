#include "cli/worker/work_flags.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/worker/executable.h"

namespace retryq::cli {
namespace {

constexpr std::uint64_t kMostJobs = 1024;
constexpr std::uint64_t kMostLinesInFlight = 4096;
constexpr std::uint64_t kMostPrefetch = 65535;

constexpr HelpText kWorkHelp = {
    .description =
        "Runs COMMAND once for each message of a queue. A message whose COMMAND fails comes back "
        "later:\n"
        "it waits in a queue named after its delay, such as retry.4000, which the broker drops "
        "when "
        "unused.",
    .usage = "retryq work --queue QUEUE [OPTIONS] -- COMMAND [ARGUMENT...]",
    .footer =
        R"(COMMAND reads the body from its stdin, and the rest from its environment:
  RETRYQ_ATTEMPT        failures so far, 0 at first
  RETRYQ_MAX_ATTEMPTS   as the flag says, 0 if there is no limit
  RETRYQ_LAST_ERROR     why it failed last
  RETRYQ_ID             the same for all copies of a message; may be empty before it first fails
  RETRYQ_QUEUE          the work queue
  RETRYQ_EXCHANGE, RETRYQ_ROUTING_KEY
                        where it was first published
  RETRYQ_MESSAGE_ID, RETRYQ_CORRELATION_ID, RETRYQ_CONTENT_TYPE, RETRYQ_CONTENT_ENCODING,
  RETRYQ_REPLY_TO, RETRYQ_TYPE, RETRYQ_APP_ID, RETRYQ_PRIORITY
                        its properties
  RETRYQ_TIMESTAMP, RETRYQ_EXPIRATION
                        seconds since 1970; milliseconds
  RETRYQ_REDELIVERED    true where the broker has delivered it before, else false
  TRACEPARENT, TRACESTATE
                        its headers of that name, empty if it has none
  RETRYQ_HEADERS        its headers as one line of JSON: byte arrays as base64, decimals as
                        strings, timestamps as seconds since 1970, and in place of what is
                        longer than 64 KiB or nests too deep {"retryq-omitted": "why"}
RETRYQ_URL and RETRYQ_MANAGEMENT_URL are taken out of it unless --pass-url is given.

Its exit code says what becomes of the message:
  0        done, acked
  65       retrying cannot fix it: parked
  126, 127 or not to be started at all: where COMMAND has worked for another message since it last
           ended so, failed, retried. Else consuming pauses until COMMAND can be run, and the
           message waits and loses no attempt
  other, a signal or --timeout: failed, retried. The error is the last line on stderr. If that
           says "retry-after: 30s" it sets the delay, and the line before it is the error. If it
           says "snooze: 30s" the message comes back after that delay, and has not failed.
COMMAND's stdout and stderr are retryq's; with --json its stdout goes to stderr as well.

With --lines COMMAND is started --jobs times and stays. It reads messages from its stdin, a line of
JSON each, and answers each with a line on its stdout, at once (flush it) and in any order:
  {"id":7,"attempt":0,"max_attempts":25,"last_error":"","retry_id":"…","queue":"orders",
   "exchange":"","routing_key":"orders","message_id":"…","correlation_id":"…","content_type":"…",
   "content_encoding":"","reply_to":"","type":"","app_id":"","expiration":"","priority":null,
   "timestamp":null,"redelivered":false,"traceparent":"","tracestate":"","headers":{…},"body":"…"}
     (or "body_base64", where the body is not UTF-8)
  {"id":7,"ok":true}                            done, acked
  {"id":7,"error":"busy"}                       failed, retried
  {"id":7,"error":"busy","retry_after":"30s"}   the same, after that; a number is seconds
  {"id":7,"park":"no such customer"}            retrying cannot fix it: parked
  {"id":7,"discard":"too late"}                 acked and gone
  {"id":7,"snooze":"30s","reason":"closed"}     comes back after that, and has not failed; "reason"
                                                may be left out
If it ends, writes anything else or takes longer than --timeout it is started again; of the messages
that it had the first has failed, the others go to the next. Where it ends before it has read
anything, or has never answered any message, none has failed, and consuming pauses until it works.
At the end its stdin is closed.

SIGINT, SIGTERM or SIGHUP: takes no more messages, lets running commands finish, exits with 0. At a
second one, or after --grace, commands are ended and their messages go back to the queue.
Exit codes: 64 wrong options; 69 no such queue, vhost or exchange; 71 no thread can be created; 77
refused by the broker.

Examples: what fails is tried again after 1s and 2s, then waits in orders.parked
  retryq work --queue orders --base 1s --max-attempts 3 -- sh -c 'grep -q paid'
after 1s, 10s, 100s, and then every 500s, a quarter of each left to chance
  retryq work --queue orders --delays 1s,10s,100s,500s --jitter 0.25 -- ./charge
four programs that stay, with up to 16 messages each
  retryq work --queue orders --lines --jobs 4 --in-flight 16 -- ./charge.py
)",
};

void ReadRunning(const WorkFlags& flags, FlagReader& reader, WorkOptions* options) {
  std::uint16_t& prefetch = options->consumer.prefetch;
  int& jobs = options->jobs;
  reader.Read("--jobs", flags.jobs, 1, kMostJobs, &jobs);
  reader.Read("--prefetch", flags.prefetch, 1, kMostPrefetch, &prefetch);
  reader.ReadSize("--max-body", flags.max_body, std::uint64_t{512} << 20,
                  &options->consumer.max_body);
  int in_flight = 1;
  reader.Read("--in-flight", flags.in_flight, 1, kMostLinesInFlight, &in_flight);
  if (flags.in_flight && !flags.lines) {
    reader.Complain("--in-flight: is for --lines; add that, or leave this out");
  }
  const int at_once = jobs * in_flight;
  if (prefetch < at_once && flags.prefetch) {
    reader.Complain("--prefetch " + std::to_string(prefetch) + ": keeps " +
                    std::to_string(at_once) +
                    (flags.in_flight ? " messages (--jobs times --in-flight)" : " --jobs") +
                    " from running at once; make it at least as many, or leave it out");
  }
  prefetch = static_cast<std::uint16_t>(
      std::clamp<int>(at_once, prefetch, static_cast<int>(kMostPrefetch)));
  if (flags.lines) options->lines = LinesOptions{.in_flight = in_flight};
  reader.Read("--timeout", flags.timeout, &options->timeout);
  if (options->timeout == absl::ZeroDuration()) {
    reader.Complain("--timeout 0: must be above zero; leave it out for no limit");
  }
  absl::Duration& consumer_timeout = options->consumer.consumer_timeout;
  reader.Read("--consumer-timeout", flags.consumer_timeout, &consumer_timeout);
  if (flags.consumer_timeout && consumer_timeout == absl::ZeroDuration()) {
    reader.Complain("--consumer-timeout 0: must be above zero; leave it out for the broker's own");
  } else if (flags.consumer_timeout && flags.timeout && options->timeout >= consumer_timeout) {
    reader.Complain("--timeout " + *flags.timeout + ": must be less than --consumer-timeout " +
                    *flags.consumer_timeout +
                    ", after which RabbitMQ takes the message back while COMMAND still runs");
  }
  reader.Read("--grace", flags.grace, &options->grace);
  options->pass_url = flags.pass_url;
}

void ReadDeclare(const WorkFlags& flags, FlagReader& reader, ConsumerOptions* options) {
  if (flags.declare_type && !flags.declare) {
    reader.Complain("--declare-type: is for --declare; add that, or leave this out");
  }
  if (!flags.declare) return;
  options->declare.emplace();
  reader.Read("--declare-type", flags.declare_type, &options->declare->type);
  if (flags.delay_queues.no_declare) {
    reader.Complain("--declare and --no-declare: exclude each other; leave one of them out");
  }
}

void ReadMetrics(const FlagText& text, FlagReader& reader, WorkOptions* options) {
  if (!text) return;
  absl::StatusOr<MetricsAddress> address = ParseMetricsAddress(*text);
  if (address.ok()) {
    options->metrics = *std::move(address);
  } else {
    reader.Complain("--metrics '" + *text + "': " + std::string(address.status().message()));
  }
}

void ReadCommand(const Arguments& command, FlagReader& reader, WorkOptions* options) {
  if (command.empty()) return;
  options->command = command;
  if (const absl::Status status = CheckExecutable(command.front()); !status.ok()) {
    reader.Complain("COMMAND: " + std::string(status.message()));
  }
}

// A worker needs --queue and COMMAND, doctor does not.
WorkOptions ReadWorkerFlags(const WorkFlags& flags, FlagReader& reader) {
  if (!flags.queue) reader.Complain("--queue is missing: name the queue to work on");
  if (flags.command.empty()) {
    reader.Complain("COMMAND is missing: write it last, behind --, as in: -- ./handle-order");
  }
  return ReadFlags(flags, reader);
}

void AddWorkerFlags(FlagParser& parser, WorkFlags& flags) {
  AddFlags(parser, flags,
           "One JSON object a line on stdout for each event, in place of text on stderr");
}

}  // namespace

void AddFlags(FlagParser& parser, WorkFlags& flags, const std::string& json) {
  AddFlags(parser, flags.place);
  parser.Add("--queue", "QUEUE", &flags.queue,
             "The queue to work on; it must exist, see --declare. Required by a worker");
  parser.Add("--declare", &flags.declare,
             "Declare QUEUE, durable, where it is missing; see also retryq declare");
  parser.Add("--declare-type", "classic|quorum", &flags.declare_type,
             "With --declare: what it becomes (default: classic)");
  parser.Add("--work-exchange", "EXCHANGE", &flags.work_exchange,
             "Retries return through this exchange. Workers of other queues that it leads to\n"
             "ack them unseen (default: straight to QUEUE)");
  parser.Add("--share-retries", &flags.share_retries,
             "Handle retries of other queues that a work exchange leads here, too. The attempts\n"
             "of all queues count together");
  parser.Add("--former-queue", "QUEUE", &flags.former_queues,
             "A name that QUEUE had before: attempts of its messages go on; again for more");
  AddFlags(parser, flags.retrying);
  parser.Group("How often");
  parser.Add("--on-limit", "park|reject|discard", &flags.on_limit,
             "What then becomes of it: park, reject (to QUEUE's own dead-letter\n"
             "exchange, if it has one) or discard (default: park)");
  parser.Add("--parked", "QUEUE", &flags.parked,
             "Where parked messages wait; declared if missing (default: QUEUE.parked)");
  parser.Add("--on-parked", "COMMAND", &flags.on_parked,
             "A line for /bin/sh, run for each parked message with the same stdin,\n"
             "environment and --timeout, one at a time; its failure changes nothing");
  parser.Add("--count-redeliveries", "counted|always|never", &flags.count_redeliveries,
             "Redeliveries of what a worker that died had in hand are failures: counted\n"
             "(of quorum queues, which count them), always (classic ones, too) or never\n"
             "(default: counted)");
  parser.Add("--earlier-count", "HEADER", &flags.earlier_counts,
             "Messages of another retry system bring their count of failures in this\n"
             "header: x-retry-count, x-death, x-delivery-count or any other, or in a table\n"
             "inside of it, by its path: rascal.recovery.QUEUE.republished; again for more");

  AddFlags(parser, flags.delay_queues);

  parser.Group("Circuit breaker");
  AddFlags(parser, flags.breaker,
           "Pause consuming while most runs fail and are to be retried; then one message\n"
           "at a time is tried until enough of them succeed. What has not begun goes back");

  parser.Group("Running");
  parser.Add("--jobs", "NUMBER", &flags.jobs, "Commands at a time (default: 1)");
  parser.Add("--lines", &flags.lines,
             "COMMAND stays and handles message after message, a line of JSON each: see\n"
             "below. Many times as fast as a COMMAND for each message");
  parser.Add("--in-flight", "NUMBER", &flags.in_flight,
             "With --lines: messages that each COMMAND is given before it has answered\n"
             "(default: 1)");
  parser.Add("--prefetch", "NUMBER", &flags.prefetch,
             "Unacked messages at a time, at least --jobs times --in-flight (default: 64)");
  parser.Add("--max-body", "SIZE", &flags.max_body,
             "Largest body that is kept in memory, in bytes, KiB or MiB. A message with a\n"
             "larger one is not handled: it is parked as it arrives, or what --on-limit says.\n"
             "All bodies in memory are twice as much at most (default: 128MiB)");
  parser.Add(
      "--timeout", "DURATION", &flags.timeout,
      "A command that takes longer over a message is ended, by SIGTERM and then SIGKILL to its\n"
      "process group, and has failed (default: none)");
  parser.Add("--consumer-timeout", "DURATION", &flags.consumer_timeout,
             "How long RabbitMQ lets a message be unsettled until it takes it back, which is a\n"
             "failure. Quorum queues of RabbitMQ 4.3 or newer go by it; what else there is\n"
             "the broker's configuration says (default: as that says, mostly 30m)");
  parser.Add("--grace", "DURATION", &flags.grace,
             "From the first signal until what still runs is ended (default: 25s)");
  parser.Add("--pass-url", &flags.pass_url,
             "Leave RETRYQ_URL and RETRYQ_MANAGEMENT_URL, which have passwords, in the\n"
             "environment of COMMAND");

  parser.Group("Output");
  parser.Add("--json", &flags.json, json);
  parser.Add("--log-level", "LEVEL", &flags.log_level,
             "Log what is at least a debug, info, warning or error\n"
             "(default: info; with --json debug, which is everything)");
  parser.Add("--metrics", "PORT", &flags.metrics,
             "Serve Prometheus metrics at http://…:PORT/metrics, and at /healthz 200 while\n"
             "messages are consumed, else 503 and why not. ADDRESS:PORT for one address\n"
             "alone, 0 for any free port");
}

WorkOptions ReadFlags(const WorkFlags& flags, FlagReader& reader) {
  WorkOptions options;
  reader.Read("--queue", flags.queue, &options.consumer.queue);
  reader.Read("--work-exchange", flags.work_exchange, &options.consumer.work_exchange);
  reader.Read("--parked", flags.parked, &options.consumer.parked_queue);
  for (const auto& [flag, name] : {std::pair("--queue", options.consumer.queue),
                                   std::pair("--work-exchange", options.consumer.work_exchange),
                                   std::pair("--parked", options.consumer.parked_queue)}) {
    if (name.size() > kLongestName) {
      reader.Complain(absl::StrCat(flag, ": the name is longer than ", kLongestName, " bytes"));
    }
  }
  if (options.consumer.queue.size() <= kLongestName && !flags.parked &&
      options.consumer.queue.size() + std::string_view(".parked").size() > kLongestName) {
    reader.Complain(absl::StrCat("--queue: with \".parked\" behind it the name is longer than ",
                                 kLongestName, " bytes; name the parked queue with --parked"));
  }
  reader.Read("--on-parked", flags.on_parked, &options.on_parked);
  options.consumer.share_retries = flags.share_retries;
  ReadDeclare(flags, reader, &options.consumer);
  RetryOptions& retry = options.consumer.retry;
  reader.Read("--on-limit", flags.on_limit, &retry.on_limit);
  reader.Read("--count-redeliveries", flags.count_redeliveries, &retry.count_redeliveries);
  retry.earlier_counts = flags.earlier_counts;
  options.consumer.former_queues = flags.former_queues;
  ReadFlags(flags.retrying, reader, &retry);
  ReadFlags(flags.breaker, reader, &options.consumer.breaker);

  const absl::Duration heartbeat = ReadUrls(flags.place.urls, reader, &options.client);
  options.vhost = ConnectionOf(options.client).vhost;
  options.management = ReadManagement(flags.place, options.client, /*waits=*/true, reader);
  ReadFlags(flags.delay_queues, heartbeat, reader, &options.client.delay_queues);

  ReadRunning(flags, reader, &options);
  options.log_from = flags.json ? Severity::kDebug : Severity::kInfo;
  reader.Read("--log-level", flags.log_level, &options.log_from);
  ReadMetrics(flags.metrics, reader, &options);
  ReadCommand(flags.command, reader, &options);

  options.json = flags.json;
  return options;
}

Arguments TakeCommand(const Arguments& arguments, WorkFlags* flags) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  flags->command.assign(dashes == arguments.end() ? dashes : dashes + 1, arguments.end());
  return {arguments.begin(), dashes};
}

absl::StatusOr<std::variant<WorkOptions, Answer>> ParseWork(const Arguments& arguments) {
  WorkFlags flags;
  const Arguments ours = TakeCommand(arguments, &flags);
  return ParseFlags<WorkOptions>(kWorkHelp, ours, std::move(flags), AddWorkerFlags,
                                 ReadWorkerFlags);
}

}  // namespace retryq::cli
