#ifndef RETRYQ_CLI_DOCTOR_LIMIT_RULES_H_
#define RETRYQ_CLI_DOCTOR_LIMIT_RULES_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "absl/status/status.h"
#include "cli/doctor/doctor_command.h"
#include "cli/doctor/doctor_report.h"

namespace retryq::cli {

// Limits of RabbitMQ (F51 in doc/rabbitmq_facts.md), and how close they are: a finding where one is
// reached or leaves too little room. The cluster's own limits, cluster_queue_limit and
// cluster_exchange_limit, are shown by no API; they come up where doctor declares a queue.

// How many queues a worker with these options may need at a time, its parked queue included.
std::int64_t MostQueuesOf(const DoctorOptions& options);

// What the management API shows of them.
struct LimitFacts {
  const nlohmann::json& of_vhost;     // GET /api/vhost-limits/VHOST
  const nlohmann::json& of_user;      // GET /api/user-limits/USER
  const nlohmann::json& connections;  // GET /api/connections
  std::int64_t queues = 0;            // in the vhost
  std::int64_t own_queues = 0;        // those of them that a worker with these options uses
};

// Of the vhost's queues and connections, and of the user's connections and channels.
std::vector<Finding> CheckLimits(const LimitFacts& facts, const DoctorOptions& options);

// A declare that was refused as the vhost or the cluster has as many queues or exchanges as it may.
Finding LimitReached(const absl::Status& refusal);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_LIMIT_RULES_H_
