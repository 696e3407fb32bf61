#ifndef RETRYQ_CLI_DOCTOR_DOCTOR_COMMAND_H_
#define RETRYQ_CLI_DOCTOR_DOCTOR_COMMAND_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/flags/flag_parser.h"
#include "cli/management/management_api.h"
#include "cli/worker/work_command.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/broker/delay_queue_declaration.h"
#include "retryq/delay_queue_options.h"

namespace retryq::cli {

// The result of one check.
struct Finding {
  enum class Result {
    kOk,
    kWarning,  // works, but may cause harm
    kProblem,  // does not work
    kSkipped,  // could not be checked
  };

  std::string check;  // the checked object, such as "work queue"
  Result result = Result::kOk;
  std::string finding;
  std::string remedy = {};  // empty if it is ok
  bool refused = false;     // because of a permission or a password
};
using Findings = std::vector<Finding>;

inline Finding Ok(std::string check, std::string finding) {
  return {std::move(check), Finding::Result::kOk, std::move(finding)};
}
inline Finding Warning(std::string check, std::string finding, std::string remedy) {
  return {std::move(check), Finding::Result::kWarning, std::move(finding), std::move(remedy)};
}
inline Finding Problem(std::string check, std::string finding, std::string remedy) {
  return {std::move(check), Finding::Result::kProblem, std::move(finding), std::move(remedy)};
}
inline Finding Skipped(std::string check, std::string finding, std::string remedy = "") {
  return {std::move(check), Finding::Result::kSkipped, std::move(finding), std::move(remedy)};
}

// A finding as text: one line, and another line for the remedy, if any.
std::string FindingText(const Finding& finding);

Parsed<WorkOptions> ParseDoctor(const Arguments& arguments);

// Runs all checks of `retryq doctor` and prints the findings to stdout. Returns the exit code.
int Doctor(const WorkOptions& worker);

// The rules of `retryq doctor`: each judges data that the broker has sent, of any form. F numbers
// are facts in doc/rabbitmq_facts.md.

// The policies of the vhost: GET /api/policies/VHOST and /api/operator-policies/VHOST. Null if the
// user may not read them.
struct Policies {
  nlohmann::json user;
  nlohmann::json of_operator;
};

// Rules of the broker (doctor_rules.cc).

// `delay_queues`: RabbitMQ 4.3.0 to 4.3.2 are not suitable for quorum ones (F48).
Finding CheckVersion(const std::string& version, QueueType delay_queues);
Finding CheckTls(const amqp::ConnectionOptions& connection);
Finding CheckClock(const std::optional<ManagementApi::ClockDifference>& clock,
                   const DelayQueueOptions& options);
// Of GET /api/health/checks/alarms.
Finding CheckAlarms(const ManagementApi::Answer& health);
// Of GET /api/health/checks/certificate-expiration/1/months.
Finding CheckCertificates(const ManagementApi::Answer& health);
// Of GET /api/vhosts.
Finding CheckDefaultQueueType(const nlohmann::json& vhosts, const std::string& vhost);
// AMQP 1.0 clients in GET /api/connections: RabbitMQ cannot deliver some of their messages to a
// worker (F73).
Findings CheckAmqp10(const nlohmann::json& connections, const WorkOptions& worker);
// Shovels that move messages out of or into delay queues, from GET /api/parameters/shovel/VHOST.
Findings CheckShovels(const nlohmann::json& shovels, const WorkOptions& worker);

// The highest number of queues that a worker with these options may need at a time, including its
// parked queue.
std::int64_t MostQueuesOf(const WorkOptions& worker);

// The data of the management API about limits (F51). No API shows cluster_queue_limit and
// cluster_exchange_limit; doctor finds them when it declares a queue.
struct LimitFacts {
  const nlohmann::json& of_vhost;     // GET /api/vhost-limits/VHOST
  const nlohmann::json& of_user;      // GET /api/user-limits/USER
  const nlohmann::json& connections;  // GET /api/connections
  std::int64_t queues = 0;            // in the vhost
  std::int64_t own_queues = 0;        // of these, used by a worker with these options
};
Findings CheckLimits(const LimitFacts& facts, const WorkOptions& worker);
// A declare was refused because the vhost or the cluster has reached its limit.
Finding LimitReached(const absl::Status& refusal);

// The permissions of a user in a vhost, as regular expressions.
struct GrantedRights {
  std::string configure;
  std::string write;
  std::string read;
};

// The rabbitmqctl command that grants the user all permissions that a worker needs and keeps the
// current ones; if these are unknown, with a note about them.
std::string GrantCommand(const WorkOptions& worker,
                         const std::optional<GrantedRights>& granted = std::nullopt);

// Quotes the first operand of a command: with "-- " before it if it looks like an option. Options
// must come before it.
std::string OperandForShell(const std::string& text);

// The target of the worker's delay queues.
DelayTarget TargetOf(const WorkOptions& worker);

// Rules of delay queues (delay_queue_rules.cc). A queue is the JSON of GET /api/queues/VHOST/NAME.

// Whether the effect of policies on delay queues must be checked.
bool MayHarm(const Policies& policies, const WorkOptions& worker);
bool MayFederate(const Policies& policies);
// `queues` are all delay queues, including a temporary one: the broker itself reports which
// policies apply to each.
Finding CheckPolicies(const Policies& policies, const std::vector<nlohmann::json>& queues,
                      const WorkOptions& worker);
// A temporary delay queue was deleted immediately after its declare.
Finding PolicyThatDropsQueues(const Policies& policies, const WorkOptions& worker);
// Policies that federate a delay queue or its exchange (GET /api/exchanges/VHOST/NAME), which
// duplicates messages (F44).
Findings CheckFederation(const nlohmann::json& queue, const nlohmann::json& exchange,
                         const Policies& policies, const WorkOptions& worker);
// Compares the existing delay queues with those that these options declare. If nothing is declared,
// checks that all exist.
Findings CheckDelayQueues(const std::vector<nlohmann::json>& queues, const WorkOptions& worker);

// Rules of work queues, parked queues and the work exchange (queue_rules.cc).

// A queue that must keep its messages.
struct KeptQueue {
  enum class Kind { kWork, kParked };
  Kind kind;
  const nlohmann::json& json;  // GET /api/queues/VHOST/NAME
  const Policies& policies;    // for the remedies
  const WorkOptions& worker;

  const char* check() const { return kind == Kind::kWork ? "work queue" : "parked queue"; }
};
Findings CheckKeptQueue(const KeptQueue& queue);

// Whether a policy has a setting that removes messages from a queue, or the policies are not known.
bool MayTakeMessages(const Policies& policies);

// The worker, and the management API for these rules.
struct QueueFacts {
  const WorkOptions& worker;
  ManagementApi::Fetch get;
  // Returns the JSON of a queue.
  std::function<absl::StatusOr<nlohmann::json>(const std::string& name)> queue;
  Policies policies;
};
// Returns the JSON of a reply.
absl::StatusOr<nlohmann::json> JsonAt(const ManagementApi::Fetch& get, const std::string& path);

// Check the queues and the exchange that are named, and where their messages are routed. They
// report nothing about objects that are missing.
Findings CheckWorkQueue(const QueueFacts& facts);
Findings CheckParkedQueue(const QueueFacts& facts);
Findings CheckWorkExchange(const QueueFacts& facts);
// With --on-limit reject: the dead-letter exchange cannot be checked.
Finding CheckRejectionUnseen();

// Returns the warnings and problems that a worker reports at its start, or an error if the
// management API cannot be asked. The result depends only on the replies, as ManagementApi::Look
// requires.
absl::StatusOr<Findings> CheckQueuesOfAWorker(const ManagementApi::Fetch& get,
                                              const WorkOptions& worker);

// Policies and the commands that change them (queue_rules.cc).

// A policy that applies to a queue.
struct AppliedPolicy {
  const nlohmann::json& json;  // in GET /api/policies/VHOST
  bool is_operators;
};
// The policies that a queue or an exchange names, if they are known.
std::vector<AppliedPolicy> PoliciesOf(const nlohmann::json& object, const Policies& policies);

// "policy 'a' and operator policy 'b'", which apply to the queue.
std::string PolicyNames(const nlohmann::json& queue);

// A regular expression for the beginning of the names of the work queue, the parked queue and the
// delay queues of a worker. A command that excludes some of them from a policy excludes all, so
// that no command undoes another.
std::string OwnNames(const WorkOptions& worker);

// The rabbitmqctl command that excludes all names that begin with a match of `names` from a policy,
// and does not change the policy for other names.
std::string KeepOffCommand(const AppliedPolicy& policy, const std::string& names,
                           const std::string& vhost);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_DOCTOR_COMMAND_H_
