#ifndef RETRYQ_TEST_BENCH_BASELINES_LOOP_CLIENT_H_
#define RETRYQ_TEST_BENCH_BASELINES_LOOP_CLIENT_H_

#include <amqp.h>
#include <amqp_framing.h>
#include <stdbool.h>
#include <stdint.h>

/* Shared by the hand-written loops. All functions exit with a message on an error. */

/* The program's arguments: URL QUEUE WARMUP MESSAGES, then the arguments that `more` names. */
struct arguments {
  char* url; /* amqp_parse_url() writes into it */
  char* queue;
  uint64_t warmup;   /* messages before the measurement */
  uint64_t messages; /* messages that are measured */
  char** more;
};

struct arguments parse_arguments(int argc, char** argv, int more, const char* names);

_Noreturn void die(const char* what);

/* Opens a connection and its channel 1. With TLS (amqps), the broker's certificate is not checked,
   which makes no difference once the connection is open. */
amqp_connection_state_t connect_to(char* url);
void check(amqp_connection_state_t connection, const char* what);

/* Closes the connection, after the broker has processed everything that was sent. */
void disconnect(amqp_connection_state_t connection);

/* Starts consuming on channel 1. */
void consume(amqp_connection_state_t connection, const char* queue, uint16_t prefetch);

/* Returns whether the next frame can be read without waiting for the broker. */
bool has_frame(amqp_connection_state_t connection);
void read_frame(amqp_connection_state_t connection, amqp_frame_t* frame);

/* The monotonic clock. */
double seconds_now(void);

/* Time and CPU time, in seconds. */
struct usage {
  double seconds;
  double user;
  double system;
};

/* The present usage; only differences mean something. */
struct usage usage_now(void);

/* Prints the difference as a line of JSON. */
void print_usage(uint64_t messages, const struct usage* begin, const struct usage* end);

#endif /* RETRYQ_TEST_BENCH_BASELINES_LOOP_CLIENT_H_ */
