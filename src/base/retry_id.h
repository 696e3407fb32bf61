#ifndef RETRYQ_SRC_BASE_RETRY_ID_H_
#define RETRYQ_SRC_BASE_RETRY_ID_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace retryq {

// The id that retryq gives a message without one: 128 random bits in hex.
class RetryId {
 public:
  // `high` and `low`: random bits.
  RetryId(std::uint64_t high, std::uint64_t low) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::size_t i = 0;
    for (const std::uint64_t bits : {high, low}) {
      for (int shift = 60; shift >= 0; shift -= 4) digits_[i++] = kDigits[bits >> shift & 0xF];
    }
  }

  // Valid as long as this object exists.
  std::string_view text() const { return {digits_.data(), digits_.size()}; }

 private:
  std::array<char, 32> digits_;
};

// Whether the text has the form of a RetryId.
inline bool IsRetryId(std::string_view text) {
  return text.size() == 32 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace retryq

#endif  // RETRYQ_SRC_BASE_RETRY_ID_H_
