#include "cli/doctor/doctor_command.h"

#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/connect/broker_session.h"
#include "cli/doctor/doctor_report.h"
#include "cli/doctor/doctor_rules.h"
#include "cli/doctor/limit_rules.h"
#include "cli/doctor/management_checks.h"
#include "cli/doctor/policy_rules.h"
#include "cli/doctor/queue_rules.h"
#include "cli/doctor/throw_away_queue.h"
#include "cli/doctor/worker_checks.h"
#include "cli/management/json_fields.h"
#include "cli/management/management_answer.h"
#include "cli/management/management_queues.h"
#include "cli/text/io.h"
#include "cli/text/outlet.h"
#include "cli/text/waiting.h"
#include "retryq/delay_queue_name.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

// After one missing reply no further request is sent, so the whole run takes at most
// kLongestSilence.
constexpr absl::Duration kPatienceWithBroker = absl::Seconds(6);

// One run: executes the checks one after the other.
class Examination {
 public:
  Examination(const DoctorOptions& options, Report& report)
      : options_(options),
        report_(report),
        session_(loop_, Named(options.place.connection), kPatienceWithBroker) {}

  void Run() {
    const absl::Time begun = absl::Now();
    const absl::Status open = session_.Open();
    CheckConnection(open);
    api_.emplace(loop_, options_.place.management,
                 HttpClient::Options{.timeout = std::min(kPatienceWithBroker,
                                                         kLongestSilence - (absl::Now() - begun)),
                                     .asks_again = false});
    CheckManagement();
    GetRights();
    if (has_management_) checks_.emplace(*api_, options_);
    if (open.ok()) {
      const std::vector<Finding> work_queue = CheckWorkQueue(session_, options_);
      has_work_queue_ =
          work_queue.empty() || work_queue.front().result != Finding::Result::kProblem;
      report_.Add(work_queue);
      if (checks_) report_.Add(checks_->WorkQueue());
      if (!checks_ && options_.retry.on_limit == OnLimit::kReject) {
        report_.Add(CheckRejectionUnseen());
      }
      const std::vector<Finding> exchange = CheckWorkExchange(session_, options_);
      report_.Add(exchange);
      if (checks_) report_.Add(checks_->WorkExchange());
      report_.Add(CheckParkedQueue(session_, options_));
      if (checks_) report_.Add(checks_->ParkedQueue());
    }
    CheckQueues(open.ok());
    CheckServer();
    if (!open.ok()) return;
    // This check takes seconds, so the checks of the work queue come first.
    report_.Add(has_work_queue_
                    ? CheckLease(session_, options_)
                    : Skipped("lease", "not examined without the work queue", "see work queue"));
    // Runs last: during an alarm, the broker does not read from a connection that has published.
    report_.Add(CheckPermissions(session_, options_));
    if (session_.blocked() && !has_management_) {
      report_.Add(Problem("alarms", "the broker takes no publishes (connection.blocked)",
                          "free memory or disk on its node, or raise its limits"));
    }
  }

 private:
  static amqp::ConnectionOptions Named(amqp::ConnectionOptions connection) {
    connection.connection_name = "retryq doctor";
    return connection;
  }

  std::string Path(const std::string& kind, const std::string& name = "") const {
    return VhostPath(kind, options_.place.connection.vhost, name);
  }

  std::string ConnectionRemedy(const absl::Status& open) const {
    if (absl::IsNotFound(open)) return "correct the vhost at the end of --url";
    if (absl::IsUnauthenticated(open) || absl::IsPermissionDenied(open)) {
      return "correct user, password or vhost in --url";
    }
    return UnreachableRemedy(std::string(open.message()));
  }

  void CheckConnection(const absl::Status& open) {
    const amqp::ConnectionOptions& connection = options_.place.connection;
    if (!open.ok()) {
      report_.Add(ProblemOf("connection", open, ConnectionRemedy(open)));
      return;
    }
    report_.Add(Ok("connection", amqp::Describe(connection)));
    report_.Add(CheckVersion(session_.server_version(), options_.delay_queues.queue_type));
    report_.Add(CheckTls(connection));
  }

  void CheckManagement() {
    const auto overview = api_->Get("/overview");
    has_management_ = overview.ok();
    if (!overview.ok()) {
      // A warning only, as workers do not need the management API.
      Finding finding = ProblemOf("management", overview.status());
      finding.result = Finding::Result::kWarning;
      finding.refused = false;
      report_.Add(std::move(finding));
      return;
    }
    report_.Add(Ok("management", Describe(api_->url())));
    clock_ = overview->clock;
  }

  // Sends a GET request. If it fails, reports that the check is skipped.
  std::optional<Json> Get(const std::string& check, const std::string& path) {
    auto answer = api_->Get(path);
    if (answer.ok()) return std::move(answer->json);
    Finding finding = ProblemOf(check, answer.status());
    finding.result = Finding::Result::kSkipped;
    finding.refused = false;
    report_.Add(std::move(finding));
    return std::nullopt;
  }

  // Gets the user's permissions, so that a remedy keeps them.
  void GetRights() {
    if (!has_management_) return;
    const auto answer = api_->Get(Path("permissions", options_.place.connection.user));
    if (absl::IsNotFound(answer.status())) options_.granted.emplace();
    if (!answer.ok()) return;
    options_.granted = {.configure = TextOf(answer->json, "configure").value_or(""),
                        .write = TextOf(answer->json, "write").value_or(""),
                        .read = TextOf(answer->json, "read").value_or("")};
  }

  void CheckServer() {
    if (!has_management_) return;
    const auto health = api_->GetHealth("/health/checks/alarms");
    if (health.ok()) {
      report_.Add(CheckAlarms(*health));
    } else {
      report_.Add(Skipped("alarms", Printable(std::string(health.status().message())), ""));
    }
    if (options_.place.connection.tls) {
      const auto certificates = api_->GetHealth("/health/checks/certificate-expiration/1/months");
      if (certificates.ok()) report_.Add(CheckCertificates(*certificates));
    }
    report_.Add(CheckClock(clock_, options_.delay_queues));
    if (const auto vhosts = Get("default queue type", "/vhosts")) {
      report_.Add(CheckDefaultQueueType(*vhosts, options_.place.connection.vhost));
    }
  }

  // Checks policies and delay queues.
  void CheckQueues(bool open) {
    if (!has_management_) {
      report_.Add(Skipped("policies", "only the management API shows them", "see management"));
      report_.Add(Skipped("delay queues", "only the management API shows them", "see management"));
      return;
    }
    std::vector<Json> queues;
    const std::string& prefix = options_.delay_queues.prefix;
    const absl::Status visited = VisitQueues(*api_, options_.place.connection.vhost, prefix + ".",
                                             [&](const Json& queue, absl::Time /*at*/) {
                                               const auto name = ParseDelayQueueName(
                                                   TextOf(queue, "name").value_or(""), prefix);
                                               if (name && !IsThrowAway(*name))
                                                 queues.push_back(queue);
                                             });
    if (visited.ok()) {
      report_.Add(CheckDelayQueues(queues, options_));
    } else {
      report_.Add(Skipped("delay queues", std::string(visited.message()), ""));
    }
    report_.Add(CheckFederation(checks_->policies(), options_));
    // Without the plugin or the permission there are no shovels to check.
    if (const auto shovels =
            api_->Get("/parameters/shovel/" + PercentEncode(options_.place.connection.vhost));
        shovels.ok()) {
      report_.Add(CheckShovels(shovels->json, options_));
    }
    CheckLimitsOfTheBroker(static_cast<std::int64_t>(queues.size()));
    const std::optional<Json> policies = Get("policies", Path("policies"));
    const std::optional<Json> operators =
        policies ? Get("policies", Path("operator-policies")) : std::nullopt;
    if (!policies || !operators) return;
    if (open && (MayHurt(*policies, options_) || MayHurt(*operators, options_))) {
      const absl::StatusOr<Json> probe = QueueAsPoliciesMakeIt();
      if (absl::IsNotFound(probe.status())) {
        return report_.Add(PolicyThatDropsQueues(*policies, *operators, options_));
      }
      if (probe.ok()) queues.insert(queues.begin(), *probe);
    }
    report_.Add(CheckPolicies(*policies, *operators, queues, options_));
  }

  void CheckLimitsOfTheBroker(std::int64_t delay_queues) {
    const auto of_vhost = Get("limits", Path("vhost-limits"));
    if (!of_vhost) return;
    const auto of_user =
        Get("limits", "/user-limits/" + PercentEncode(options_.place.connection.user));
    if (!of_user) return;
    const auto queues = Get("limits", Path("queues") + "?page=1&page_size=1&disable_stats=true");
    const auto connections =
        Get("limits",
            "/connections?columns=vhost,user,channels,protocol,client_properties.connection_name");
    if (!queues || !connections) return;
    report_.Add(CheckAmqp10(*connections, options_));
    const std::vector<Finding> findings =
        CheckLimits({.of_vhost = *of_vhost,
                     .of_user = *of_user,
                     .connections = *connections,
                     .queues = IntegerOf(*queues, "total_count").value_or(0),
                     .own_queues = delay_queues},
                    options_);
    report_.Add(findings);
    if (findings.empty()) report_.Add(Ok("limits", "leave room for a worker"));
  }

  // Declares a temporary delay queue and returns it as the broker reports it, some seconds later,
  // with its policies. Returns kNotFound if the queue was gone before, kUnavailable if it cannot be
  // declared.
  absl::StatusOr<Json> QueueAsPoliciesMakeIt() {
    constexpr absl::Duration kProbePatience = absl::Seconds(20);
    const absl::Status unknown = absl::UnavailableError("the broker does not say");
    if (!options_.delay_queues.declare) return unknown;
    ThrowAwayQueue probe(session_, options_.delay_queues, TargetOf(options_), absl::Minutes(1));
    if (!probe.Declare().ok()) return unknown;
    const absl::Time end = absl::Now() + kProbePatience;
    while (absl::Now() < end) {
      auto answer = api_->Get(Path("queues", probe.queue().name));
      if (answer.ok() && FieldOf(answer->json, "effective_policy_definition").is_object()) {
        return std::move(answer->json);
      }
      if (absl::IsNotFound(answer.status()) && absl::IsNotFound(probe.Look())) {
        // The temporary queue of type quorum is shared, so another worker may have deleted it.
        const bool own = options_.delay_queues.queue_type == QueueType::kClassic;
        return own ? answer.status() : unknown;
      }
      session_.Wait(absl::Milliseconds(200));
    }
    return unknown;
  }

  DoctorOptions options_;
  Report& report_;
  EventLoop loop_;
  BrokerSession session_;
  std::optional<ManagementApi> api_;  // set after the attempt to open the session
  bool has_management_ = false;
  std::optional<ManagementChecks> checks_;  // set if there is a management API
  bool has_work_queue_ = true;              // also true if none is named
  std::optional<ManagementApi::ClockDifference> clock_;
};

}  // namespace

DelayTarget TargetOf(const DoctorOptions& options) {
  return {.dead_letter_exchange = options.work_exchange, .work_queue = options.queue};
}

int Doctor(const DoctorOptions& options) {
  absl::Status written;
  const auto write = [&written](const std::string& text) {
    if (written.ok()) written = WriteResult(text);
  };
  Report report([&](const Finding& finding) {
    if (!options.json) write(TextOf(finding));
  });
  Examination(options, report).Run();
  write(options.json ? report.Json() : "\n" + report.Summary());
  if (written.ok()) return report.exit_code();
  WriteErrors(absl::StrCat("retryq doctor: ", std::string(written.message()), "\n"));
  return EX_IOERR;
}

}  // namespace retryq::cli
