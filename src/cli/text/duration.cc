#include "cli/text/duration.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kLongestDuration = absl::Hours(24 * 365 * 100);

struct Unit {
  std::string_view name;
  absl::Duration length;
};

// From long to short, the order of printing.
constexpr std::array<Unit, 5> kUnits = {{{"d", absl::Hours(24)},
                                         {"h", absl::Hours(1)},
                                         {"m", absl::Minutes(1)},
                                         {"s", absl::Seconds(1)},
                                         {"ms", absl::Milliseconds(1)}}};

// Removes and returns the longest prefix of `text` with characters of `set` only.
std::string_view TakeFront(std::string_view& text, std::string_view set) {
  const std::string_view front = text.substr(0, std::min(text.find_first_not_of(set), text.size()));
  text.remove_prefix(front.size());
  return front;
}

std::string_view Trim(std::string_view text) {
  const absl::string_view trimmed = absl::StripAsciiWhitespace({text.data(), text.size()});
  return {trimmed.data(), trimmed.size()};
}

// Formats with at most `digits` decimals and without trailing zeros.
std::string Trimmed(double number, int digits) {
  std::string text = absl::StrFormat("%.*f", digits, number);
  if (digits == 0) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

// absl::ParseDuration does not accept days, but signs, blanks, infinity, `us`, `.5s` and `5.s`.
std::optional<absl::Duration> ParseDuration(std::string_view text) {
  if (text == "0") return absl::ZeroDuration();
  if (text.empty()) return std::nullopt;
  absl::Duration sum;
  while (!text.empty()) {
    const std::string number(TakeFront(text, "0123456789."));
    const std::string unit(TakeFront(text, "dhms"));
    const bool days = unit == "d";
    absl::Duration part;
    if (number.empty() || number.front() == '.' || number.back() == '.' || unit.empty() ||
        !absl::ParseDuration(number + (days ? "h" : unit), &part)) {
      return std::nullopt;
    }
    sum += days ? 24 * part : part;
    if (sum > kLongestDuration) return std::nullopt;
  }
  return absl::Floor(sum, absl::Microseconds(1));
}

std::string DurationText(absl::Duration duration) {
  absl::Duration rest = std::max(duration, absl::ZeroDuration());
  std::string text;
  for (const Unit& unit : kUnits) {
    const std::int64_t count = absl::IDivDuration(rest, unit.length, &rest);
    if (count > 0) text.append(std::to_string(count)).append(unit.name);
  }
  return text.empty() ? "0s" : text;
}

std::optional<absl::Duration> ParseDelayLine(std::string_view name, std::string_view line) {
  line = Trim(line);
  if (!absl::StartsWithIgnoreCase({line.data(), line.size()}, {name.data(), name.size()})) {
    return std::nullopt;
  }
  line = line.substr(name.size());
  if (!line.starts_with(':')) return std::nullopt;
  const std::string value(Trim(line.substr(1)));
  if (const std::optional<absl::Duration> delay = ParseDuration(value)) return delay;
  return ParseDuration(value + "s");
}

std::string NumberText(double number) {
  if (number < 10) return Trimmed(number, 2);
  if (number < 9'999.5) return Trimmed(number, number < 100 ? 1 : 0);
  if (number < 999'950) return absl::StrCat(Trimmed(number / 1e3, 1), "k");
  if (number < 999'950'000) return absl::StrCat(Trimmed(number / 1e6, 1), "M");
  return absl::StrCat(Trimmed(number / 1e9, 1), "G");
}

}  // namespace retryq::cli
