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

// The rules: each function judges data that the broker has sent, of any form, and sends no
// requests.

// Checks the broker's version, such as "3.10.8". `delay_queues`: RabbitMQ 4.3.0 to 4.3.2 are not
// suitable for quorum ones (F48 in doc/rabbitmq_facts.md).
Finding CheckVersion(const std::string& version, QueueType delay_queues);

// Checks the encryption of the connection.
Finding CheckTls(const amqp::ConnectionOptions& connection);

// Compares the broker's clock with the local one.
Finding CheckClock(const std::optional<ManagementApi::ClockDifference>& clock,
                   const DelayQueueOptions& options);

// Checks the reply to GET /api/health/checks/alarms.
Finding CheckAlarms(const ManagementApi::Answer& health);

// Checks the reply to GET /api/health/checks/certificate-expiration/1/months.
Finding CheckCertificates(const ManagementApi::Answer& health);

// Checks the default queue type, in the reply to GET /api/vhosts.
Finding CheckDefaultQueueType(const nlohmann::json& vhosts, const std::string& vhost);

// Checks the effect of policies on delay queues. `policies` and `operator_policies` are those of
// the vhost. `queues` are all delay queues, including a temporary one: the broker itself reports
// which policy applies to each.
Finding CheckPolicies(const nlohmann::json& policies, const nlohmann::json& operator_policies,
                      const std::vector<nlohmann::json>& queues, const DoctorOptions& options);

// The finding if a temporary delay queue was gone at once.
Finding PolicyThatDropsQueues(const nlohmann::json& policies,
                              const nlohmann::json& operator_policies,
                              const DoctorOptions& options);

// Returns whether a policy has a key that could harm a delay queue to which it applies.
bool MayHurt(const nlohmann::json& policies, const DoctorOptions& options);

// Compares the existing delay queues with those that these options declare. If nothing is declared,
// checks that all exist.
std::vector<Finding> CheckDelayQueues(const std::vector<nlohmann::json>& queues,
                                      const DoctorOptions& options);

// Checks whether AMQP 1.0 clients are connected to the vhost: RabbitMQ cannot deliver some of their
// messages to a worker (F73 in doc/rabbitmq_facts_queues.md). `connections`: GET /api/connections.
std::vector<Finding> CheckAmqp10(const nlohmann::json& connections, const DoctorOptions& options);

// The rabbitmqctl command that grants the user all permissions that a worker needs and keeps the
// current ones; if these are unknown, with a note about them.
std::string GrantCommand(const DoctorOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_DOCTOR_RULES_H_
