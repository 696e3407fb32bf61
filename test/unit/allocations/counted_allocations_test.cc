#include "unit/allocations/counted_allocations.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

namespace {

thread_local std::uint64_t allocations = 0;

void* Allocate(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace retryq {

std::uint64_t CountedAllocations() { return allocations; }

namespace {

TEST(CountedAllocations, CountsAllocations) {
  const std::uint64_t before = CountedAllocations();
  const auto text = std::make_unique<std::string>(100, 'x');
  EXPECT_EQ(CountedAllocations() - before, 2U);
}

}  // namespace
}  // namespace retryq
