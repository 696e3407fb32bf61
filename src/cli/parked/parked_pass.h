#ifndef RETRYQ_CLI_PARKED_PARKED_PASS_H_
#define RETRYQ_CLI_PARKED_PARKED_PASS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "cli/messages/message_pass.h"
#include "cli/parked/parked_command.h"

namespace retryq::cli {

// One way through a parked queue.
class ParkedPass : public MessagePass {
 public:
  // The options must outlive it.
  ParkedPass(const ParkedOptions& options, std::uint16_t window);

  // Errors as MessagePass::Run has them, and kFailedPrecondition, with nothing touched, for a queue
  // that might drop what is looked at. Once.
  absl::Status Run();

  // The same status; where that is ok, that messages could not be seen.
  absl::Status WithUnseen(absl::Status status) const;

  // Those that would be meant, to be replayed or dropped, if retryq had parked them. They stay.
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
