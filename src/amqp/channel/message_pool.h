#ifndef RETRYQ_SRC_AMQP_CHANNEL_MESSAGE_POOL_H_
#define RETRYQ_SRC_AMQP_CHANNEL_MESSAGE_POOL_H_

#include <memory>

#include "retryq/amqp/message.h"

namespace retryq::amqp {

// Messages that are used again, with the memory they have grown to: in steady state a delivery
// allocates nothing, where a message of its own takes four allocations.
//
// It keeps as many as were held at a time, so what bounds those (the prefetch) bounds it. Without
// -DRETRYQ_MESSAGE_POOL=ON each message is allocated by itself. test/bench/HOT_PATH.md has figures.
class MessagePool {
 public:
  MessagePool();
  ~MessagePool();
  MessagePool(const MessagePool&) = delete;
  MessagePool& operator=(const MessagePool&) = delete;

  // One that nobody else holds. It still says what the message before it said: the one that takes
  // it sets every field. The last handle may be dropped on any thread, and after the pool.
  std::shared_ptr<Message> Take();

 private:
  struct Node;
  class Shelf;
  template <typename T>
  class Within;

  const std::shared_ptr<Shelf> shelf_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_CHANNEL_MESSAGE_POOL_H_
