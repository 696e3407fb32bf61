#ifndef RETRYQ_TEST_FAULT_MESSAGE_NAME_H_
#define RETRYQ_TEST_FAULT_MESSAGE_NAME_H_

#include <charconv>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace retryq::fault {

// What the body of a message says: its number, and how often the producer had published that before
// without learning whether it arrived. Written "17.0".
struct MessageName {
  std::uint64_t number = 0;
  std::uint64_t repetition = 0;

  std::string Text() const { return std::to_string(number) + "." + std::to_string(repetition); }

  static std::optional<MessageName> Parse(std::string_view text) {
    MessageName name;
    const char* const end = text.data() + text.size();
    const auto [dot, error] = std::from_chars(text.data(), end, name.number);
    if (error != std::errc() || dot == end || *dot != '.') return std::nullopt;
    const auto [rest, second_error] = std::from_chars(dot + 1, end, name.repetition);
    if (second_error != std::errc() || rest != end) return std::nullopt;
    return name;
  }

  friend auto operator<=>(const MessageName&, const MessageName&) = default;
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_MESSAGE_NAME_H_
