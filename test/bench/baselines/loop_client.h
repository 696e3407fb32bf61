#ifndef RETRYQ_TEST_BENCH_BASELINES_LOOP_CLIENT_H_
#define RETRYQ_TEST_BENCH_BASELINES_LOOP_CLIENT_H_

#include <amqp.h>
#include <amqp_framing.h>
#include <stdbool.h>
#include <stdint.h>

/* What the hand-written loops share. All end the program with a message where something fails:
   these are loops that meet no trouble. */

/* The program's arguments: URL QUEUE WARMUP MESSAGES, then those that `more` names. */
struct arguments {
  char* url; /* amqp_parse_url() writes into it */
  char* queue;
  uint64_t warmup;   /* messages before the measurement, */
  uint64_t messages; /* and in it */
  char** more;
};

struct arguments parse_arguments(int argc, char** argv, int more, const char* names);

_Noreturn void die(const char* what);

/* A connection and its channel 1. With TLS (amqps), the broker's certificate is not checked: that
   costs nothing once the connection is open. */
amqp_connection_state_t connect_to(char* url);
void check(amqp_connection_state_t connection, const char* what);

/* Waits until the broker has taken what was sent before. */
void disconnect(amqp_connection_state_t connection);

/* Starts consuming on channel 1. */
void consume(amqp_connection_state_t connection, const char* queue, uint16_t prefetch);

/* Whether the next frame can be had without waiting for the broker. */
bool has_frame(amqp_connection_state_t connection);
void read_frame(amqp_connection_state_t connection, amqp_frame_t* frame);

/* Since some moment. */
double seconds_now(void);

/* What a measurement has used. */
struct usage {
  double seconds;
  double user;
  double system;
};

/* Since some moment; the difference of two counts. */
struct usage usage_now(void);

/* One line of JSON. */
void print_usage(uint64_t messages, const struct usage* begin, const struct usage* end);

#endif /* RETRYQ_TEST_BENCH_BASELINES_LOOP_CLIENT_H_ */
