#include "cli/doctor/name_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace retryq::cli {
namespace {

PCRE2_SPTR BytesOf(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

void NamePattern::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }

std::optional<NamePattern> NamePattern::Create(std::string_view expression) {
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* const code =
      pcre2_compile(BytesOf(expression), expression.size(), 0, &error, &at, nullptr);
  if (code == nullptr) return std::nullopt;
  return NamePattern(code);
}

bool NamePattern::IsFoundIn(std::string_view name) const {
  pcre2_match_data* const match = pcre2_match_data_create_from_pattern(code_.get(), nullptr);
  const int found = pcre2_match(code_.get(), BytesOf(name), name.size(), 0, 0, match, nullptr);
  pcre2_match_data_free(match);
  return found >= 0;
}

}  // namespace retryq::cli
