#ifndef RETRYQ_SRC_AMQP_TRANSPORT_SHUFFLE_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_SHUFFLE_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "retryq/broker/random.h"

namespace retryq::amqp {

// Shuffles `items` so that all orders are equally likely (Fisher and Yates). The bias of the
// remainder is not measurable for lists that fit into memory.
template <typename T>
void Shuffle(std::vector<T>* items, Random& random) {
  for (std::size_t left = items->size(); left > 1; --left) {
    std::swap((*items)[random.Next() % left], (*items)[left - 1]);
  }
}

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_SHUFFLE_H_
