#include <optional>
#include <string>
#include <vector>

#include "cli/flags/breaker_flags.h"
#include "cli/flags/delay_queue_flags.h"
#include "cli/flags/retrying_flags.h"
#include "cli/flags/url_flags.h"
#include "cli/outage/simulate_flag.h"
#include "cli/plan/plan_command.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/client.h"

namespace retryq::cli {
namespace {

constexpr HelpText kPlanHelp = {
    .description =
        "Shows what becomes of a message that always fails: each delay, the queue that it waits "
        "in, "
        "how\nlong that queue lives unused (x-expires), and the time since the first failure. With "
        "--simulate:\nwhat becomes of all messages when the service that they need is down for a "
        "while. "
        "Asks no broker.",
    .usage = "retryq plan [OPTIONS]",
    .footer =
        R"(attempt is the number of failures so far, as RETRYQ_ATTEMPT will say at the call that follows the
delay. Delays that COMMAND asks for (retry-after) are not in the plan. With --jitter chance chooses
each delay from its range; what is shorter goes through several of the queues that are counted.

--simulate lives through an outage of the downstream, what the handlers call, with the policy that
the other flags say; how to read it: share/doc/retryq/examples/planning.md. Its keys:
  outage=DURATION    how long every call fails; required
  rate=NUMBER/s      messages that arrive a second (/m minute, /h hour)
  burst=NUMBER       messages that arrive at once when the outage begins; rate, burst or both
  capacity=NUMBER/s  calls that the downstream takes; those beyond fail at once (default: any number)
  error_rate=PART    of the calls it takes, those that fail anyway (default: 0)
  arrivals=HOW       even, or poisson: independently of each other (default: even)
  speed=NUMBER/s     with --breaker: calls that the workers make at most (default: twice the rate,
                     at least 100/s)
  start=DURATION     when the outage begins (default: after a tenth of it)
  duration=DURATION  how long it all goes on (default: somewhat beyond the recovery)
  seed=NUMBER        of chance; one seed is one history (default: 1)

A worker that may not declare anything needs its queues made by a user who may:
  retryq plan --definitions --queue orders > retry.json
  rabbitmqctl import_definitions retry.json
  retryq work --queue orders --no-declare -- ./handle-order
with the same flags for delays in both. These queues never expire.

Example: retries after 1s, 10s, 100s, 500s, 500s
  retryq plan --base 1s --factor 10 --max 500s --max-attempts 6
Example: ten minutes of outage, with full jitter, as a plot
  retryq plan --jitter full --simulate outage=10m,rate=200/s,capacity=500/s
Example: what a circuit breaker would change
  retryq plan --jitter full --simulate outage=10m,rate=200/s,capacity=500/s --breaker
)",
};

struct PlanFlags {
  UrlFlags urls;
  RetryingFlags retrying;
  DelayQueueFlags delay_queues;
  FlagText queue, work_exchange, parked, work_queue;
  FlagText simulate, svg;
  BreakerFlags breaker;
  bool definitions = false;
  bool any_delay = false;
  bool json = false;
};

void AddFlags(FlagParser& parser, PlanFlags& flags) {
  AddFlags(parser, flags.retrying);
  AddFlags(parser, flags.delay_queues);

  parser.Group("Outage");
  parser.Add("--simulate", "KEY=VALUE,...", &flags.simulate,
             "An outage to live through, as in outage=10m,rate=200/s,capacity=500/s: the\n"
             "load on the downstream, what waits and is parked, delay queues, the recovery");
  AddFlags(parser, flags.breaker,
           "With --simulate: the same outage once more with a circuit breaker, as work\n"
           "--breaker has, and what that changes");

  parser.Group("Output");
  parser.Add("--json", &flags.json,
             "One JSON object: {\"attempts\":[{\"attempt\",\"delay_ms\",\"queue\",\"expires_ms\",\n"
             "\"elapsed_ms\"},...],\"delay_queues\":N}; \"delay_min_ms\" beside \"delay_ms\" with\n"
             "--jitter, and \"simulation\" with --simulate");
  parser.Add("--svg", "FILE", &flags.svg,
             "Also draw an image, as SVG: of the simulated outage, or else of the delays");
  parser.Add("--definitions", &flags.definitions,
             "The queues, exchanges and bindings as a file for RabbitMQ to import; without\n"
             "x-expires, for workers with --no-declare");
  parser.Add("--any-delay", &flags.any_delay,
             "With --definitions: also the queues for delays that COMMAND (retry-after) or\n"
             "retryq send choose; with --jitter they are always there");
  parser.Add("--queue", "QUEUE", &flags.queue,
             "The work queue, which is in the names of quorum delay queues. With\n"
             "--definitions: also its parked queue");
  parser.Add("--parked", "QUEUE", &flags.parked,
             "With --definitions: what that is named (default: QUEUE.parked)");
  parser.Add("--work-queue", "classic|quorum", &flags.work_queue,
             "With --definitions: also QUEUE itself, durable, of that type");
  parser.Add("--work-exchange", "EXCHANGE", &flags.work_exchange,
             "With --definitions: the exchange that retries return through\n"
             "(default: straight to their queue)");
  AddFlags(parser, flags.urls, "With --definitions: the vhost is that of this address");
}

void RefuseBesideDefinitions(const PlanFlags& flags, FlagReader& reader) {
  if (flags.json) {
    reader.Complain("--json: is not for --definitions, which are JSON; leave it out");
  }
  if (flags.simulate || flags.svg) {
    reader.Complain("--simulate and --svg: are not for --definitions; leave one or the other out");
  }
}

void ReadDefinitions(const PlanFlags& flags, FlagReader& reader, PlanOptions* options) {
  options->format = PlanOptions::Format::kDefinitions;
  options->any_delay = flags.any_delay;
  reader.Read("--parked", flags.parked, &options->parked_queue);
  reader.Read("--work-exchange", flags.work_exchange, &options->work_exchange);
  if (flags.work_queue) {
    options->work_queue = QueueType::kClassic;
    reader.Read("--work-queue", flags.work_queue, &*options->work_queue);
    if (!flags.queue) {
      reader.Complain("--work-queue: adds the --queue to the definitions; name it");
    }
  }
  if (flags.queue && !flags.parked) options->parked_queue = options->queue + ".parked";
  const DelayQueueOptions& delay_queues = options->delay_queues;
  if (!flags.queue && delay_queues.queue_type == QueueType::kQuorum && !delay_queues.share) {
    reader.Complain(
        "--queue: is missing, as quorum delay queues belong to one work queue; name it, or add "
        "--share-delay-queues");
  }
}

PlanOptions ReadOptions(const PlanFlags& flags, FlagReader& reader) {
  PlanOptions options;
  ReadFlags(flags.retrying, reader, &options.retry);
  ClientOptions client;
  const absl::Duration heartbeat = ReadUrls(flags.urls, reader, &client);
  ReadFlags(flags.delay_queues, heartbeat, reader, &options.delay_queues);
  if (const auto connection = amqp::ParseUri(client.url); connection.ok()) {
    options.vhost = connection->vhost;
  }
  if (flags.json) options.format = PlanOptions::Format::kJson;
  if (flags.simulate) options.outage = ReadSimulate(*flags.simulate, reader);
  ReadFlags(flags.breaker, reader, &options.breaker);
  if (flags.breaker.breaker && !flags.simulate) {
    reader.Complain("--breaker: is for --simulate; add that, or leave this out");
  }
  reader.Read("--svg", flags.svg, &options.svg_file);
  reader.Read("--queue", flags.queue, &options.queue);
  if (flags.definitions) {
    RefuseBesideDefinitions(flags, reader);
    ReadDefinitions(flags, reader, &options);
  } else if (flags.any_delay || flags.parked || flags.work_exchange || flags.work_queue) {
    reader.Complain(
        "--any-delay, --parked, --work-queue and --work-exchange: are for --definitions; add that, "
        "or leave them out");
  }
  if (reader.status().ok()) {
    reader.Complain(ValidateLease(LongestDelay(options.retry.backoff), options.delay_queues));
  }
  return options;
}

}  // namespace

absl::StatusOr<std::variant<PlanOptions, Answer>> ParsePlan(const Arguments& arguments) {
  return ParseFlags<PlanOptions>(kPlanHelp, arguments, PlanFlags(), AddFlags, ReadOptions);
}

}  // namespace retryq::cli
