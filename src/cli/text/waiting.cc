#include "cli/text/waiting.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/escaped_text.h"
#include "cli/text/outlet.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kFirstReport = absl::Seconds(2);
constexpr absl::Duration kReportEvery = absl::Seconds(10);

// Parts of the library's errors and their remedies; the first match counts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kRemedies = {{
    {"open files", "raise the limit of open files (ulimit -n, LimitNOFILE= of a unit)"},
    {"its certificate",
     "give the broker a certificate that is valid for its host name in --url, or name the "
     "certificate authority to trust (?cacertfile=FILE)"},
    {"certificate", "check the certificates, and name the authority to trust (?cacertfile=FILE)"},
    {"TLS", "use the broker's port for TLS in --url (usually 5671), or amqp://"},
    {"cannot resolve", "correct the host name in --url, or check the name servers"},
    {"violates the protocol", "use the broker's AMQP port in --url or RETRYQ_URL (usually 5672)"},
    {"is it a RabbitMQ", "use the broker's AMQP port in --url or RETRYQ_URL (usually 5672)"},
}};

}  // namespace

std::string UnreachableRemedy(std::string_view why) {
  for (const auto& [part, remedy] : kRemedies) {
    if (why.find(part) != std::string_view::npos) return std::string(remedy);
  }
  return "start the broker, or name another one with --url or RETRYQ_URL";
}

Waiting::Waiting(Timers& timers, std::string what, Say say)
    : timers_(timers), what_(std::move(what)), say_(std::move(say)) {
  SayAfter(kFirstReport);
}

void Waiting::SayAfter(absl::Duration pause) {
  timer_ = timers_.After(pause, [this] {
    const std::unique_ptr<Timer> fired = std::move(timer_);
    say_(EscapedText(absl::StrCat("waiting for ", what_, ": ", why_)));
    SayAfter(kReportEvery);
  });
}

void Waiting::OnStderr(const std::string& text) {
  WriteErrors(absl::StrCat("retryq: ", text, "\n"));
}

}  // namespace retryq::cli
