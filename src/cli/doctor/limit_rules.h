#ifndef RETRYQ_CLI_DOCTOR_LIMIT_RULES_H_
#define RETRYQ_CLI_DOCTOR_LIMIT_RULES_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "absl/status/status.h"
#include "cli/doctor/doctor_options.h"
#include "cli/doctor/doctor_report.h"

namespace retryq::cli {

// Limits of RabbitMQ (F51 in doc/rabbitmq_facts.md), and how close they are: a finding where one is
// reached or leaves too little room. The cluster's own limits, cluster_queue_limit and
// cluster_exchange_limit, are shown by no API; they come up where doctor declares a queue.

// How many queues a worker with these options may need at a time, its parked queue included.
std::int64_t MostQueuesOf(const DoctorOptions& options);

// Of the vhost's queues. `limits`: GET /api/vhost-limits/VHOST. `queues`: how many there are;
// `own`: those of them that a worker with these options uses.
std::optional<Finding> CheckQueueLimit(const nlohmann::json& limits, std::int64_t queues,
                                       std::int64_t own, const DoctorOptions& options);

// Of the connections to the vhost. `connections`: GET /api/connections.
std::optional<Finding> CheckVhostConnections(const nlohmann::json& limits,
                                             const nlohmann::json& connections,
                                             const DoctorOptions& options);

// Of the user's connections and channels. `limits`: GET /api/user-limits/USER.
std::optional<Finding> CheckUserConnections(const nlohmann::json& limits,
                                            const nlohmann::json& connections,
                                            const DoctorOptions& options);
std::optional<Finding> CheckUserChannels(const nlohmann::json& limits,
                                         const nlohmann::json& connections,
                                         const DoctorOptions& options);

// A declare that was refused as the vhost or the cluster has as many queues or exchanges as it may.
Finding LimitReached(const absl::Status& refusal);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_LIMIT_RULES_H_
