#ifndef RETRYQ_CLI_WAITING_WAITING_OPTIONS_H_
#define RETRYQ_CLI_WAITING_WAITING_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/management/management_flags.h"
#include "cli/messages/message_pass.h"
#include "cli/messages/message_row.h"
#include "cli/messages/message_text.h"

namespace retryq::cli {

enum class WaitingAction { kList, kShow, kRelease, kPark, kDrop };

// What `list` counts instead of listing.
enum class WaitingCount { kNone, kError, kAttempt, kDue };

// What `retryq waiting` is asked to do.
struct WaitingOptions {
  WaitingAction action = WaitingAction::kList;
  BrokerPlace place;
  std::string work_queue;
  std::string parked_queue;  // where `park` parks them
  std::string prefix;        // of the delay queues
  MessageChoice choice;
  bool json = false;
  WaitingCount by = WaitingCount::kNone;
  Columns columns;  // list: properties and headers to show besides
  BodyFormat body = BodyFormat::kAuto;
  double rate = 0;             // a second; 0 = no limit
  std::uint16_t window = 256;  // copies that are unconfirmed at a time
  bool dry_run = false;
  bool ask = false;  // on the terminal, before anything is taken
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_OPTIONS_H_
