#ifndef RETRYQ_CLI_PARKED_PARKED_PASS_H_
#define RETRYQ_CLI_PARKED_PARKED_PASS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "cli/messages/message_pass.h"
#include "cli/parked/parked_command.h"

namespace retryq::cli {

// Reads a parked queue once.
class ParkedPass : public MessagePass {
 public:
  // The options must outlive it.
  ParkedPass(const ParkedOptions& options, std::uint16_t window);

  // Returns the errors of MessagePass::Run, or kFailedPrecondition, without touching a message, for
  // a queue that might drop messages that are only read. Call it once.
  absl::Status Run();

  // Returns `status`; if that is ok, an error if other consumers have messages that could not be
  // seen.
  absl::Status WithUnseen(absl::Status status) const;

  // The number of messages that match but stay, as retryq did not park them.
  std::uint64_t foreign() const { return foreign_; }
  std::string WhyForeignStay() const;

 private:
  bool MayBeTaken(const amqp::Message& message) final;

  const ParkedOptions& options_;
  const std::uint16_t window_;
  const bool ours_only_;
  std::uint64_t foreign_ = 0;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_PASS_H_
