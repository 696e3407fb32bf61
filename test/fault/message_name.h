#ifndef RETRYQ_TEST_FAULT_MESSAGE_NAME_H_
#define RETRYQ_TEST_FAULT_MESSAGE_NAME_H_

#include <charconv>
#include <compare>

#include "support/standard.h"

namespace retryq::fault {

// The kind of a message; each kind is numbered and counted separately.
enum class Kind {
  kOrder,       // of the work queue that the fault affects
  kUnaffected,  // of the second work queue
  kPoison,      // among the orders: kills workers, or has headers that no honest publisher writes
};
inline constexpr std::size_t kKinds = 3;

// The contents of a body: the kind and the number of the message, and how often the producer had
// published it before without learning whether it arrived. Written "17.0", "i17.0" or "x17.0".
struct MessageName {
  Kind kind = Kind::kOrder;
  std::uint64_t number = 0;
  std::uint64_t repetition = 0;

  std::string Text() const {
    return std::string(Letter(kind)) + std::to_string(number) + "." + std::to_string(repetition);
  }

  static std::optional<MessageName> Parse(std::string_view text) {
    MessageName name;
    for (const Kind kind : {Kind::kUnaffected, Kind::kPoison}) {
      if (text.starts_with(Letter(kind))) name.kind = kind;
    }
    text.remove_prefix(Letter(name.kind).size());
    const char* const end = text.data() + text.size();
    const auto [dot, error] = std::from_chars(text.data(), end, name.number);
    if (error != std::errc() || dot == end || *dot != '.') return std::nullopt;
    const auto [rest, second_error] = std::from_chars(dot + 1, end, name.repetition);
    if (second_error != std::errc() || rest != end) return std::nullopt;
    return name;
  }

  friend auto operator<=>(const MessageName&, const MessageName&) = default;

 private:
  static constexpr std::string_view Letter(Kind kind) {
    return kind == Kind::kUnaffected ? "i" : kind == Kind::kPoison ? "x" : "";
  }
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_MESSAGE_NAME_H_
