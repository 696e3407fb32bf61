#ifndef RETRYQ_CLI_FLAGS_FLAG_READER_H_
#define RETRYQ_CLI_FLAGS_FLAG_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "retryq/client.h"
#include "retryq/observer.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

// An error of the library's about its option structs, in the words of the flags; a line for each
// field.
absl::Status InWordsOfFlags(const absl::Status& status);

// Bytes of what has a name in AMQP: queues, exchanges, routing keys (its short strings).
inline constexpr std::size_t kLongestName = 255;

// What was given for a flag, if anything.
using FlagText = std::optional<std::string>;

// Turns the texts of flags into values. What is wrong is collected, so that a user hears of all of
// it at once; a value whose text is absent or wrong keeps its default.
class FlagReader {
 public:
  void Read(std::string_view flag, const FlagText& text, absl::Duration* value);
  void Read(std::string_view flag, const FlagText& text, double* value);
  // Durations with commas between them.
  void Read(std::string_view flag, const FlagText& text, std::vector<absl::Duration>* values);
  void Read(std::string_view flag, const FlagText& text, OnLimit* value);
  void Read(std::string_view flag, const FlagText& text, QueueType* value);
  void Read(std::string_view flag, const FlagText& text, CountRedeliveries* value);
  void Read(std::string_view flag, const FlagText& text, Severity* value);
  void Read(std::string_view flag, const FlagText& text, std::string* value);
  // A whole number from `min` to `max`.
  template <typename Number>
  void Read(std::string_view flag, const FlagText& text, std::uint64_t min, std::uint64_t max,
            Number* value) {
    std::uint64_t number = 0;
    if (ReadNumber(flag, text, min, max, &number)) *value = static_cast<Number>(number);
  }

  // A number of bytes above zero: 1000, 64KiB, 64MiB, 1GiB.
  void ReadSize(std::string_view flag, const FlagText& text, std::uint64_t max,
                std::uint64_t* value);

  void Complain(std::string what) { complaints_.push_back(std::move(what)); }
  // Takes what the library says of its options, if that is not ok.
  void Complain(const absl::Status& status);

  // ok, or kInvalidArgument with all complaints, a line each.
  absl::Status status() const;

 private:
  // One of some words.
  template <typename Meaning, std::size_t kCount>
  void ReadWord(std::string_view flag, const FlagText& text,
                const std::array<std::pair<std::string_view, Meaning>, kCount>& words,
                std::string_view what_it_takes, Meaning* value);
  bool ReadNumber(std::string_view flag, const FlagText& text, std::uint64_t min, std::uint64_t max,
                  std::uint64_t* value);

  std::vector<std::string> complaints_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_FLAGS_FLAG_READER_H_
