#ifndef RETRYQ_TEST_UNIT_ALLOCATIONS_COUNTED_ALLOCATIONS_H_
#define RETRYQ_TEST_UNIT_ALLOCATIONS_COUNTED_ALLOCATIONS_H_

#include <cstdint>

namespace retryq {

// Calls of `operator new` on this thread so far. Only this executable replaces it, so these tests
// are separate.
std::uint64_t CountedAllocations();

}  // namespace retryq

#endif  // RETRYQ_TEST_UNIT_ALLOCATIONS_COUNTED_ALLOCATIONS_H_
