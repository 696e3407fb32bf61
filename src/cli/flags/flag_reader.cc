#include "cli/flags/flag_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

std::string Refusal(std::string_view flag, const std::string& text,
                    std::string_view what_it_takes) {
  return std::string(flag).append(" '").append(text).append("': ").append(what_it_takes);
}

// The library names fields of its option structs, but the user knows flags.
std::string ComplaintInWordsOfFlags(std::string complaint) {
  constexpr std::pair<std::string_view, std::string_view> kFlags[] = {
      {"retry.backoff.base", "--base"},
      {"retry.backoff.step", "--step"},
      {"retry.backoff.delays", "--delays"},
      {"retry.backoff.factor", "--factor"},
      {"retry.backoff.max", "--max"},
      {"retry.backoff.jitter", "--jitter"},
      {"retry.max_attempts", "--max-attempts"},
      {"retry.max_age", "--max-age"},
      {"retry.earlier_counts", "--earlier-count"},
      {"breaker.calls", "--breaker-calls"},
      {"breaker.ratio", "--breaker-ratio"},
      {"breaker.pause", "--breaker-pause"},
      {"breaker.probes", "--breaker-probes"},
      {"delay_queues.prefix", "--prefix"},
      {"delay_queues.margin", "--margin"},
      {"delay_queues.max_delay_queues", "--max-delay-queues"},
      {"delay_queues.outage", "--outage"},
      {"delay_queues.max_length_bytes", "--max-length-bytes"},
      {"delay_queues.max_length", "--max-length"},
      {"former_queues", "--former-queue"},
      {"consumer_timeout", "--consumer-timeout"},
      {"max_body", "--max-body"},
      {"work_exchange", "--work-exchange"},
      {"parked_queue", "--parked"},
      {"queue", "--queue"},
  };
  for (const auto& [field, flag] : kFlags) {
    if (complaint.starts_with(field)) return complaint.replace(0, field.size(), flag);
  }
  return complaint;
}

}  // namespace

absl::Status InWordsOfFlags(const absl::Status& status) {
  std::vector<std::string> complaints = absl::StrSplit(std::string(status.message()), "; ");
  for (std::string& complaint : complaints) {
    complaint = ComplaintInWordsOfFlags(std::move(complaint));
  }
  return {status.code(), absl::StrJoin(complaints, "\n")};
}

template <typename Meaning, std::size_t kCount>
void FlagReader::ReadWord(std::string_view flag, const FlagText& text,
                          const std::array<std::pair<std::string_view, Meaning>, kCount>& words,
                          std::string_view what_it_takes, Meaning* value) {
  if (!text) return;
  for (const auto& [word, meaning] : words) {
    if (*text != word) continue;
    *value = meaning;
    return;
  }
  Complain(Refusal(flag, *text, what_it_takes));
}

void FlagReader::Read(std::string_view flag, const FlagText& text, absl::Duration* value) {
  if (!text) return;
  if (const std::optional<absl::Duration> duration = ParseDuration(*text)) {
    *value = *duration;
  } else {
    Complain(Refusal(flag, *text, "write a duration such as 500ms, 30s, 10m, 1h30m or 1d"));
  }
}

void FlagReader::Read(std::string_view flag, const FlagText& text,
                      std::vector<absl::Duration>* values) {
  if (!text) return;
  std::vector<absl::Duration> read;
  for (const absl::string_view part : absl::StrSplit(*text, ',')) {
    const std::optional<absl::Duration> duration = ParseDuration({part.data(), part.size()});
    if (!duration) {
      Complain(Refusal(flag, *text, "write durations with commas between them, such as 1s,10s,5m"));
      return;
    }
    read.push_back(*duration);
  }
  *values = std::move(read);
}

void FlagReader::Read(std::string_view flag, const FlagText& text, double* value) {
  if (!text) return;
  double number = 0;
  if (absl::SimpleAtod(*text, &number) && std::isfinite(number)) {
    *value = number;
  } else {
    Complain(Refusal(flag, *text, "write a number such as 2 or 1.5"));
  }
}

void FlagReader::Read(std::string_view flag, const FlagText& text, OnLimit* value) {
  constexpr std::array<std::pair<std::string_view, OnLimit>, 3> kWords = {
      {{"park", OnLimit::kPark}, {"reject", OnLimit::kReject}, {"discard", OnLimit::kDiscard}}};
  ReadWord(flag, text, kWords, "write park, reject or discard", value);
}

void FlagReader::Read(std::string_view flag, const FlagText& text, QueueType* value) {
  constexpr std::array<std::pair<std::string_view, QueueType>, 2> kWords = {
      {{"classic", QueueType::kClassic}, {"quorum", QueueType::kQuorum}}};
  ReadWord(flag, text, kWords, "write classic or quorum", value);
}

void FlagReader::Read(std::string_view flag, const FlagText& text, CountRedeliveries* value) {
  constexpr std::array<std::pair<std::string_view, CountRedeliveries>, 3> kWords = {
      {{"counted", CountRedeliveries::kWhereCounted},
       {"always", CountRedeliveries::kAlways},
       {"never", CountRedeliveries::kNever}}};
  ReadWord(flag, text, kWords, "write counted, always or never", value);
}

void FlagReader::Read(std::string_view flag, const FlagText& text, Severity* value) {
  constexpr std::array<std::pair<std::string_view, Severity>, 4> kWords = {
      {{"debug", Severity::kDebug},
       {"info", Severity::kInfo},
       {"warning", Severity::kWarning},
       {"error", Severity::kError}}};
  ReadWord(flag, text, kWords, "write debug, info, warning or error", value);
}

void FlagReader::Read(std::string_view flag, const FlagText& text, std::string* value) {
  if (!text) return;
  if (text->empty()) {
    Complain(std::string(flag).append(" '': must not be empty; leave it out for the default"));
  } else {
    *value = *text;
  }
}

bool FlagReader::ReadNumber(std::string_view flag, const FlagText& text, std::uint64_t min,
                            std::uint64_t max, std::uint64_t* value) {
  if (!text) return false;
  const char* const end = text->data() + text->size();
  const auto [stopped, error] = std::from_chars(text->data(), end, *value);
  const bool is_number = error == std::errc() && stopped == end && !text->empty();
  if (is_number && *value >= min && *value <= max) return true;
  Complain(Refusal(flag, *text, absl::StrCat("write a whole number from ", min, " to ", max)));
  return false;
}

void FlagReader::ReadSize(std::string_view flag, const FlagText& text, std::uint64_t max,
                          std::uint64_t* value) {
  if (!text) return;
  constexpr std::pair<std::string_view, int> kUnits[] = {
      {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"", 0}};
  for (const auto& [unit, shift] : kUnits) {
    std::uint64_t number = 0;
    const char* const end = text->data() + text->size() - std::min(text->size(), unit.size());
    if (!text->ends_with(unit)) continue;
    const auto [stopped, error] = std::from_chars(text->data(), end, number);
    if (error != std::errc() || stopped != end || number == 0 || number > max >> shift) break;
    *value = number << shift;
    return;
  }
  Complain(Refusal(flag, *text,
                   absl::StrCat("write a number of bytes above 0, such as 1000, 64KiB or 64MiB, "
                                "and at most ",
                                max >> 20, "MiB")));
}

void FlagReader::Require(std::string_view flag, std::string_view hint) {
  if (!given(flag)) Complain(std::string(flag).append(" is required: ").append(hint));
}

bool FlagReader::RefuseTogether(std::string_view flag, std::string_view other,
                                std::string_view why) {
  return !given(other) || Refuse(flag, other, why);
}

bool FlagReader::Refuse(std::string_view flag, std::string_view other, std::string_view why) {
  if (!given(flag)) return true;
  std::string complaint = std::string(flag).append(" cannot be combined with ").append(other);
  if (!why.empty()) complaint.append(", ").append(why);
  Complain(std::move(complaint));
  return false;
}

bool FlagReader::RequireFor(std::string_view flag, bool condition,
                            std::string_view condition_text) {
  if (!given(flag) || condition) return true;
  Complain(std::string(flag).append(" requires ").append(condition_text));
  return false;
}

void FlagReader::Complain(const absl::Status& status) {
  if (!status.ok()) Complain(std::string(InWordsOfFlags(status).message()));
}

absl::Status FlagReader::status() const {
  if (complaints_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(complaints_, "\n"));
}

}  // namespace retryq::cli
