#include "cli/worker/command_handler.h"

#include <utility>

#include "cli/worker/child_environment.h"
#include "cli/worker/outcome_of_child.h"

namespace retryq::cli {
CommandHandler::CommandHandler(ChildRunner& children, Options options,
                               OnAvailability on_availability)
    : children_(children),
      options_(std::move(options)),
      on_availability_(std::move(on_availability)) {}

Outcome CommandHandler::Handle(const Delivery& delivery) {
  if (starts_no_more()) return Outcome::Requeue();
  const std::vector<std::string> environment =
      ChildEnvironment({.delivery = delivery,
                        .id = delivery.id(),
                        .failures = delivery.attempt(),
                        .last_error = delivery.last_error(),
                        .max_attempts = options_.max_attempts});
  const ChildSpec spec = {.command = options_.command,
                          .environment = environment,
                          .input = delivery.body(),
                          .timeout = options_.timeout};
  ChildResult result = children_.Run(spec);
  if (std::optional<std::string> why_not = WhyNotRun(result)) {
    AddWithoutCommand(1, std::move(why_not));
    while (WhyNotRun(result) && !starts_no_more() && !children_.WaitForEndAll(options_.recheck)) {
      result = children_.Run(spec);
    }
    AddWithoutCommand(-1, std::nullopt);
    if (WhyNotRun(result)) return Outcome::Requeue();
  }
  return OutcomeOf(result, options_.timeout);
}

void CommandHandler::StartNoMore() {
  const std::lock_guard<std::mutex> lock(mutex_);
  start_no_more_ = true;
}

void CommandHandler::AddWithoutCommand(int change, std::optional<std::string> why_not) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool before = without_command_ > 0;
  without_command_ += change;
  if (before != (without_command_ > 0)) on_availability_(std::move(why_not));
}

bool CommandHandler::starts_no_more() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return start_no_more_;
}

}  // namespace retryq::cli
