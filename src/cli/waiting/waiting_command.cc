#include "cli/waiting/waiting_command.h"

#include "cli/waiting/waiting_actions.h"
#include "cli/waiting/waiting_queues.h"

namespace retryq::cli {

MessagesResult RunWaitingCommand(const WaitingOptions& options) {
  const absl::StatusOr<WaitingPlace> place = FindWaiting(options);
  if (!place.ok()) return {.status = place.status()};
  switch (options.action) {
    case WaitingAction::kList:
      return ListWaiting(options, *place);
    case WaitingAction::kShow:
      return ShowWaiting(options, *place);
    case WaitingAction::kRelease:
    case WaitingAction::kPark:
    case WaitingAction::kDrop:
      return TakeWaiting(options, *place);
  }
  return {};
}

}  // namespace retryq::cli
