#ifndef RETRYQ_TEST_SUPPORT_CONSUME_H_
#define RETRYQ_TEST_SUPPORT_CONSUME_H_

#include <utility>

#include "retryq/client.h"

namespace retryq::testing {

// A consumer. Throws, with the status, if the client refuses it.
template <typename SomeHandler>
Consumer Consume(Client& client, ConsumerOptions options, SomeHandler handler) {
  return client.Consume(std::move(options), std::move(handler)).value();
}

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_CONSUME_H_
