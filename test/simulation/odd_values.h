#ifndef RETRYQ_TEST_SIMULATION_ODD_VALUES_H_
#define RETRYQ_TEST_SIMULATION_ODD_VALUES_H_

#include "amqp/codec/properties_codec.h"
#include "retryq/amqp/table.h"
#include "retryq/testing/seeded_random.h"
#include "support/test.h"

namespace retryq::simulation {

template <typename T>
T OneOf(testing::SeededRandom& random, const std::vector<T>& values) {
  return values[random.Below(values.size())];
}

inline absl::Duration OddDuration(testing::SeededRandom& random) {
  return OneOf<absl::Duration>(
      random, {absl::ZeroDuration(), -absl::Seconds(1), absl::Nanoseconds(1), absl::Milliseconds(3),
               absl::Seconds(2), absl::Minutes(5), absl::Hours(24 * 365 * 300),
               absl::InfiniteDuration(), -absl::InfiniteDuration()});
}

inline std::string OddText(testing::SeededRandom& random) {
  return OneOf<std::string>(random, {"", "one", "two", "full", "nowhere", "key",
                                     std::string("a\0b", 3), std::string(300, 'x'), "\xff\xfe"});
}

inline std::uint64_t OddNumber(testing::SeededRandom& random) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return OneOf<std::uint64_t>(
      random, {0, 1, 2, 65535, 0xffffffff, 0x100000000, kMost / 2, kMost / 2 + 1, kMost});
}

inline double OddFraction(testing::SeededRandom& random) {
  return OneOf<double>(random, {0, -1, 0.5, 1, 2, 1e300, std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()});
}

// The value, alone or deep in tables and arrays.
inline amqp::Value AtAnyDepth(testing::SeededRandom& random, amqp::Value value) {
  while (random.OneIn(2)) {
    value = random.OneIn(2) ? amqp::Value(amqp::Array{true, std::move(value)})
                            : amqp::Value(amqp::Table{{"in", std::move(value)}, {"behind", true}});
  }
  return value;
}

// Headers that make the content header of a message with these properties this number of bytes
// long.
inline amqp::Table HeadersThatFill(std::size_t size, amqp::Properties properties = {}) {
  amqp::Table headers = {{"h", ""}};
  const std::string bytes = *headers.Encode();
  properties.headers = amqp::TableView(bytes);
  const std::size_t least = amqp::ContentHeaderSize(properties);
  if (size > least) headers.Set("h", std::string(size - least, 'h'));
  return headers;
}

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_ODD_VALUES_H_
