#include "cli/flags/delay_queue_flags.h"

#include <cstdint>

namespace retryq::cli {

void AddFlags(FlagParser& parser, DelayQueueFlags& flags) {
  parser.Group("Delay queues");
  parser.Add("--prefix", "PREFIX", &flags.prefix,
             "Delay queues are named PREFIX.MILLISECONDS (default: retry), quorum ones\n"
             "PREFIX.MILLISECONDS.QUEUE.q0 to .q3");
  parser.Add("--queue-type", "classic|quorum", &flags.queue_type,
             "classic, or quorum, which loses nothing even where the broker is killed\n"
             "(default: classic)");
  parser.Add("--outage", "DURATION", &flags.outage,
             "With --queue-type quorum: how long broker and QUEUE may be down in all\n"
             "without loss, at least 5m (default: 1d)");
  parser.Add("--share-delay-queues", &flags.share,
             "With --queue-type quorum: all work queues share the delay queues, as they share\n"
             "classic ones. Fewer queues, but a work queue that is gone or full can hold up,\n"
             "and in the end lose, the messages of all others");
  parser.Add("--margin", "DURATION", &flags.margin,
             "How much longer a classic delay queue lives than it must (default: 1m)");
  parser.Add("--max-length", "NUMBER", &flags.max_length,
             "Messages that a delay queue takes; what fails beyond that stays unacked and\n"
             "is tried again with growing pauses (default: 0, no limit)");
  parser.Add("--max-length-bytes", "NUMBER", &flags.max_length_bytes,
             "The same in bytes of bodies (default: 0, no limit)");
  parser.Add("--no-declare", &flags.no_declare,
             "Declare nothing, for users without the right to configure: use the queues\n"
             "that were imported from retryq plan --definitions");
  parser.Add("--max-delay-queues", "NUMBER", &flags.max_delay_queues,
             "Different delays that get queues of their own, at least 16; all others\n"
             "go through several of those and arrive as exactly (default: 64)");
  parser.Add("--no-exact-queues", &flags.no_exact_queues,
             "No queues for the policy's own delays: all go through the same set, so that\n"
             "--max-delay-queues holds for all workers of a prefix together, if all say so");
}

void ReadFlags(const DelayQueueFlags& flags, absl::Duration heartbeat, FlagReader& reader,
               DelayQueueOptions* options) {
  reader.Read("--prefix", flags.prefix, &options->prefix);
  reader.Read("--queue-type", flags.queue_type, &options->queue_type);
  reader.Read("--outage", flags.outage, &options->outage);
  if (flags.outage && options->queue_type == QueueType::kClassic) {
    reader.Complain("--outage: is for --queue-type quorum; add that, or leave this out");
  }
  options->share = flags.share;
  if (flags.share && options->queue_type == QueueType::kClassic) {
    reader.Complain(
        "--share-delay-queues: is for --queue-type quorum, as classic delay queues are always "
        "shared; add that, or leave this out");
  }
  reader.Read("--margin", flags.margin, &options->margin);
  reader.Read("--max-length", flags.max_length, 0, INT64_MAX, &options->max_length);
  reader.Read("--max-length-bytes", flags.max_length_bytes, 0, INT64_MAX,
              &options->max_length_bytes);
  options->declare = !flags.no_declare;
  options->exact_queues = !flags.no_exact_queues;
  reader.Read("--max-delay-queues", flags.max_delay_queues, 0, UINT32_MAX,
              &options->max_delay_queues);
  reader.Complain(Validate(*options, heartbeat));
}

}  // namespace retryq::cli
