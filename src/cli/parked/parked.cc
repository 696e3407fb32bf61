#include "cli/parked/parked.h"

#include "cli/parked/parked_drop.h"
#include "cli/parked/parked_edit.h"
#include "cli/parked/parked_list.h"
#include "cli/parked/parked_replay.h"
#include "cli/parked/parked_show.h"

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
