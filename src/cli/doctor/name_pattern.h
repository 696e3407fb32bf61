#ifndef RETRYQ_CLI_DOCTOR_NAME_PATTERN_H_
#define RETRYQ_CLI_DOCTOR_NAME_PATTERN_H_

#include <memory>
#include <optional>
#include <string_view>

struct pcre2_real_code_8;

namespace retryq::cli {

// A regular expression as in RabbitMQ's policies: Perl syntax, over bytes, and matching anywhere in
// a name. Move-only.
class NamePattern {
 public:
  // Returns nullopt if it is invalid; RabbitMQ accepts no policy with an invalid pattern.
  static std::optional<NamePattern> Create(std::string_view expression);

  // Also false if the match takes more steps than PCRE allows, as in RabbitMQ.
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
