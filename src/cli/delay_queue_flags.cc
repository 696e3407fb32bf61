#include "cli/delay_queue_flags.h"

namespace retryq::cli {

void AddFlags(FlagParser& parser, DelayQueueFlags& flags) {
  parser.Group("Delay queues");
  parser.Add("--prefix", "PREFIX", &flags.prefix,
             "Delay queues are named PREFIX.MILLISECONDS (default: retry)");
  parser.Add("--queue-type", "TYPE", &flags.queue_type,
             "classic, or quorum, which loses nothing even where the broker is killed\n"
             "(default: classic)");
  parser.Add("--outage", "DURATION", &flags.outage,
             "With --queue-type quorum: how long broker and QUEUE may be down in all\n"
             "without loss, at least 5m (default: 1d)");
  parser.Add("--margin", "DURATION", &flags.margin,
             "How much longer a classic delay queue lives than it must (default: 1m)");

  parser.Group("");  // not offered yet
  parser.Add("--max-delay-queues", "NUMBER", &flags.max_delay_queues, "");
}

void ReadFlags(const DelayQueueFlags& flags, absl::Duration heartbeat, FlagReader& reader,
               DelayQueueOptions* options) {
  reader.Read("--prefix", flags.prefix, &options->prefix);
  reader.Read("--queue-type", flags.queue_type, &options->queue_type);
  reader.Read("--outage", flags.outage, &options->outage);
  if (flags.outage && options->queue_type == QueueType::kClassic) {
    reader.Complain("--outage: is for --queue-type quorum; add that, or leave this out");
  }
  reader.Read("--margin", flags.margin, &options->margin);
  reader.ReadLater("--max-delay-queues", flags.max_delay_queues, "");
  reader.Complain(Validate(*options, heartbeat));
}

}  // namespace retryq::cli
