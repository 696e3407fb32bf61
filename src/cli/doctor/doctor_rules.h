#ifndef RETRYQ_CLI_DOCTOR_DOCTOR_RULES_H_
#define RETRYQ_CLI_DOCTOR_DOCTOR_RULES_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/doctor/doctor_command.h"
#include "cli/doctor/doctor_report.h"
#include "cli/management/management_api.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/delay_queue_options.h"

namespace retryq::cli {

// What is good and what is not: each looks at something that the broker has said, whatever that
// is, and asks nobody.

// "3.10.8", as the broker greets with. `delay_queues`: 4.3.0 to 4.3.2 are not for quorum ones (F48
// in doc/rabbitmq_facts.md).
Finding CheckVersion(const std::string& version, QueueType delay_queues);

// How the broker is reached.
Finding CheckTls(const amqp::ConnectionOptions& connection);

// The broker's clock against ours.
Finding CheckClock(const std::optional<ManagementApi::ClockDifference>& clock,
                   const DelayQueueOptions& options);

// GET /api/health/checks/alarms.
Finding CheckAlarms(const ManagementApi::Answer& health);

// GET /api/health/checks/certificate-expiration/1/months.
Finding CheckCertificates(const ManagementApi::Answer& health);

// GET /api/vhosts.
Finding CheckDefaultQueueType(const nlohmann::json& vhosts, const std::string& vhost);

// What policies make of delay queues. `policies` and `operator_policies` are those of the vhost,
// `queues` all delay queues that there are, one that was made for the question included: the broker
// itself says which policy applies to each.
Finding CheckPolicies(const nlohmann::json& policies, const nlohmann::json& operator_policies,
                      const std::vector<nlohmann::json>& queues, const DoctorOptions& options);

// The same where a delay queue that was made for the question was gone at once.
Finding PolicyThatDropsQueues(const nlohmann::json& policies,
                              const nlohmann::json& operator_policies,
                              const DoctorOptions& options);

// Whether any policy of these has a key that could hurt a delay queue, if it applies to it.
bool MayHurt(const nlohmann::json& policies, const DoctorOptions& options);

// The delay queues that there are, against what these options would declare; or, where nothing is
// declared, whether all are there.
std::vector<Finding> CheckDelayQueues(const std::vector<nlohmann::json>& queues,
                                      const DoctorOptions& options);

// Whether clients of AMQP 1.0 are connected to the vhost, some of whose messages RabbitMQ cannot
// deliver to a worker (F73 in doc/rabbitmq_facts_queues.md). `connections`: GET /api/connections.
std::vector<Finding> CheckAmqp10(const nlohmann::json& connections, const DoctorOptions& options);

// The rabbitmqctl command that gives the user all rights that a worker needs, and keeps those that
// the user has; where these are not known, with a note about them.
std::string GrantCommand(const DoctorOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_DOCTOR_RULES_H_
