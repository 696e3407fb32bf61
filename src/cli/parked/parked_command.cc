#include "cli/parked/parked_command.h"

#include "cli/parked/parked_actions.h"

namespace retryq::cli {

MessagesResult Parked(const ParkedOptions& options) {
  switch (options.action) {
    case ParkedAction::kList:
      return ListParked(options);
    case ParkedAction::kShow:
      return ShowParked(options);
    case ParkedAction::kReplay:
      return ReplayParked(options);
    case ParkedAction::kEdit:
      return EditParked(options);
    case ParkedAction::kDrop:
      return DropParked(options);
  }
  return {};
}

}  // namespace retryq::cli
