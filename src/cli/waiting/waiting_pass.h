#ifndef RETRYQ_CLI_WAITING_WAITING_PASS_H_
#define RETRYQ_CLI_WAITING_WAITING_PASS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/messages/message_pass.h"
#include "cli/waiting/waiting_command.h"
#include "cli/waiting/waiting_queues.h"

namespace retryq::cli {

// One way through a delay queue, with an eye for what waits there for the work queue. Messages that
// are looked at cannot come due meanwhile, so it ends after some seconds; and what stays is put
// back where it was, as it would else hold up what comes due before it.
class WaitingPass : public MessagePass {
 public:
  // All must outlive it.
  WaitingPass(const WaitingOptions& options, const WaitingQueue& queue,
              const MessageChoice& choice);

  // Errors as MessageReader::Run has them; a queue that has expired meanwhile is empty. Once.
  absl::Status Run();

  // Those that wait for the work queue, of all that were seen.
  std::uint64_t waiting() const { return waiting_; }

  // The most that one of those that stay has been taken back, now included. 0 where nobody counts.
  std::int64_t returns() const { return returns_; }

 protected:
  const WaitingQueue& queue() const { return queue_; }
  const WaitingOptions& options() const { return options_; }

 private:
  bool IsCandidate(const amqp::Message& message) final;
  // Others are seen as well: a quorum queue that is read in part gets out of order.
  void OnLimit() final {}
  bool TakesAllInOrder() const;

  const WaitingOptions& options_;
  const WaitingQueue& queue_;
  const MessageChoice& choice_;
  std::uint64_t waiting_ = 0;
  std::int64_t returns_ = 0;
};

// What the passes through all delay queues of a work queue have found together.
struct WaitingSum {
  const WaitingOptions& options;
  const WaitingPlace& place;
  std::uint64_t waiting = 0;
  std::uint64_t matched = 0;
  std::uint64_t queues = 0;           // with messages that wait for the work queue
  std::vector<std::string> problems;  // with their remedies

  void Add(const WaitingPass& pass);
  // For a pass that is not followed by another one.
  void NoteUnseen(const WaitingPass& pass, const WaitingQueue& queue);

  // Messages can wait for a queue that is gone; where none do, its name is more likely wrong.
  bool finds_nothing() const { return waiting == 0 && !place.has_work_queue; }

  // ok, or all problems behind `status`, a line each.
  absl::Status StatusWith(const absl::Status& status) const;
};

// On stderr, where messages of this queue have been looked at so often that a few more looks would
// send them to the work queue early.
void WarnOfLimit(const WaitingQueue& queue, std::int64_t returns);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_PASS_H_
