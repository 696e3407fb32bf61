#ifndef RETRYQ_CLI_DOCTOR_NAME_PATTERN_H_
#define RETRYQ_CLI_DOCTOR_NAME_PATTERN_H_

#include <memory>
#include <optional>
#include <string_view>

struct pcre2_real_code_8;

namespace retryq::cli {

// A regular expression as RabbitMQ reads those of policies: Perl's, over bytes, and found anywhere
// in a name. Move-only.
class NamePattern {
 public:
  // Nothing where it is none; RabbitMQ takes no policy with such a pattern.
  static std::optional<NamePattern> Create(std::string_view expression);

  // False also where looking takes more steps than PCRE allows, as in RabbitMQ.
  bool IsFoundIn(std::string_view name) const;

 private:
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };

  explicit NamePattern(pcre2_real_code_8* code) : code_(code) {}

  std::unique_ptr<pcre2_real_code_8, Free> code_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_NAME_PATTERN_H_
