#ifndef RETRYQ_TEST_UNIT_ALLOCATIONS_COUNTED_ALLOCATIONS_H_
#define RETRYQ_TEST_UNIT_ALLOCATIONS_COUNTED_ALLOCATIONS_H_

#include <cstdint>

namespace retryq {

// Calls of `operator new` on this thread so far. This executable replaces it, which is why these
// tests have one of their own.
std::uint64_t CountedAllocations();

}  // namespace retryq

#endif  // RETRYQ_TEST_UNIT_ALLOCATIONS_COUNTED_ALLOCATIONS_H_
