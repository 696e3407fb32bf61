#include "cli/plot/number_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace retryq::cli {
namespace {

// Formats with at most `digits` decimals and without trailing zeros.
std::string Trimmed(double number, int digits) {
  std::string text = absl::StrFormat("%.*f", digits, number);
  if (digits == 0) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string NumberText(double number) {
  if (number < 10) return Trimmed(number, 2);
  if (number < 9'999.5) return Trimmed(number, number < 100 ? 1 : 0);
  if (number < 999'950) return absl::StrCat(Trimmed(number / 1e3, 1), "k");
  if (number < 999'950'000) return absl::StrCat(Trimmed(number / 1e6, 1), "M");
  return absl::StrCat(Trimmed(number / 1e9, 1), "G");
}

}  // namespace retryq::cli
