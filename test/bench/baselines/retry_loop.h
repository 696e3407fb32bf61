#ifndef RETRYQ_TEST_BENCH_BASELINES_RETRY_LOOP_H_
#define RETRYQ_TEST_BENCH_BASELINES_RETRY_LOOP_H_

#include <stdbool.h>
#include <stdint.h>

#include "loop_client.h"
#include "workload.h"

/* Consume, publish a copy into a delay queue, ack when the copy is confirmed: the loop that people
   write by hand, at its best, and with the headers that retryq's copies have. No policy, no leases,
   no reconnecting. */
struct retry_loop {
  /* Set by the caller; the rest is zero at first. */
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

  /* Deliveries are published in their order, so that a delivery's tag is its copy's number as well.
   */
  uint64_t published;
  uint64_t confirmed; /* with all before */
  uint64_t acked;
  bool is_confirmed[kPrefetch];

  /* The delivery whose content is being read. */
  amqp_basic_deliver_t deliver;
  amqp_basic_properties_t properties;
  uint64_t missing;
  amqp_bytes_t body; /* of one frame: in the library's buffer; of more: in `assembled` */
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

/* Declares the delay queues, and has what is published confirmed. */
void retry_loop_declare(struct retry_loop* loop);

/* Of the copy for the delivery that was read last. Its headers lie in `headers`, of
   kHeaderRoom + kRetryHeaders. */
amqp_basic_properties_t retry_loop_copy(const struct retry_loop* loop, int64_t delay,
                                        amqp_table_entry_t* headers);

/* Declares the delay queues and starts consuming. */
void retry_loop_begin(struct retry_loop* loop);

/* Waits for a frame and does what follows from it. */
void retry_loop_step(struct retry_loop* loop);

void retry_loop_end(struct retry_loop* loop);

#endif /* RETRYQ_TEST_BENCH_BASELINES_RETRY_LOOP_H_ */
