#ifndef RETRYQ_TEST_FUZZ_CHECK_H_
#define RETRYQ_TEST_FUZZ_CHECK_H_

#include <cstdio>
#include <cstdlib>

namespace retryq {

// Ends a fuzzer's run if `claim` is false, so that the input is kept.
inline void Check(bool claim, const char* text) {
  if (claim) return;
  std::fprintf(stderr, "does not hold: %s\n", text);
  std::abort();
}

}  // namespace retryq

#endif  // RETRYQ_TEST_FUZZ_CHECK_H_
