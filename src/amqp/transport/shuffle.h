#ifndef RETRYQ_SRC_AMQP_TRANSPORT_SHUFFLE_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_SHUFFLE_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "retryq/random.h"

namespace retryq::amqp {

// Puts `items` in an order of which each is as likely as any other (Fisher and Yates). The bias of
// the remainder is beyond measure for lists that fit into memory.
template <typename T>
void Shuffle(std::vector<T>* items, Random& random) {
  for (std::size_t left = items->size(); left > 1; --left) {
    std::swap((*items)[random.Next() % left], (*items)[left - 1]);
  }
}

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_SHUFFLE_H_
