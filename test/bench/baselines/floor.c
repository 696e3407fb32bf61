/* The least CPU that a client of these sockets can take: it reads deliveries, sends copies, acks
   confirmed messages, and does nothing else. It stores nothing, writes bodies from the buffer that
   they were read into, gives all copies the headers of the first, and gathers input for longer than
   a client should. One TTL.

   floor URL QUEUE WARMUP MESSAGES TTLS */

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "retry_loop.h"

enum {
  kFrameHead = 7, /* type, channel, size */
  kFrameEnd = 0xCE,

  kRoom = 1 << 20, /* of the input; reads after kGathers bytes or kPause ms */
  kGathers = kRoom / 2,
  kPause = 8,

  kMostRuns = 1024, /* per call */
};

/* Writes frames one after the other. */
struct writer {
  unsigned char bytes[8192];
  size_t size;
};

static void put(struct writer* writer, const void* bytes, size_t size) {
  if (size > sizeof writer->bytes - writer->size) die("no room for a frame");
  memcpy(writer->bytes + writer->size, bytes, size);
  writer->size += size;
}

static void put_8(struct writer* writer, unsigned value) {
  const unsigned char byte = (unsigned char)value;
  put(writer, &byte, 1);
}

static void put_16(struct writer* writer, unsigned value) {
  put_8(writer, value >> 8);
  put_8(writer, value);
}

static void put_32(struct writer* writer, uint32_t value) {
  value = htonl(value);
  put(writer, &value, sizeof value);
}

static void put_64(struct writer* writer, uint64_t value) {
  put_32(writer, (uint32_t)(value >> 32));
  put_32(writer, (uint32_t)value);
}

static void put_text(struct writer* writer, const char* text) {
  put_8(writer, (unsigned)strlen(text));
  put(writer, text, strlen(text));
}

/* Where its payload begins, which `end_frame` wants to know. */
static size_t begin_frame(struct writer* writer, unsigned type, unsigned channel) {
  put_8(writer, type);
  put_16(writer, channel);
  put_32(writer, 0);
  return writer->size;
}

static void end_frame(struct writer* writer, size_t begin) {
  const uint32_t size = htonl((uint32_t)(writer->size - begin));
  memcpy(writer->bytes + begin - sizeof size, &size, sizeof size);
  put_8(writer, kFrameEnd);
}

static size_t begin_method(struct writer* writer, unsigned channel, amqp_method_number_t id) {
  const size_t begin = begin_frame(writer, AMQP_FRAME_METHOD, channel);
  put_32(writer, id);
  return begin;
}

static uint32_t get_32(const unsigned char* bytes) {
  uint32_t value;
  memcpy(&value, bytes, sizeof value);
  return ntohl(value);
}

static uint64_t get_64(const unsigned char* bytes) {
  return (uint64_t)get_32(bytes) << 32 | get_32(bytes + 4);
}

struct floor {
  int socket;
  struct writer copy; /* all of it that comes before a body's bytes */
  uint64_t body_size;

  unsigned char* input;
  size_t filled;
  struct iovec runs[kMostRuns];
  int run_count;

  /* As in the loop. Delivery tag n + 1 is copy n: the first was fetched to see its headers. */
  uint64_t confirmed;
  uint64_t acked;
  bool is_confirmed[kPrefetch];
};

static void await(int socket, short what, int milliseconds) {
  struct pollfd poller = {.fd = socket, .events = what};
  if (poll(&poller, 1, milliseconds) < 0 && errno != EINTR) die("poll");
}

static void send_runs(struct floor* floor) {
  struct iovec* run = floor->runs;
  while (floor->run_count > 0) {
    const ssize_t sent = writev(floor->socket, run, floor->run_count);
    if (sent < 0 && errno != EAGAIN) die("writev");
    if (sent < 0) await(floor->socket, POLLOUT, -1);
    size_t left = sent < 0 ? 0 : (size_t)sent;
    for (; floor->run_count > 0 && left >= run->iov_len; --floor->run_count) left -= run++->iov_len;
    if (floor->run_count == 0) return;
    run->iov_base = (char*)run->iov_base + left;
    run->iov_len -= left;
  }
}

static void add_run(struct floor* floor, void* bytes, size_t size) {
  if (floor->run_count == kMostRuns) send_runs(floor);
  floor->runs[floor->run_count++] = (struct iovec){.iov_base = bytes, .iov_len = size};
}

/* Gets a message, prepares its copy, and requeues the message. */
static void prepare_copy(struct floor* floor, struct retry_loop* loop) {
  amqp_basic_get(loop->connection, kConsuming, amqp_cstring_bytes(loop->queue), /*no_ack=*/0);
  amqp_frame_t frame;
  read_frame(loop->connection, &frame);
  loop->properties = *(const amqp_basic_properties_t*)frame.payload.properties.decoded;
  loop->deliver.routing_key = amqp_cstring_bytes(loop->queue);
  floor->body_size = frame.payload.properties.body_size;

  amqp_table_entry_t headers[kHeaderRoom + kRetryHeaders];
  amqp_basic_properties_t properties = retry_loop_copy(loop, loop->first_ttl, headers);
  unsigned char encoded[4096];
  const int size = amqp_encode_properties(AMQP_BASIC_CLASS, &properties,
                                          (amqp_bytes_t){.len = sizeof encoded, .bytes = encoded});
  if (size < 0) die(amqp_error_string2(size));
  for (uint64_t left = floor->body_size; left > 0; left -= frame.payload.body_fragment.len) {
    read_frame(loop->connection, &frame);
  }
  amqp_basic_reject(loop->connection, kConsuming, /*delivery_tag=*/1, /*requeue=*/1);

  struct writer* copy = &floor->copy;
  const size_t publish = begin_method(copy, kPublishing, AMQP_BASIC_PUBLISH_METHOD);
  put_16(copy, 0);
  put_text(copy, loop->exchanges[0]);
  put_text(copy, loop->queue);
  put_8(copy, 1); /* mandatory */
  end_frame(copy, publish);
  const size_t header = begin_frame(copy, AMQP_FRAME_HEADER, kPublishing);
  put_16(copy, AMQP_BASIC_CLASS);
  put_16(copy, 0);
  put_64(copy, floor->body_size);
  put(copy, encoded, (size_t)size);
  end_frame(copy, header);
  if (floor->body_size == 0) return;
  begin_frame(copy, AMQP_FRAME_BODY, kPublishing);
  const uint32_t body_size = htonl((uint32_t)floor->body_size);
  memcpy(copy->bytes + copy->size - sizeof body_size, &body_size, sizeof body_size);
}

/* From here on, frames are read without the library. */
static void start_consuming(struct floor* floor, const struct retry_loop* loop) {
  amqp_basic_qos(loop->connection, kConsuming, 0, kPrefetch, 0);
  check(loop->connection, "basic.qos");
  floor->socket = amqp_get_sockfd(loop->connection);
  const int gathers = kGathers;
  setsockopt(floor->socket, SOL_SOCKET, SO_RCVLOWAT, &gathers, sizeof gathers);
  struct writer writer = {.size = 0};
  const size_t begin = begin_method(&writer, kConsuming, AMQP_BASIC_CONSUME_METHOD);
  put_16(&writer, 0);
  put_text(&writer, loop->queue);
  put_text(&writer, "");
  put_8(&writer, 8); /* no-wait */
  put_32(&writer, 0);
  end_frame(&writer, begin);
  add_run(floor, writer.bytes, writer.size);
  send_runs(floor);
}

static void take_confirm(struct floor* floor, uint64_t number, bool multiple) {
  for (uint64_t i = multiple ? floor->confirmed + 1 : number; i <= number; ++i) {
    floor->is_confirmed[i % kPrefetch] = true;
  }
  while (floor->is_confirmed[(floor->confirmed + 1) % kPrefetch]) {
    floor->is_confirmed[++floor->confirmed % kPrefetch] = false;
  }
}

static void take_frame(struct floor* floor, unsigned char* frame, uint32_t size) {
  unsigned char* payload = frame + kFrameHead;
  if (frame[0] == AMQP_FRAME_METHOD) {
    const amqp_method_number_t id = get_32(payload);
    if (id == AMQP_BASIC_ACK_METHOD) {
      take_confirm(floor, get_64(payload + 4), payload[12] != 0);
    } else if (id != AMQP_BASIC_DELIVER_METHOD) {
      die("neither a delivery nor a confirm");
    }
  } else if (frame[0] == AMQP_FRAME_BODY) {
    if (size != floor->body_size) die("a body of more than one frame");
    add_run(floor, floor->copy.bytes, floor->copy.size);
    add_run(floor, payload, size + 1); /* with the frame's end */
  } else if (floor->body_size == 0) {
    add_run(floor, floor->copy.bytes, floor->copy.size);
  }
}

static void step(struct floor* floor) {
  await(floor->socket, POLLIN, kPause);
  const ssize_t got =
      recv(floor->socket, floor->input + floor->filled, kRoom - floor->filled, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) die("the broker hung up");
  floor->filled += (size_t)got;
  size_t used = 0;
  while (floor->filled - used > kFrameHead) {
    unsigned char* frame = floor->input + used;
    const uint32_t size = get_32(frame + 3);
    if (floor->filled - used < kFrameHead + size + 1) break;
    take_frame(floor, frame, size);
    used += kFrameHead + size + 1;
  }
  struct writer ack = {.size = 0};
  if (floor->confirmed > floor->acked) {
    const size_t begin = begin_method(&ack, kConsuming, AMQP_BASIC_ACK_METHOD);
    put_64(&ack, floor->confirmed + 1);
    put_8(&ack, 1); /* multiple */
    end_frame(&ack, begin);
    add_run(floor, ack.bytes, ack.size);
    floor->acked = floor->confirmed;
  }
  send_runs(floor);
  memmove(floor->input, floor->input + used, floor->filled - used);
  floor->filled -= used;
}

int main(int argc, char** argv) {
  const struct arguments arguments = parse_arguments(argc, argv, 1, " TTLS");
  struct retry_loop loop = {.connection = connect_to(arguments.url),
                            .queue = arguments.queue,
                            .first_ttl = kFirstTtl,
                            .ttls = (unsigned)atoi(arguments.more[0]),
                            .queue_type = "classic"};
  if (loop.ttls != 1) die("it works with one TTL");
  retry_loop_declare(&loop);
  static struct floor floor;
  floor.input = malloc(kRoom);
  if (floor.input == NULL) die("no memory");
  prepare_copy(&floor, &loop);
  start_consuming(&floor, &loop);

  const uint64_t last = arguments.warmup + arguments.messages;
  struct usage begin = usage_now();
  uint64_t before = 0; /* messages done when it began */
  while (floor.acked < last) {
    step(&floor);
    if (before == 0 && floor.acked >= arguments.warmup) {
      before = floor.acked;
      begin = usage_now();
    }
  }
  const struct usage end = usage_now();
  print_usage(last - before, &begin, &end);
  const int at_once = 1;
  setsockopt(floor.socket, SOL_SOCKET, SO_RCVLOWAT, &at_once, sizeof at_once);
  retry_loop_end(&loop);
  free(floor.input);
  return EXIT_SUCCESS;
}
