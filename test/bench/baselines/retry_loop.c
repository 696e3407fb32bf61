#include "retry_loop.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t ttl_of(const struct retry_loop* loop, unsigned index) {
  return loop->first_ttl + (int64_t)index * kTtlStep;
}

static amqp_table_entry_t integer(const char* name, int64_t value) {
  amqp_table_entry_t entry = {.key = amqp_cstring_bytes(name)};
  entry.value.kind = AMQP_FIELD_KIND_I64;
  entry.value.value.i64 = value;
  return entry;
}

static amqp_table_entry_t text(const char* name, amqp_bytes_t value) {
  amqp_table_entry_t entry = {.key = amqp_cstring_bytes(name)};
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = value;
  return entry;
}

/* Declares a queue and its fanout exchange for each TTL. */
void retry_loop_declare(struct retry_loop* loop) {
  loop->exchanges = calloc(loop->ttls, sizeof *loop->exchanges);
  if (loop->exchanges == NULL) die("no memory");
  for (unsigned i = 0; i < loop->ttls; ++i) {
    snprintf(loop->exchanges[i], sizeof loop->exchanges[i], "retry.%" PRId64, ttl_of(loop, i));
    const amqp_bytes_t name = amqp_cstring_bytes(loop->exchanges[i]);
    amqp_table_entry_t entries[] = {
        text("x-queue-type", amqp_cstring_bytes(loop->queue_type)),
        integer("x-message-ttl", ttl_of(loop, i)),
        integer("x-expires", ttl_of(loop, i) + kExpiresBeyondTtl),
        text("x-dead-letter-exchange", amqp_empty_bytes),
        text("x-dead-letter-strategy", amqp_cstring_bytes("at-least-once")),
        text("x-overflow", amqp_cstring_bytes("reject-publish"))};
    /* The last two are for quorum queues only. */
    const int count = strcmp(loop->queue_type, "quorum") == 0 ? 6 : 4;
    const amqp_table_t table = {.num_entries = count, .entries = entries};
    amqp_queue_declare(loop->connection, kConsuming, name, 0, /*durable=*/1, 0, 0, table);
    check(loop->connection, "queue.declare");
    amqp_exchange_declare(loop->connection, kConsuming, name, amqp_cstring_bytes("fanout"), 0,
                          /*durable=*/1, /*auto_delete=*/1, 0, amqp_empty_table);
    check(loop->connection, "exchange.declare");
    amqp_queue_bind(loop->connection, kConsuming, name, name, amqp_empty_bytes, amqp_empty_table);
    check(loop->connection, "queue.bind");
  }
  amqp_channel_open(loop->connection, kPublishing);
  check(loop->connection, "channel.open");
  amqp_confirm_select(loop->connection, kPublishing);
  check(loop->connection, "confirm.select");
}

static bool is_named(const amqp_table_entry_t* entry, const char* name) {
  const size_t length = strlen(name);
  return entry->key.len == length && memcmp(entry->key.bytes, name, length) == 0;
}

/* Copies the delivery's headers, except those of an earlier retry, and adds ours. Returns their
   number. */
static int write_headers(const struct retry_loop* loop, int64_t delay,
                         amqp_table_entry_t* headers) {
  static const char error[] = "UNAVAILABLE: " RETRYQ_BENCH_ERROR;
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  const int64_t now = (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;

  int64_t failures = 0;
  int64_t first_failure = now;
  int count = 0;
  if (loop->properties._flags & AMQP_BASIC_HEADERS_FLAG) {
    const amqp_table_t* old = &loop->properties.headers;
    if (old->num_entries > kHeaderRoom) die("too many headers");
    for (int i = 0; i < old->num_entries; ++i) {
      const amqp_table_entry_t* entry = &old->entries[i];
      if (is_named(entry, "x-retry-count")) failures = entry->value.value.i64;
      if (is_named(entry, "x-retry-first-failure")) first_failure = entry->value.value.i64;
      const bool is_ours = entry->key.len > 8 && memcmp(entry->key.bytes, "x-retry-", 8) == 0;
      if (!is_ours && !is_named(entry, "x-death")) headers[count++] = *entry;
    }
  }
  headers[count++] = integer("x-retry-count", failures + 1);
  headers[count++] = integer("x-retry-first-failure", first_failure);
  headers[count++] = text("x-retry-queue", amqp_cstring_bytes(loop->queue));
  headers[count++] = text("x-retry-exchange", loop->deliver.exchange);
  headers[count++] = text("x-retry-routing-key", loop->deliver.routing_key);
  headers[count++] = text("x-retry-id", loop->properties.message_id);
  headers[count++] = integer("x-retry-delay", delay);
  headers[count++] = integer("x-retry-not-before", now + delay);
  headers[count++] = text("x-retry-error", amqp_cstring_bytes(error));
  return count;
}

amqp_basic_properties_t retry_loop_copy(const struct retry_loop* loop, int64_t delay,
                                        amqp_table_entry_t* headers) {
  amqp_basic_properties_t properties = loop->properties;
  properties.headers.entries = headers;
  properties.headers.num_entries = write_headers(loop, delay, headers);
  properties.delivery_mode = AMQP_DELIVERY_PERSISTENT;
  properties._flags |= AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties._flags &= ~(amqp_flags_t)(AMQP_BASIC_EXPIRATION_FLAG | AMQP_BASIC_USER_ID_FLAG);
  return properties;
}

/* The handler has failed. */
static void retry(struct retry_loop* loop) {
  if (loop->on_failure != NULL) loop->on_failure(loop->context, &loop->properties);
  const unsigned index = (unsigned)(loop->published % loop->ttls);
  amqp_table_entry_t headers[kHeaderRoom + kRetryHeaders];
  const amqp_basic_properties_t properties = retry_loop_copy(loop, ttl_of(loop, index), headers);
  const int status = amqp_basic_publish(
      loop->connection, kPublishing, amqp_cstring_bytes(loop->exchanges[index]),
      amqp_cstring_bytes(loop->queue), /*mandatory=*/1, /*immediate=*/0, &properties, loop->body);
  if (status != AMQP_STATUS_OK) die(amqp_error_string2(status));
  ++loop->published;
  amqp_maybe_release_buffers_on_channel(loop->connection, kConsuming);
}

static void take_content_header(struct retry_loop* loop, const amqp_frame_t* frame) {
  loop->properties = *(const amqp_basic_properties_t*)frame->payload.properties.decoded;
  loop->missing = frame->payload.properties.body_size;
  loop->body = amqp_empty_bytes;
  if (loop->missing == 0) retry(loop);
}

static void take_body(struct retry_loop* loop, amqp_bytes_t fragment) {
  loop->missing -= fragment.len;
  if (loop->missing == 0 && loop->body.len == 0) {
    loop->body = fragment;
  } else {
    const size_t size = loop->body.len + fragment.len + (size_t)loop->missing;
    if (loop->room < size) {
      loop->assembled = realloc(loop->assembled, size);
      if (loop->assembled == NULL) die("no memory");
      loop->room = size;
    }
    memcpy(loop->assembled + loop->body.len, fragment.bytes, fragment.len);
    loop->body = (amqp_bytes_t){.len = loop->body.len + fragment.len, .bytes = loop->assembled};
  }
  if (loop->missing == 0) retry(loop);
}

static void take_confirm(struct retry_loop* loop, const amqp_basic_ack_t* ack) {
  for (uint64_t tag = ack->multiple ? loop->confirmed + 1 : ack->delivery_tag;
       tag <= ack->delivery_tag; ++tag) {
    loop->is_confirmed[tag % kPrefetch] = true;
  }
  while (loop->is_confirmed[(loop->confirmed + 1) % kPrefetch]) {
    loop->is_confirmed[++loop->confirmed % kPrefetch] = false;
  }
}

static void take_frame(struct retry_loop* loop, const amqp_frame_t* frame) {
  if (frame->frame_type == AMQP_FRAME_HEADER) {
    take_content_header(loop, frame);
  } else if (frame->frame_type == AMQP_FRAME_BODY) {
    take_body(loop, frame->payload.body_fragment);
  } else if (frame->payload.method.id == AMQP_BASIC_DELIVER_METHOD) {
    loop->deliver = *(const amqp_basic_deliver_t*)frame->payload.method.decoded;
  } else if (frame->payload.method.id == AMQP_BASIC_ACK_METHOD) {
    take_confirm(loop, frame->payload.method.decoded);
    amqp_maybe_release_buffers_on_channel(loop->connection, kPublishing);
  } else {
    die("a copy was returned or refused");
  }
}

/* Acks the originals of confirmed copies, when no frame is left to read or many copies were
 * confirmed together. */
static void ack(struct retry_loop* loop) {
  if (loop->confirmed == loop->acked) return;
  if (loop->confirmed - loop->acked < loop->prefetch / 8U && has_frame(loop->connection)) return;
  if (amqp_basic_ack(loop->connection, kConsuming, loop->confirmed, /*multiple=*/1) !=
      AMQP_STATUS_OK) {
    die("basic.ack");
  }
  loop->acked = loop->confirmed;
}

void retry_loop_begin(struct retry_loop* loop) {
  retry_loop_declare(loop);
  consume(loop->connection, loop->queue, loop->prefetch);
}

void retry_loop_step(struct retry_loop* loop) {
  amqp_frame_t frame;
  read_frame(loop->connection, &frame);
  take_frame(loop, &frame);
  ack(loop);
}

void retry_loop_end(struct retry_loop* loop) {
  disconnect(loop->connection);
  free(loop->assembled);
  free(loop->exchanges);
}
