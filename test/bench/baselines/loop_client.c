#include "loop_client.h"

#include <amqp_ssl_socket.h>
#include <amqp_tcp_socket.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "workload.h"

enum { kUsage = 64, kFrameMax = 131072 };

static uint64_t number(const char* text) {
  char* end = NULL;
  const uint64_t value = strtoull(text, &end, 10);
  if (end == text || *end != '\0') die("an argument is no number");
  return value;
}

struct arguments parse_arguments(int argc, char** argv, int more, const char* names) {
  if (argc != 5 + more) {
    fprintf(stderr, "usage: %s URL QUEUE WARMUP MESSAGES%s\n", argv[0], names);
    exit(kUsage);
  }
  return (struct arguments){.url = argv[1],
                            .queue = argv[2],
                            .warmup = number(argv[3]),
                            .messages = number(argv[4]),
                            .more = argv + 5};
}

void die(const char* what) {
  fprintf(stderr, "baseline: %s\n", what);
  exit(EXIT_FAILURE);
}

amqp_connection_state_t connect_to(char* url) {
  struct amqp_connection_info info;
  if (amqp_parse_url(url, &info) != AMQP_STATUS_OK) die("the URL is wrong");
  amqp_connection_state_t connection = amqp_new_connection();
  amqp_socket_t* socket =
      info.ssl ? amqp_ssl_socket_new(connection) : amqp_tcp_socket_new(connection);
  if (info.ssl) amqp_ssl_socket_set_verify_peer(socket, 0);
  if (info.ssl) amqp_ssl_socket_set_verify_hostname(socket, 0);
  if (amqp_socket_open(socket, info.host, info.port) != AMQP_STATUS_OK) die("no broker there");
  const amqp_rpc_reply_t reply = amqp_login(connection, info.vhost, 0, kFrameMax, /*heartbeat=*/0,
                                            AMQP_SASL_METHOD_PLAIN, info.user, info.password);
  if (reply.reply_type != AMQP_RESPONSE_NORMAL) die("the broker refused the login");
  amqp_channel_open(connection, 1);
  check(connection, "channel.open");
  return connection;
}

void check(amqp_connection_state_t connection, const char* what) {
  if (amqp_get_rpc_reply(connection).reply_type != AMQP_RESPONSE_NORMAL) die(what);
}

void disconnect(amqp_connection_state_t connection) {
  amqp_connection_close(connection, AMQP_REPLY_SUCCESS);
  amqp_destroy_connection(connection);
}

void consume(amqp_connection_state_t connection, const char* queue, uint16_t prefetch) {
  amqp_basic_qos(connection, 1, 0, prefetch, 0);
  check(connection, "basic.qos");
  amqp_basic_consume(connection, 1, amqp_cstring_bytes(queue), amqp_empty_bytes, 0, 0, 0,
                     amqp_empty_table);
  check(connection, "basic.consume");
}

bool has_frame(amqp_connection_state_t connection) {
  return amqp_frames_enqueued(connection) || amqp_data_in_buffer(connection);
}

void read_frame(amqp_connection_state_t connection, amqp_frame_t* frame) {
  const int status = amqp_simple_wait_frame(connection, frame);
  if (status != AMQP_STATUS_OK) die(amqp_error_string2(status));
}

static double seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct usage usage_now(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (struct usage){
      .seconds = seconds_now(), .user = seconds(used.ru_utime), .system = seconds(used.ru_stime)};
}

void print_usage(uint64_t messages, const struct usage* begin, const struct usage* end) {
  printf("{\"messages\":%" PRIu64
         ",\"seconds\":%.6f,\"user_seconds\":%.6f,\"system_seconds\":%.6f}\n",
         messages, end->seconds - begin->seconds, end->user - begin->user,
         end->system - begin->system);
}
