#ifndef RETRYQ_CLI_PARKED_PARKED_REPLAY_H_
#define RETRYQ_CLI_PARKED_PARKED_REPLAY_H_

#include "cli/messages/message_pass.h"
#include "cli/parked/parked_options.h"
#include "cli/parked/replacement.h"

namespace retryq::cli {

// Publishes the parked messages that match to where they failed or where the options say, and takes
// each off the parked queue once its copy is confirmed and was not returned. Whatever else happens
// to a copy, its original stays, and the status says why.
MessagesResult ReplayParked(const ParkedOptions& options);

// The same for the one message that matches, and with what replaces it. kNotFound where that is not
// there, or not the same any more.
MessagesResult ReplaceParked(const ParkedOptions& options, const Replacement& replacement);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_REPLAY_H_
