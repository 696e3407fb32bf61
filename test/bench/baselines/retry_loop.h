#ifndef RETRYQ_TEST_BENCH_BASELINES_RETRY_LOOP_H_
#define RETRYQ_TEST_BENCH_BASELINES_RETRY_LOOP_H_

#include <stdbool.h>
#include <stdint.h>

#include "loop_client.h"
#include "workload.h"

/* The retry loop that people write by hand: consume, publish a copy into a delay queue, ack when
   the copy is confirmed. Fast, and with the headers of retryq's copies, but without a policy,
   leases or reconnecting. */
struct retry_loop {
  /* Set by the caller; all other fields are zero at first. */
  amqp_connection_state_t connection;
  const char* queue;
  int64_t first_ttl; /* in milliseconds */
  unsigned ttls;
  uint16_t prefetch;      /* at most kPrefetch */
  const char* queue_type; /* of the delay queues: "classic" or "quorum" */
  /* Called for each delivery before its copy is published; may be null. */
  void (*on_failure)(void* context, const amqp_basic_properties_t* properties);
  void* context;

  char (*exchanges)[32]; /* one for each TTL */

  /* Copies are published in the order of their deliveries, so a delivery tag is also the number of
     the copy. */
  uint64_t published;
  uint64_t confirmed; /* all copies up to this number */
  uint64_t acked;
  bool is_confirmed[kPrefetch];

  /* The delivery whose content is being read. */
  amqp_basic_deliver_t deliver;
  amqp_basic_properties_t properties;
  uint64_t missing;
  amqp_bytes_t body; /* in the library's buffer if it is one frame, otherwise in `assembled` */
  char* assembled;
  size_t room;
};

enum {
  kHeaderRoom = 32,
  kRetryHeaders = 9,
};

/* Channels. */
enum {
  kConsuming = 1,
  kPublishing = 2,
};

/* Declares the delay queues, and enables confirms. */
void retry_loop_declare(struct retry_loop* loop);

/* Returns the properties of the copy of the last delivery. Its headers are stored in `headers`,
   which has kHeaderRoom + kRetryHeaders entries. */
amqp_basic_properties_t retry_loop_copy(const struct retry_loop* loop, int64_t delay,
                                        amqp_table_entry_t* headers);

/* Declares the delay queues and starts consuming. */
void retry_loop_begin(struct retry_loop* loop);

/* Waits for a frame and handles it. */
void retry_loop_step(struct retry_loop* loop);

void retry_loop_end(struct retry_loop* loop);

#endif /* RETRYQ_TEST_BENCH_BASELINES_RETRY_LOOP_H_ */
