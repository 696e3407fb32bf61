#ifndef RETRYQ_SRC_RETRY_DELIVERY_HEADER_FIELDS_H_
#define RETRYQ_SRC_RETRY_DELIVERY_HEADER_FIELDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "base/name_size.h"
#include "retry/delivery/headers.h"
#include "retryq/amqp/message.h"
#include "retryq/amqp/table.h"

namespace retryq {

// A header of a message; nullopt if it is missing.
using HeaderField = std::optional<amqp::FieldView>;

// The headers of a message that state its history, found in one walk. Of headers with the same
// name, the first counts. Anyone can send these headers, so their values are read by the functions
// below.
struct HeaderFields {
  // `names_of_counts`: RetryOptions::earlier_counts.
  HeaderFields(const amqp::Message& message, const std::vector<std::string>& names_of_counts);

  HeaderField count, first_failure, not_before, delay, queue, exchange, routing_key, error, id,
      remaining, elsewhere;
  RetryHeaders whose = RetryHeaders::kForeign;
  HeaderField delivery_count, acquired_count, death;
  std::vector<HeaderField> earlier_counts;  // in the order of `names_of_counts`

 private:
  HeaderField* OfBroker(std::string_view name);
  HeaderField* OfRetrying(std::string_view name);
};

// Return the value of a header; nullopt if it is missing, of another type, negative, or a name
// longer than AMQP allows.
inline std::optional<std::string_view> TextIn(const HeaderField& field) {
  return field ? field->AsString() : std::nullopt;
}

inline std::optional<std::string_view> NameIn(const HeaderField& field) {
  const std::optional<std::string_view> text = TextIn(field);
  return text && text->size() <= kMaxNameSize ? text : std::nullopt;
}

inline std::optional<std::int64_t> NaturalIn(const HeaderField& field) {
  const std::optional<std::int64_t> number = field ? field->AsInt64() : std::nullopt;
  return number >= 0 ? number : std::nullopt;
}

inline std::optional<absl::Time> TimeIn(const HeaderField& field) {
  const std::optional<std::int64_t> millis = NaturalIn(field);
  if (!millis) return std::nullopt;
  return absl::FromUnixMillis(*millis);
}

inline std::optional<absl::Duration> DurationIn(const HeaderField& field) {
  const std::optional<std::int64_t> millis = NaturalIn(field);
  if (!millis) return std::nullopt;
  return absl::Milliseconds(*millis);
}

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_DELIVERY_HEADER_FIELDS_H_
