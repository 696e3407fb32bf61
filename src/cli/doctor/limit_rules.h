#ifndef RETRYQ_CLI_DOCTOR_LIMIT_RULES_H_
#define RETRYQ_CLI_DOCTOR_LIMIT_RULES_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "absl/status/status.h"
#include "cli/doctor/doctor_command.h"
#include "cli/doctor/doctor_report.h"

namespace retryq::cli {

// Rules for the limits of RabbitMQ (F51 in doc/rabbitmq_facts.md): a finding if a limit is reached
// or nearly reached. No API shows the limits of the cluster, cluster_queue_limit and
// cluster_exchange_limit; doctor finds them when it declares a queue.

// The highest number of queues that a worker with these options may need at a time, including its
// parked queue.
std::int64_t MostQueuesOf(const DoctorOptions& options);

// The data of the management API about limits.
struct LimitFacts {
  const nlohmann::json& of_vhost;     // GET /api/vhost-limits/VHOST
  const nlohmann::json& of_user;      // GET /api/user-limits/USER
  const nlohmann::json& connections;  // GET /api/connections
  std::int64_t queues = 0;            // in the vhost
  std::int64_t own_queues = 0;        // of these, used by a worker with these options
};

// Checks the limits of the vhost's queues and connections, and of the user's connections and
// channels.
std::vector<Finding> CheckLimits(const LimitFacts& facts, const DoctorOptions& options);

// The finding for a declare that was refused because the vhost or the cluster has reached its limit
// of queues or exchanges.
Finding LimitReached(const absl::Status& refusal);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_LIMIT_RULES_H_
