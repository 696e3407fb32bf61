#ifndef RETRYQ_SRC_RETRY_CLIENT_PENDING_DECLARE_H_
#define RETRYQ_SRC_RETRY_CLIENT_PENDING_DECLARE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "loop/alive.h"
#include "retry/client/pending_call.h"
#include "retryq/work_queue.h"

namespace retryq {

// A call of Client::Declare. If the connection is lost each time, the declaration is assumed to be
// the cause.
class PendingDeclare final : public PendingCall {
 public:
  // The work queue must be valid.
  PendingDeclare(std::shared_ptr<SharedState> shared, WorkQueue work_queue,
                 const DeclareOptions& options, Done done);

 private:
  void Try() override;
  std::string Unanswered(const std::string& when) const override;
  void OnAnswer(const absl::Status& answer);

  const WorkQueue work_queue_;
  const std::shared_ptr<bool> is_missing_;  // null: does not check first
  std::uint32_t losses_ = 0;                // attempts that ended with the connection
  Lifeline<PendingDeclare> lifeline_{this};
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_PENDING_DECLARE_H_
