/* Consume and ack: the loop that retryq's success path is compared with.

   success_path URL QUEUE WARMUP MESSAGES PREFETCH */

#include <stdlib.h>

#include "loop_client.h"

int main(int argc, char** argv) {
  const struct arguments arguments = parse_arguments(argc, argv, 1, " PREFETCH");
  const uint16_t prefetch = (uint16_t)atoi(arguments.more[0]);
  if (prefetch == 0) die("the prefetch is at least 1");
  /* Acks are sent when nothing more has been read, and before the prefetch limit stops the flow. */
  const uint64_t most_unacked = prefetch / 4;
  amqp_connection_state_t connection = connect_to(arguments.url);
  consume(connection, arguments.queue, prefetch);

  const uint64_t last = arguments.warmup + arguments.messages;
  struct usage begin = usage_now();
  uint64_t before = 0; /* messages done when it began */
  uint64_t handled = 0;
  uint64_t acked = 0;
  uint64_t missing = 0; /* bytes of the body that are not read yet */
  while (acked < last) {
    amqp_frame_t frame;
    read_frame(connection, &frame);
    if (frame.frame_type == AMQP_FRAME_HEADER) {
      missing = frame.payload.properties.body_size;
    } else if (frame.frame_type == AMQP_FRAME_BODY) {
      missing -= frame.payload.body_fragment.len;
    } else if (frame.payload.method.id != AMQP_BASIC_DELIVER_METHOD) {
      die("neither a delivery nor content");
    }
    if (frame.frame_type != AMQP_FRAME_METHOD && missing == 0) {
      ++handled; /* delivery tags count up from 1 */
      amqp_maybe_release_buffers_on_channel(connection, 1);
    }
    if (handled > acked && (handled - acked >= most_unacked || !has_frame(connection))) {
      if (amqp_basic_ack(connection, 1, handled, /*multiple=*/1) != AMQP_STATUS_OK)
        die("basic.ack");
      acked = handled;
    }
    if (before == 0 && acked >= arguments.warmup) {
      before = acked;
      begin = usage_now();
    }
  }
  const struct usage end = usage_now();
  print_usage(last - before, &begin, &end);
  disconnect(connection);
  return EXIT_SUCCESS;
}
