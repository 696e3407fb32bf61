#ifndef RETRYQ_CLI_TEXT_WAITING_H_
#define RETRYQ_CLI_TEXT_WAITING_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "retryq/timers.h"

namespace retryq::cli {

// The remedy for a broker that cannot be reached, by the reason.
std::string UnreachableRemedy(std::string_view why);

// A wait of a command, during the lifetime of the object. If it takes longer than two seconds it is
// reported with the reason, and again every ten seconds.
class Waiting {
 public:
  using Say = std::function<void(const std::string& text)>;

  // `what` is the object that the command waits for. `timers` must outlive it.
  Waiting(Timers& timers, std::string what, Say say = OnStderr);

  // Sets the reason for the wait; the last one counts.
  void Because(std::string_view why) { why_ = why; }

  // "retryq: waiting for …"
  static void OnStderr(const std::string& text);

 private:
  void SayAfter(absl::Duration pause);

  Timers& timers_;
  const std::string what_;
  const Say say_;
  std::string why_ = "no answer yet";
  std::unique_ptr<Timer> timer_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_WAITING_H_
