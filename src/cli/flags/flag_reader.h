#ifndef RETRYQ_CLI_FLAGS_FLAG_READER_H_
#define RETRYQ_CLI_FLAGS_FLAG_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/name_size.h"
#include "retryq/client.h"
#include "retryq/observer.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

// Translates an error of the library about its option structs into the names of flags; one line per
// field.
absl::Status InWordsOfFlags(const absl::Status& status);

// The longest name in AMQP, in bytes: of queues, exchanges and routing keys (its short strings).
inline constexpr std::size_t kLongestName = kMaxNameSize;

// The text of a flag, if given.
using FlagText = std::optional<std::string>;

// Converts the texts of flags to values. Collects all errors, so that the user sees them at once. A
// value whose text is missing or wrong keeps its default.
class FlagReader {
 public:
  void Read(std::string_view flag, const FlagText& text, absl::Duration* value);
  void Read(std::string_view flag, const FlagText& text, double* value);
  // Reads durations separated by commas.
  void Read(std::string_view flag, const FlagText& text, std::vector<absl::Duration>* values);
  void Read(std::string_view flag, const FlagText& text, OnLimit* value);
  void Read(std::string_view flag, const FlagText& text, QueueType* value);
  void Read(std::string_view flag, const FlagText& text, CountRedeliveries* value);
  void Read(std::string_view flag, const FlagText& text, Severity* value);
  void Read(std::string_view flag, const FlagText& text, std::string* value);
  // Reads a whole number from `min` to `max`.
  template <typename Number>
  void Read(std::string_view flag, const FlagText& text, std::uint64_t min, std::uint64_t max,
            Number* value) {
    std::uint64_t number = 0;
    if (ReadNumber(flag, text, min, max, &number)) *value = static_cast<Number>(number);
  }

  // Reads a number of bytes above zero: 1000, 64KiB, 64MiB, 1GiB.
  void ReadSize(std::string_view flag, const FlagText& text, std::uint64_t max,
                std::uint64_t* value);

  // Whether the user gave the flag, such as "--max".
  bool given(std::string_view flag) const { return given_.contains(flag); }
  void SetGiven(const std::string& flag) { given_.insert(flag); }

  // Complains unless the flag is given: "--queue is required: " and the hint.
  void Require(std::string_view flag, std::string_view hint);
  // Complains if both are given: "--base cannot be combined with --delays". `why` may be empty.
  // Returns whether the two can be combined.
  bool RefuseTogether(std::string_view flag, std::string_view other, std::string_view why = "");
  // Complains if `flag` is given; `other` describes the value of another flag that excludes it,
  // such as "--backoff fixed". Returns whether it is not given.
  bool Refuse(std::string_view flag, std::string_view other, std::string_view why = "");
  // Complains if `flag` is given although its condition does not hold: "--outage requires
  // --queue-type quorum". Returns whether that is not so.
  bool RequireFor(std::string_view flag, bool condition, std::string_view condition_text);

  void Complain(std::string what) { complaints_.push_back(std::move(what)); }
  // Adds the library's errors about its options, if any.
  void Complain(const absl::Status& status);

  // Returns ok, or kInvalidArgument with all errors, one per line.
  absl::Status status() const;

 private:
  // Reads one of several words.
  template <typename Meaning, std::size_t kCount>
  void ReadWord(std::string_view flag, const FlagText& text,
                const std::array<std::pair<std::string_view, Meaning>, kCount>& words,
                std::string_view what_it_takes, Meaning* value);
  bool ReadNumber(std::string_view flag, const FlagText& text, std::uint64_t min, std::uint64_t max,
                  std::uint64_t* value);

  std::set<std::string, std::less<>> given_;
  std::vector<std::string> complaints_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_FLAG_READER_H_
