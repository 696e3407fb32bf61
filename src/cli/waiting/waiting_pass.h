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

// Reads a delay queue once and acts on the matching messages that wait there for the work queue.
// Messages cannot come due while they are held, so the pass ends after some seconds. Messages that
// stay keep their position, as they would otherwise delay messages that are due earlier.
class WaitingPass : public MessagePass {
 public:
  // The arguments must outlive it.
  WaitingPass(const WaitingOptions& options, const WaitingQueue& queue,
              const MessageChoice& choice);

  // Returns the errors of MessageReader::Run; a queue that has expired meanwhile counts as empty.
  // Call it once.
  absl::Status Run();

  // The number of seen messages that wait for the work queue.
  std::uint64_t waiting() const { return waiting_; }

  // The highest number of returns of a message that stays, including this pass. 0 if the queue does
  // not count them.
  std::int64_t returns() const { return returns_; }

 protected:
  const WaitingQueue& queue() const { return queue_; }
  const WaitingOptions& options() const { return options_; }

 private:
  bool IsCandidate(const amqp::Message& message) final;
  // Continues: a quorum queue that is read only in part gets out of order.
  void OnLimit() final {}
  bool TakesAllInOrder() const;

  const WaitingOptions& options_;
  const WaitingQueue& queue_;
  const MessageChoice& choice_;
  std::uint64_t waiting_ = 0;
  std::int64_t returns_ = 0;
};

// The sum of the passes through all delay queues of a work queue.
struct WaitingSum {
  const WaitingOptions& options;
  const WaitingPlace& place;
  std::uint64_t waiting = 0;
  std::uint64_t matched = 0;
  std::uint64_t queues = 0;           // with messages that wait for the work queue
  std::vector<std::string> problems;  // with their remedies

  void Add(const WaitingPass& pass);
  // Notes messages that the pass could not see. Call it for the last pass through a queue.
  void NoteUnseen(const WaitingPass& pass, const WaitingQueue& queue);

  // Messages can wait for a deleted work queue. If none do, its name is probably wrong.
  bool finds_nothing() const { return waiting == 0 && !place.has_work_queue; }

  // Returns `status` with all problems, one per line.
  absl::Status StatusWith(const absl::Status& status) const;
};

// Warns on stderr if messages of this queue have been read so often that a few more reads would
// send them to the work queue early.
void WarnOfLimit(const WaitingQueue& queue, std::int64_t returns);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WAITING_WAITING_PASS_H_
