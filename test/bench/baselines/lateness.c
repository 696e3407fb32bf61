/* How late messages come back to the hand-written loop. All messages fail each time, with one TTL.

   lateness URL QUEUE WARMUP MESSAGES SECONDS TTL    MESSAGES: the total number, with the ids that
   the benchmark gives them. The first WARMUP seconds do not count; the program exits SECONDS later.
   TTL in milliseconds */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "retry_loop.h"

struct lateness {
  uint64_t messages;
  double ttl;
  double first_counted; /* a time; 0 until the first delivery */
  double warmup;
  double now;
  double* due; /* per message; 0: has not failed yet */

  double* late;
  size_t count;
  size_t room;
};

static void add(struct lateness* lateness, double late) {
  if (lateness->count == lateness->room) {
    lateness->room = 2 * lateness->room + 1024;
    lateness->late = realloc(lateness->late, lateness->room * sizeof *lateness->late);
    if (lateness->late == NULL) die("no memory");
  }
  lateness->late[lateness->count++] = late;
}

static void on_failure(void* context, const amqp_basic_properties_t* properties) {
  struct lateness* lateness = context;
  char digits[32] = {0};
  const size_t skip = sizeof kIdPrefix - 1;
  const amqp_bytes_t id = properties->message_id;
  if (id.len <= skip || id.len - skip >= sizeof digits) die("a message has no such id");
  memcpy(digits, (const char*)id.bytes + skip, id.len - skip);
  const uint64_t index = strtoull(digits, NULL, 10);
  if (index >= lateness->messages) die("there are more messages than said");

  lateness->now = seconds_now();
  if (lateness->first_counted == 0) lateness->first_counted = lateness->now + lateness->warmup;
  const double due = lateness->due[index];
  if (due != 0 && lateness->now >= lateness->first_counted) add(lateness, lateness->now - due);
  lateness->due[index] = lateness->now + lateness->ttl;
}

static int ascending(const void* left, const void* right) {
  const double difference = *(const double*)left - *(const double*)right;
  return (difference > 0) - (difference < 0);
}

static double quantile_ms(const struct lateness* lateness, double part) {
  return lateness->late[(size_t)(part * (double)(lateness->count - 1))] * 1e3;
}

int main(int argc, char** argv) {
  const struct arguments arguments = parse_arguments(argc, argv, 2, " SECONDS TTL");
  const double seconds = atof(arguments.more[0]);
  struct lateness lateness = {.messages = arguments.messages,
                              .ttl = atof(arguments.more[1]) / 1e3,
                              .warmup = (double)arguments.warmup};
  lateness.due = calloc(lateness.messages, sizeof *lateness.due);
  if (lateness.due == NULL) die("no memory");
  struct retry_loop loop = {.connection = connect_to(arguments.url),
                            .queue = arguments.queue,
                            .first_ttl = (int64_t)(lateness.ttl * 1e3),
                            .ttls = 1,
                            .prefetch = kPrefetch,
                            .queue_type = "classic",
                            .on_failure = on_failure,
                            .context = &lateness};
  retry_loop_begin(&loop);
  while (lateness.first_counted == 0 || lateness.now < lateness.first_counted + seconds) {
    retry_loop_step(&loop);
  }
  if (lateness.count == 0) die("nothing came back");
  qsort(lateness.late, lateness.count, sizeof *lateness.late, ascending);
  printf("{\"messages\":%zu,\"p50_ms\":%.3f,\"p99_ms\":%.3f,\"max_ms\":%.3f}\n", lateness.count,
         quantile_ms(&lateness, 0.5), quantile_ms(&lateness, 0.99), quantile_ms(&lateness, 1));
  retry_loop_end(&loop);
  free(lateness.late);
  free(lateness.due);
  return EXIT_SUCCESS;
}
