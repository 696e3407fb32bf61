#ifndef RETRYQ_CLI_DOCTOR_MANAGEMENT_CHECKS_H_
#define RETRYQ_CLI_DOCTOR_MANAGEMENT_CHECKS_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/doctor/doctor_command.h"
#include "cli/doctor/doctor_report.h"
#include "cli/doctor/queue_rules.h"
#include "cli/management/management_api.h"

namespace retryq::cli {

// Checks of a worker's queues and exchange that need the management API. Waits for each reply.
class ManagementChecks {
 public:
  // Requests the policies. The arguments must outlive it.
  ManagementChecks(ManagementApi& api, const DoctorOptions& options);

  // Check the queues and the exchange that are named. They return no findings about missing ones,
  // except about a queue that the worker would declare.
  std::vector<Finding> WorkQueue();
  std::vector<Finding> WorkExchange();
  std::vector<Finding> ParkedQueue();

  // Null if they are not known.
  const nlohmann::json& policies() const { return policies_; }

 private:
  nlohmann::json KeptQueueOf(const std::string& name, std::optional<QueueType> made_as);
  KeptQueue Kept(const std::string& check, const std::string& name,
                 const nlohmann::json& queue) const;
  std::vector<Finding> DeadLetters(const KeptQueue& queue);
  absl::StatusOr<nlohmann::json> Get(const std::string& kind, const std::string& name = "",
                                     const std::string& more = "");

  ManagementApi& api_;
  const DoctorOptions& options_;
  nlohmann::json policies_;
  nlohmann::json operator_policies_;
  bool is_known_ = true;  // the effect of policies on the last queue
};

// Returns the warnings and problems that a worker reports at its start, or an error if the
// management API cannot be asked.
absl::StatusOr<std::vector<Finding>> CheckQueuesOfAWorker(ManagementApi& api,
                                                          const DoctorOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_MANAGEMENT_CHECKS_H_
