#ifndef RETRYQ_BROKER_RANDOM_H_
#define RETRYQ_BROKER_RANDOM_H_

#include <cstdint>

#include "retryq/export.h"

namespace retryq {

// The source of randomness for jitter and message ids.
class RETRYQ_EXPORT Random {
 public:
  virtual ~Random() = default;

  // 64 uniformly distributed bits. Called on the loop's thread only.
  virtual std::uint64_t Next() = 0;
};

}  // namespace retryq

#endif  // RETRYQ_BROKER_RANDOM_H_
