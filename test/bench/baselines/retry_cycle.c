/* The hand-written retry loop at full speed.

   retry_cycle URL QUEUE WARMUP MESSAGES TTLS PREFETCH classic|quorum */

#include <stdlib.h>

#include "retry_loop.h"

int main(int argc, char** argv) {
  const struct arguments arguments = parse_arguments(argc, argv, 3, " TTLS PREFETCH QUEUE_TYPE");
  struct retry_loop loop = {.connection = connect_to(arguments.url),
                            .queue = arguments.queue,
                            .first_ttl = kFirstTtl,
                            .ttls = (unsigned)atoi(arguments.more[0]),
                            .prefetch = (uint16_t)atoi(arguments.more[1]),
                            .queue_type = arguments.more[2]};
  if (loop.ttls == 0) die("there is at least one TTL");
  if (loop.prefetch == 0 || loop.prefetch > kPrefetch) die("the prefetch is 1 to 512");
  retry_loop_begin(&loop);

  const uint64_t last = arguments.warmup + arguments.messages;
  struct usage begin = usage_now();
  uint64_t before = 0; /* messages done when it began */
  while (loop.acked < last) {
    retry_loop_step(&loop);
    if (before == 0 && loop.acked >= arguments.warmup) {
      before = loop.acked;
      begin = usage_now();
    }
  }
  const struct usage end = usage_now();
  print_usage(last - before, &begin, &end);
  retry_loop_end(&loop);
  return EXIT_SUCCESS;
}
