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

// What a work queue or a parked queue cannot keep, by what the management API shows of it: each
// function is one check, and returns a finding where something is wrong.

// A queue that messages are kept in.
struct KeptQueue {
  std::string check;  // "work queue" or "parked queue"
  std::string name;
  std::string vhost;
  std::string own_names;  // OwnNames
  // GET /api/queues/VHOST/NAME, or for a queue that does not exist yet what WithPolicies makes.
  const nlohmann::json& json;
  // GET /api/policies/VHOST and /api/operator-policies/VHOST, for the remedies; null if not known.
  const nlohmann::json& policies;
  const nlohmann::json& operator_policies;
};

// Streams, exclusive, auto-delete (F40 in doc/rabbitmq_facts.md) and transient queues.
std::optional<Finding> CheckStream(const KeptQueue& queue);
std::optional<Finding> CheckExclusive(const KeptQueue& queue);
std::optional<Finding> CheckAutoDelete(const KeptQueue& queue);
std::optional<Finding> CheckDurable(const KeptQueue& queue);

// Arguments or policies that take messages, or the queue itself, away. A warning where the queue
// has a dead-letter exchange of its own, which then gets the messages.
std::optional<Finding> CheckMessageTtl(const KeptQueue& queue);
std::optional<Finding> CheckExpires(const KeptQueue& queue);
std::optional<Finding> CheckDropHead(const KeptQueue& queue);

// A policy that limits a classic queue and has it refuse what is beyond: where it begins to apply,
// what is there already is dropped from the head first (F56).
std::optional<Finding> CheckPolicyThatRefuses(const KeptQueue& queue);

// Of the work queue alone: full and classic, beside classic delay queues (F39); quorum beside
// classic delay queues (F26); delayed retry of RabbitMQ 4.3 (F49).
std::optional<Finding> CheckRefusesWhenFull(const KeptQueue& queue, QueueType delay_queues);
std::optional<Finding> CheckQuorumBesideClassic(const KeptQueue& queue, QueueType delay_queues);
std::optional<Finding> CheckDelayedRetry(const KeptQueue& queue);

// A delivery limit that a quorum work queue reaches before a worker has moved or parked a message
// that its crashes have returned (F19, F33).
std::optional<Finding> CheckDeliveryLimit(const KeptQueue& queue, const RetryOptions& retry);

// All of these.
std::vector<Finding> CheckKeptWorkQueue(const KeptQueue& queue, QueueType delay_queues,
                                        const RetryOptions& retry = {});
std::vector<Finding> CheckKeptParkedQueue(const KeptQueue& queue);

// GET /api/exchanges/VHOST/NAME of the work exchange: one that routes at random or by hash brings a
// message back to another queue, where its failures count from zero.
std::optional<Finding> CheckExchangeType(const nlohmann::json& exchange);

// GET /api/exchanges/VHOST/NAME/bindings/source of the work exchange: whether it leads back to the
// work queue, and to no other that would handle the same retry.
std::optional<Finding> CheckWorkBindings(const nlohmann::json& exchange,
                                         const nlohmann::json& bindings,
                                         const DoctorOptions& options);

// The same of the work queue's own dead-letter exchange: whether nothing published to it arrives
// anywhere. `key`: of the dead letters; empty: their own.
bool LeadsNowhere(const nlohmann::json& exchange, const nlohmann::json& bindings,
                  const std::string& key);
// With on_limit kReject: that nobody can tell whether there is such an exchange.
Finding CheckRejectionUnseen();
// That the work queue's dead letters are lost.
Finding DeadLettersLost(const KeptQueue& queue, const std::string& why, const std::string& remedy);

// Messages that nobody consumes, and messages that were given up.
std::optional<Finding> CheckConsumed(const std::string& queue, std::uint32_t ready,
                                     std::uint32_t consumers);
std::optional<Finding> CheckNothingParked(const DoctorOptions& options, std::uint32_t parked);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_QUEUE_RULES_H_
