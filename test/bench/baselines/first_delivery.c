/* How long a bare connection takes to its first delivery.

   first_delivery URL QUEUE */

#include <stdio.h>
#include <stdlib.h>

#include "loop_client.h"
#include "workload.h"

int main(int argc, char** argv) {
  if (argc != 3) die("usage: first_delivery URL QUEUE");
  const double begin = seconds_now();
  amqp_connection_state_t connection = connect_to(argv[1]);
  consume(connection, argv[2], kPrefetch);
  amqp_frame_t frame;
  do {
    read_frame(connection, &frame);
  } while (frame.frame_type ==
           AMQP_FRAME_METHOD); /* basic.deliver; an empty body follows its header */
  printf("{\"seconds\":%.6f}\n", seconds_now() - begin);
  disconnect(connection);
  return EXIT_SUCCESS;
}
