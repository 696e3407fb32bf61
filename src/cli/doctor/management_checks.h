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

// What only the management API shows about the queues and the exchange of a worker. Waits for each
// answer.
class ManagementChecks {
 public:
  // Gets the policies. Both must outlive it.
  ManagementChecks(ManagementApi& api, const DoctorOptions& options);

  // Of the queues and the exchange that are named; nothing about those that are not there, except
  // for a queue that the worker would declare.
  std::vector<Finding> WorkQueue();
  std::vector<Finding> WorkExchange();
  std::vector<Finding> ParkedQueue();

  // Null where they are not known.
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
  bool is_known_ = true;  // what policies make of the last queue
};

// The warnings and problems that a worker reports at its start. The error is that of a management
// API that cannot be asked.
absl::StatusOr<std::vector<Finding>> CheckQueuesOfAWorker(ManagementApi& api,
                                                          const DoctorOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_MANAGEMENT_CHECKS_H_
