#include <optional>
#include <utility>

#include "cli/management/management_flags.h"
#include "cli/queues/queues_command.h"
#include "retryq/delay_queue_options.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kShortestInterval = absl::Milliseconds(100);

constexpr HelpText kQueuesHelp = {
    .description =
        "Shows the delay queues of a vhost: what waits in them, when it is due, and how long they "
        "live.\n"
        "Asks the management API only, and touches no queue.",
    .usage = "retryq queues [OPTIONS]",
    .footer =
        R"(ttl         how long a message waits
waiting     messages in the queue
overdue     of these, what is due and still there: in a quorum queue what the broker cannot deliver,
            as the queue that it returns to is gone or full; classic queues drop that
next due    until the next of them leaves: ~ is worked out from the broker's statistics, give or
            take 5s; <= is the most it can be
lease left  until the broker drops the queue if no worker declares it again, at most; workers keep
            it while messages are in it. Quorum queues are never kept: each lives as long as it says
in/s, out/s messages a second, over the last minute
serves      whose messages wait there: the work queue, or the exchange that they were published to;
            many, where all work queues share it; and the exchange that they return through

The broker's own statistics, which all this is made from, are up to 5s old.
Exit codes: 64 wrong options; 69 no management API, or no such vhost; 77 refused.

Examples: all that wait; the same, live; the sum of it for a script
  retryq queues
  retryq queues --watch
  retryq queues --json | jq .totals.waiting
)",
};

struct QueuesFlags {
  ManagementFlags management;
  FlagText prefix;
  FlagText interval;
  bool json = false;
  bool watch = false;
};

void AddFlags(FlagParser& parser, QueuesFlags& flags) {
  AddFlags(parser, flags.management);
  parser.Add("--prefix", "PREFIX", &flags.prefix,
             "Delay queues are named PREFIX.MILLISECONDS (default: retry)");
  parser.Group("Output");
  parser.Add("--json", &flags.json,
             "One JSON object: {\"time\",\"queues\":[{\"name\",\"ttl_ms\",\"waiting\",...},...],\n"
             "\"totals\":{...}}; what is not known is null");
  parser.Add("--watch", &flags.watch,
             "Again and again: full-screen on a terminal (h tells the keys), else as lines,\n"
             "with --json one object a line. q, SIGINT or SIGTERM end it");
  parser.Add("--interval", "DURATION", &flags.interval, "With --watch: how often (default: 2s)");
}

QueuesOptions ReadOptions(const QueuesFlags& flags, FlagReader& reader) {
  BrokerPlace place;
  ReadFlags(flags.management, reader, &place);
  QueuesOptions options{.management = std::move(place.management),
                        .vhost = place.connection.vhost,
                        .json = flags.json,
                        .watch = flags.watch};
  reader.Read("--interval", flags.interval, &options.interval);
  if (flags.interval && !flags.watch) {
    reader.Complain("--interval: is for --watch; add that, or leave this out");
  } else if (options.interval < kShortestInterval) {
    reader.Complain("--interval " + *flags.interval +
                    ": must be at least 100ms; the broker's figures change every 5s");
  }
  DelayQueueOptions delay_queues;
  reader.Read("--prefix", flags.prefix, &delay_queues.prefix);
  reader.Complain(Validate(delay_queues, amqp::ConnectionOptions().heartbeat));
  options.prefix = delay_queues.prefix;
  return options;
}

}  // namespace

absl::StatusOr<std::variant<QueuesOptions, Answer>> ParseQueues(const Arguments& arguments) {
  return ParseFlags<QueuesOptions>(kQueuesHelp, arguments, QueuesFlags(), AddFlags, ReadOptions);
}

}  // namespace retryq::cli
