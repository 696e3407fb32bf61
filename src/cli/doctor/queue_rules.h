#ifndef RETRYQ_CLI_DOCTOR_QUEUE_RULES_H_
#define RETRYQ_CLI_DOCTOR_QUEUE_RULES_H_

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/doctor_command.h"
#include "cli/doctor/doctor_report.h"
#include "retryq/delay_queue_options.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

// Rules for work queues and parked queues, which must keep their messages. Each function checks the
// data of the management API and returns a finding if there is a problem.

// A queue that must keep its messages.
struct KeptQueue {
  std::string check;  // "work queue" or "parked queue"
  std::string name;
  std::string vhost;
  std::string own_names;  // OwnNames
  // GET /api/queues/VHOST/NAME or, for a queue that does not exist yet, the result of WithPolicies.
  const nlohmann::json& json;
  // GET /api/policies/VHOST and /api/operator-policies/VHOST, for the remedies; null if not known.
  const nlohmann::json& policies;
  const nlohmann::json& operator_policies;
};

// Check for stream, exclusive, auto-delete (F40 in doc/rabbitmq_facts.md) and transient queues.
std::optional<Finding> CheckStream(const KeptQueue& queue);
std::optional<Finding> CheckExclusive(const KeptQueue& queue);
std::optional<Finding> CheckAutoDelete(const KeptQueue& queue);
std::optional<Finding> CheckDurable(const KeptQueue& queue);

// Check arguments and policies that remove messages or the queue. The finding is a warning if the
// queue has its own dead-letter exchange, which then receives the messages.
std::optional<Finding> CheckMessageTtl(const KeptQueue& queue);
std::optional<Finding> CheckExpires(const KeptQueue& queue);
std::optional<Finding> CheckDropHead(const KeptQueue& queue);

// Checks for a policy that makes a full classic queue refuse messages: when it is applied to a
// queue above the limit, messages are first dropped from the head (F56).
std::optional<Finding> CheckPolicyThatRefuses(const KeptQueue& queue);

// Checks of the work queue only: full and classic, with classic delay queues (F39); quorum with
// classic delay queues (F26); delayed retry of RabbitMQ 4.3 (F49).
std::optional<Finding> CheckRefusesWhenFull(const KeptQueue& queue, QueueType delay_queues);
std::optional<Finding> CheckQuorumBesideClassic(const KeptQueue& queue, QueueType delay_queues);
std::optional<Finding> CheckDelayedRetry(const KeptQueue& queue);

// Checks for a delivery limit that a quorum work queue reaches before a worker has moved or parked
// a message that returned after its crashes (F19, F33).
std::optional<Finding> CheckDeliveryLimit(const KeptQueue& queue, const RetryOptions& retry);

// Run all of these checks.
std::vector<Finding> CheckKeptWorkQueue(const KeptQueue& queue, QueueType delay_queues,
                                        const RetryOptions& retry = {});
std::vector<Finding> CheckKeptParkedQueue(const KeptQueue& queue);

// Checks the type of the work exchange (GET /api/exchanges/VHOST/NAME): with random or hash
// routing, a message returns to another queue, where its attempts count from zero.
std::optional<Finding> CheckExchangeType(const nlohmann::json& exchange);

// Checks the bindings of the work exchange (GET /api/exchanges/VHOST/NAME/bindings/source): it must
// lead back to the work queue, and to no other queue whose worker handles the same retry.
std::optional<Finding> CheckWorkBindings(const nlohmann::json& exchange,
                                         const nlohmann::json& bindings,
                                         const DoctorOptions& options);

// Returns whether the work queue's own dead-letter exchange leads to no queue at all. `key` is the
// routing key of dead letters; empty: each keeps its own.
bool LeadsNowhere(const nlohmann::json& exchange, const nlohmann::json& bindings,
                  const std::string& key);
// With on_limit kReject: the finding that the dead-letter exchange cannot be checked.
Finding CheckRejectionUnseen();
// The finding that the work queue's dead letters are lost.
Finding DeadLettersLost(const KeptQueue& queue, const std::string& why, const std::string& remedy);

// Check for messages without a consumer, and for parked messages.
std::optional<Finding> CheckConsumed(const std::string& queue, std::uint32_t ready,
                                     std::uint32_t consumers);
std::optional<Finding> CheckNothingParked(const DoctorOptions& options, std::uint32_t parked);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_QUEUE_RULES_H_
