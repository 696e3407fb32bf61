#include "cli/doctor/doctor_command.h"

#include <sysexits.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/escaped_text.h"
#include "cli/connect/broker_session.h"
#include "cli/text/duration.h"
#include "cli/text/io.h"
#include "cli/text/json_line.h"
#include "retryq/broker/delay_queue_name.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

// After one missing reply, doctor sends no further request, so a silent broker delays it by at most
// kLongestSilence.
constexpr absl::Duration kPatienceWithBroker = absl::Seconds(6);
// The broker shows the policies of a new queue with its statistics, after up to ten seconds.
constexpr absl::Duration kPatienceWithPolicies = absl::Seconds(12);
constexpr absl::Duration kPatienceWithAlarm = absl::Milliseconds(200);

constexpr HelpText kDoctorHelp = {
    .description =
        "Checks a broker for everything that breaks retrying, and prints a remedy for each "
        "problem.\n"
        "Use the flags of your worker: doctor accepts every flag of retryq work, with the same\n"
        "meaning. It consumes no message, does not run COMMAND, and leaves nothing on the broker.",
    .usage = "retryq doctor [--queue QUEUE] [OPTIONS] [-- COMMAND [ARGUMENT...]]",
    .footer =
        R"(Checks:
  connection          address, TLS, user, password, vhost
  version             whether retryq is tested with the version of RabbitMQ
  tls                 whether passwords and messages can be read on the network
  management          the management API, which half of the checks require
  work queue          exists, keeps its messages, has a consumer, suits the type of the delay
                      queues; its dead letters reach a queue
  work exchange       exists, routes back to the work queue, and not at random
  parked queue        exists or can be declared, keeps its messages, is empty
  delay queues        the existing ones, compared with those that these options declare
  federation, shovels those that move or duplicate messages in delay queues
  limits              of queues, connections and channels: whether there is room for a worker
  policies            those that override TTL, x-expires, length or routing of delay queues
  alarms              memory and disk alarms, which stop all publishing
  certificates        with amqps://: whether certificates of the broker expire within a month
  clock               difference between the clocks of the broker and this machine
  default queue type  type of queues that are declared without a type
  lease               whether a repeated declare keeps a queue alive; takes 4s
  permissions         all that a worker needs, tested by using them; nothing is consumed or
                      delivered

Temporary queues are named like delay queues, PREFIX.315359..., or like a queue that does not exist
yet, QUEUE.doctor. They are empty and are deleted, or expire within a minute if doctor is killed.
A changed policy shows up to ten seconds later.

Exit status: 0 no problem (there may be warnings); 64 invalid options; 69 a problem; 77 a missing
permission or wrong password.

Example:
  retryq doctor --queue orders --base 1s --max-attempts 8
)",
};

constexpr char kSeePermissions[] = "see the check 'permissions'";
constexpr char kNeedsManagement[] = "requires the management API";

const char* NameOf(Finding::Result result) {
  using Result = Finding::Result;
  return result == Result::kOk        ? "ok"
         : result == Result::kWarning ? "warning"
         : result == Result::kProblem ? "problem"
                                      : "skipped";
}

bool ShowsPolicies(const Json& queue) {
  return FieldOf(queue, "effective_policy_definition").is_object();
}

// A problem from an error. Without `remedy`, the text after the first "; " of the error is the
// remedy.
Finding ProblemOf(std::string check, const absl::Status& error, std::string remedy = "") {
  std::string text(error.message());
  if (const std::size_t semicolon = text.find("; ");
      remedy.empty() && semicolon != std::string::npos) {
    remedy = text.substr(semicolon + 2);
    text.erase(semicolon);
  }
  Finding problem = Problem(std::move(check), std::move(text), std::move(remedy));
  problem.refused = absl::IsPermissionDenied(error) || absl::IsUnauthenticated(error);
  return problem;
}

std::size_t CountFindings(const Findings& findings, Finding::Result result) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(),
                    [result](const Finding& finding) { return finding.result == result; }));
}

// "1 problem, 2 warnings, 11 ok, 1 skipped", and a line break.
std::string SummaryOf(const Findings& findings) {
  const auto counted = [&findings](Finding::Result result, const char* plural) {
    const std::size_t count = CountFindings(findings, result);
    return absl::StrCat(count, " ", NameOf(result), count == 1 ? "" : plural);
  };
  return absl::StrCat(
      counted(Finding::Result::kProblem, "s"), ", ", counted(Finding::Result::kWarning, "s"), ", ",
      counted(Finding::Result::kOk, ""), ", ", counted(Finding::Result::kSkipped, ""), "\n");
}

// One JSON object, in one line: {"checks":[{"check","result","finding","remedy"},…]}.
std::string ReportJson(const Findings& findings) {
  using OrderedJson = nlohmann::ordered_json;
  OrderedJson checks = OrderedJson::array();
  for (const Finding& finding : findings) {
    checks.push_back({{"check", finding.check},
                      {"result", NameOf(finding.result)},
                      {"finding", finding.finding},
                      {"remedy", finding.remedy}});
  }
  const OrderedJson all = {{"checks", std::move(checks)}};
  return JsonLine(all).append("\n");
}

// Adds an error: the check cannot be done.
Finding SkippedBy(std::string check, const absl::Status& error) {
  Finding finding = ProblemOf(std::move(check), error);
  finding.result = Finding::Result::kSkipped;
  finding.refused = false;
  return finding;
}

// One run: executes the checks one after the other.
class Examination {
 public:
  // `tell` receives each finding at once.
  Examination(const WorkOptions& worker, std::function<void(const Finding&)> tell)
      : worker_(worker),
        tell_(std::move(tell)),
        session_(loop_, Named(worker.place.connection, "retryq doctor"), kPatienceWithBroker) {}

  // Returns all findings, in the order of the checks.
  Findings Run() {
    const absl::Time begun = absl::Now();
    const absl::Status open = session_.Open();
    is_open_ = open.ok();
    CheckConnection(open);
    api_.emplace(loop_, worker_.place.management,
                 HttpClient::Options{.timeout = std::min(kPatienceWithBroker,
                                                         kLongestSilence - (absl::Now() - begun)),
                                     .asks_again = false});
    CheckManagement();
    if (is_open_) {
      CheckWorkQueueAndExchange();
      CheckParked();
    }
    if (has_management_) {
      CheckDelays();
      CheckServer();
    } else {
      for (const char* check : {"policies", "delay queues"}) {
        Add(Skipped(check, kNeedsManagement, "see the check 'management'"));
      }
    }
    if (!is_open_) return std::move(findings_);
    // This check takes seconds, so the checks of the work queue come first.
    Add(has_work_queue_
            ? CheckLease()
            : Skipped("lease", "requires the work queue", "see the check 'work queue'"));
    // This check runs last: during an alarm, the broker does not read from a connection that has
    // published.
    CheckPermissions();
    if (session_.blocked() && !has_management_) {
      Add(Problem("alarms", "the broker accepts no publishes (connection.blocked)",
                  "free memory or disk space on its node, or raise its limits"));
    }
    return std::move(findings_);
  }

 private:
  void Add(Finding finding) {
    findings_.push_back(std::move(finding));
    tell_(findings_.back());
  }
  void Add(Findings findings) {
    for (Finding& finding : findings) Add(std::move(finding));
  }

  std::string Path(const std::string& kind, const std::string& name = "") const {
    const std::string& vhost = worker_.place.connection.vhost;
    return name.empty() ? UrlPath({kind, vhost}) : UrlPath({kind, vhost, name});
  }

  absl::StatusOr<Json> Get(const std::string& path) { return JsonAt(facts_.get, path); }

  // Reports an error: the check is skipped.
  std::optional<Json> GetFor(const std::string& check, const std::string& path) {
    auto json = Get(path);
    if (json.ok()) return *std::move(json);
    Add(SkippedBy(check, json.status()));
    return std::nullopt;
  }

  std::string ConnectionRemedy(const absl::Status& open) const {
    if (absl::IsNotFound(open)) return "correct the vhost at the end of --url";
    if (absl::IsUnauthenticated(open) || absl::IsPermissionDenied(open)) {
      return "correct the user, the password or the vhost in --url";
    }
    return UnreachableRemedy(std::string(open.message()));
  }

  void CheckConnection(const absl::Status& open) {
    const amqp::ConnectionOptions& connection = worker_.place.connection;
    if (!open.ok()) {
      Add(ProblemOf("connection", open, ConnectionRemedy(open)));
      return;
    }
    Add(Ok("connection", amqp::Describe(connection)));
    Add(CheckVersion(session_.server_version(), worker_.delay_queues().queue_type));
    Add(CheckTls(connection));
  }

  // Also requests the policies, and the user's permissions, which a remedy must keep.
  void CheckManagement() {
    const auto overview = api_->Get("/overview");
    has_management_ = overview.ok();
    if (!has_management_) {
      // This is only a warning, because workers do not need the management API.
      Finding finding = SkippedBy("management", overview.status());
      finding.result = Finding::Result::kWarning;
      Add(std::move(finding));
      return;
    }
    Add(Ok("management", Describe(api_->url())));
    clock_ = overview->clock;
    for (auto [list, kind] : {std::pair(&facts_.policies.user, "policies"),
                              std::pair(&facts_.policies.of_operator, "operator-policies")}) {
      const auto policies = Get(Path(kind));
      *list = policies.value_or(nullptr);
      policies_read_.Update(policies.status());
    }
    const auto rights = Get(Path("permissions", worker_.place.connection.user));
    if (absl::IsNotFound(rights.status())) granted_.emplace();
    if (!rights.ok()) return;
    granted_ = {.configure = TextOf(*rights, "configure").value_or(""),
                .write = TextOf(*rights, "write").value_or(""),
                .read = TextOf(*rights, "read").value_or("")};
  }

  // The finding for a refused passive declare of an object, such as "queue 'a'".
  Finding Absence(const std::string& check, const absl::Status& status, const std::string& object,
                  const std::string& remedy) const {
    if (absl::IsNotFound(status)) {
      return Problem(check,
                     absl::StrCat(object, " does not exist in vhost ",
                                  InQuotes(worker_.place.connection.vhost)),
                     remedy);
    }
    if (absl::IsAborted(status)) {
      return Problem(check,
                     object + " is exclusive: only the connection that declared it can use it",
                     "declare it durable and not exclusive");
    }
    return ProblemOf(check, status,
                     absl::IsPermissionDenied(status) ? GrantCommand(worker_, granted_) : remedy);
  }

  void CheckWorkQueueAndExchange() {
    const Findings queue = FindWorkQueue();
    has_work_queue_ = queue.front().result != Finding::Result::kProblem;
    Add(queue);
    if (has_management_) {
      Add(CheckWorkQueue(facts_));
    } else if (worker_.consumer.retry.on_limit == OnLimit::kReject) {
      Add(CheckRejectionUnseen());
    }
    if (worker_.consumer.work_exchange.empty()) return;
    const std::string exchange = InQuotes(worker_.consumer.work_exchange);
    const absl::Status there = session_.CheckExchange(worker_.consumer.work_exchange);
    Add(there.ok() ? Ok("work exchange", exchange + " exists")
                   : Absence("work exchange", there, "exchange " + exchange,
                             "declare it, or correct --work-exchange; until then retries "
                             "that come due are dropped"));
    if (has_management_) Add(CheckWorkExchange(facts_));
  }

  Findings FindWorkQueue() {
    constexpr char kCheck[] = "work queue";
    const std::string& name = worker_.consumer.queue;
    if (name.empty()) return {Skipped(kCheck, "no queue is named", "name it with --queue")};
    const auto there = session_.DeclareQueue({.name = name, .passive = true});
    if (absl::IsNotFound(there.status()) && worker_.consumer.declare) {
      return {Ok(kCheck, "the first worker will declare " + InQuotes(name))};
    }
    if (!there.ok()) {
      return {Absence(kCheck, there.status(), "queue " + InQuotes(name),
                      "declare it, or correct --queue or the vhost at the end of --url")};
    }
    Findings findings = {
        Ok(kCheck, absl::StrCat(InQuotes(name), " exists: ", there->message_count,
                                " ready messages, ", there->consumer_count, " consumers"))};
    if (there->message_count > 0 && there->consumer_count == 0) {
      findings.push_back(Warning(
          kCheck,
          absl::StrCat(InQuotes(name), " has ", there->message_count,
                       " ready messages and no consumer"),
          absl::StrCat("start a worker: retryq work --queue ", ShellQuoted(name),
                       "; a running worker does not consume while its circuit breaker is open "
                       "(event breaker_opened) or COMMAND cannot be run (paused)")));
    }
    return findings;
  }

  void CheckParked() {
    if (worker_.consumer.parked_queue.empty()) return;
    Add(FindParkedQueue());
    if (has_management_) Add(CheckParkedQueue(facts_));
  }

  Finding FindParkedQueue() {
    constexpr char kCheck[] = "parked queue";
    const std::string name = InQuotes(worker_.consumer.parked_queue);
    const auto there =
        session_.DeclareQueue({.name = worker_.consumer.parked_queue, .passive = true});
    if (there.ok() && there->message_count == 0) {
      return Ok(kCheck, name + " exists: 0 parked messages");
    }
    if (there.ok()) {
      const std::string& queue = worker_.consumer.queue;
      const bool is_default = worker_.consumer.parked_queue == queue + ".parked";
      return Warning(
          kCheck, absl::StrCat(name, " has ", there->message_count, " parked messages"),
          absl::StrCat(
              "look at their errors, then replay or drop them: retryq parked list --queue ",
              ShellQuoted(queue),
              is_default ? "" : " --parked " + ShellQuoted(worker_.consumer.parked_queue)));
    }
    if (!absl::IsNotFound(there.status()) || !worker_.delay_queues().declare) {
      return Absence(kCheck, there.status(), "queue " + name,
                     "import the output of retryq plan --definitions --queue, as a user with "
                     "configure permission");
    }
    const absl::Status may = session_.MayConfigure(worker_.consumer.parked_queue);
    if (may.ok()) return Ok(kCheck, "the first worker will declare " + name);
    return ProblemOf(
        kCheck,
        absl::Status(may.code(), absl::StrCat(name, " does not exist and cannot be declared (",
                                              Printable(std::string(may.message())), ")")),
        absl::IsResourceExhausted(may) ? LimitReached(may).remedy
                                       : GrantCommand(worker_, granted_));
  }

  // Returns a queue, or a missing queue as the worker will declare it, with its policies.
  absl::StatusOr<Json> QueueAsKept(const std::string& name) {
    absl::StatusOr<Json> queue = Get(Path("queues", name));
    if (!absl::IsNotFound(queue.status())) {
      return MayTakeMessages(facts_.policies) ? AwaitPolicies(name) : queue;
    }
    std::optional<QueueType> type;
    if (worker_.consumer.declare) type = worker_.consumer.declare->type;
    if (name ==
        worker_.consumer.parked_queue) {  // the first worker declares it like its delay queues
      type = worker_.delay_queues().declare ? std::optional(worker_.delay_queues().queue_type)
                                            : std::nullopt;
    }
    if (!type) return queue;
    const std::string type_name = *type == QueueType::kQuorum ? "quorum" : "classic";
    Json future = {{"type", type_name}};
    if (!MayTakeMessages(facts_.policies)) {
      future["effective_policy_definition"] = Json::object();
      return future;
    }
    // Policies that match the beginning of the name also match the name of this temporary queue.
    const std::string probe = name + ".doctor";
    const auto declared = session_.DeclareQueue(
        {.name = probe,
         .arguments = {{"x-queue-type", type_name}, {"x-expires", std::int64_t{60'000}}}});
    if (!declared.ok()) return future;
    const absl::StatusOr<Json> shown = AwaitPolicies(probe);
    session_.DeleteQueue(probe).IgnoreError();
    if (!shown.ok()) return future;
    for (const char* field : {"policy", "operator_policy", "effective_policy_definition"}) {
      future[field] = FieldOf(*shown, field);
    }
    // The command in a remedy excludes the queue from a policy, but not the temporary queue.
    const std::string excluded = absl::StrCat("^(?!", OwnNames(worker_), ")");
    for (const AppliedPolicy& policy : PoliciesOf(*shown, facts_.policies)) {
      if (TextOf(policy.json, "pattern").value_or("").starts_with(excluded)) {
        future["effective_policy_definition"] = Json::object();
      }
    }
    return future;
  }

  // Requests a queue until the management API shows its policies. Returns kNotFound if the queue
  // was deleted before. If the policies did not appear in time, later calls do not wait.
  absl::StatusOr<Json> AwaitPolicies(const std::string& name) {
    const absl::Time end = absl::Now() + kPatienceWithPolicies;
    for (;;) {
      absl::StatusOr<Json> queue = Get(Path("queues", name));
      if (queue.ok() ? ShowsPolicies(*queue) : !absl::IsNotFound(queue.status()) || IsGone(name)) {
        return queue;
      }
      shows_policies_ = shows_policies_ && absl::Now() < end;
      if (!shows_policies_) return queue;
      session_.Wait(absl::Milliseconds(200));
    }
  }

  bool IsGone(const std::string& queue) {
    return absl::IsNotFound(session_.DeclareQueue({.name = queue, .passive = true}).status());
  }

  // Checks delay queues, and the shovels, limits and policies that affect them.
  void CheckDelays() {
    std::vector<Json> queues;
    const std::string& prefix = worker_.delay_queues().prefix;
    const std::string& vhost = worker_.place.connection.vhost;
    const absl::Status visited =
        VisitQueues(*api_, vhost, prefix + ".", [&](const Json& queue, absl::Time /*at*/) {
          const auto name = ParseDelayQueueName(TextOf(queue, "name").value_or(""), prefix);
          if (name && !IsThrowAway(*name)) queues.push_back(queue);
        });
    if (visited.ok()) {
      Add(CheckDelayQueues(queues, worker_));
    } else {
      Add(SkippedBy("delay queues", visited));
    }
    // Without the plugin or the permission there are no shovels to check.
    const auto shovels = Get("/parameters/shovel/" + PercentEncoded(vhost));
    if (shovels.ok()) Add(CheckShovels(*shovels, worker_));
    CheckLimitsOfBroker(static_cast<std::int64_t>(queues.size()));
    if (policies_read_.ok()) {
      CheckPoliciesOfDelays(std::move(queues));
    } else {
      Add(SkippedBy("policies", policies_read_));
    }
  }

  void CheckLimitsOfBroker(std::int64_t delay_queues) {
    constexpr char kCheck[] = "limits";
    const auto of_vhost = GetFor(kCheck, Path("vhost-limits"));
    if (!of_vhost) return;
    const auto of_user =
        GetFor(kCheck, "/user-limits/" + PercentEncoded(worker_.place.connection.user));
    if (!of_user) return;
    const auto queues = GetFor(kCheck, Path("queues") + "?page=1&page_size=1&disable_stats=true");
    const auto connections = GetFor(
        kCheck,
        "/connections?columns=vhost,user,channels,protocol,client_properties.connection_name");
    if (!queues || !connections) return;
    Add(CheckAmqp10(*connections, worker_));
    const Findings findings = CheckLimits({.of_vhost = *of_vhost,
                                           .of_user = *of_user,
                                           .connections = *connections,
                                           .queues = IntegerOf(*queues, "total_count").value_or(0),
                                           .own_queues = delay_queues},
                                          worker_);
    Add(findings);
    if (findings.empty()) Add(Ok(kCheck, "there is room for a worker"));
  }

  // Asks the broker which policies apply to a temporary delay queue, if one of them could be
  // harmful. `queues`: the existing delay queues.
  void CheckPoliciesOfDelays(std::vector<Json> queues) {
    const Policies& policies = facts_.policies;
    const bool may_federate = MayFederate(policies);
    const bool is_probed =
        is_open_ && worker_.delay_queues().declare && (may_federate || MayHarm(policies, worker_));
    Json exchange;
    std::optional<ThrowAwayQueue> probe;
    if (is_probed) {
      probe.emplace(session_, worker_.delay_queues(), TargetOf(worker_), absl::Minutes(1));
    }
    bool is_dropped = false;
    if (probe && probe->Declare().ok()) {
      if (may_federate) session_.DeclareExchange(probe->exchange()).IgnoreError();
      const absl::StatusOr<Json> queue = AwaitPolicies(probe->queue().name);
      // A temporary queue of type quorum is shared, so another worker may have deleted it.
      is_dropped = absl::IsNotFound(queue.status()) &&
                   worker_.delay_queues().queue_type == QueueType::kClassic;
      if (queue.ok() && ShowsPolicies(*queue)) queues.insert(queues.begin(), *queue);
    }
    if (may_federate && !queues.empty()) {
      const std::string name = TextOf(queues.front(), "name").value_or("");
      exchange = Get(Path("exchanges", name)).value_or(nullptr);
      Add(CheckFederation(queues.front(), exchange, policies, worker_));
    }
    Add(is_dropped ? PolicyThatDropsQueues(policies, worker_)
                   : CheckPolicies(policies, queues, worker_));
  }

  void CheckServer() {
    const auto health = api_->GetHealth("/health/checks/alarms");
    Add(health.ok() ? CheckAlarms(*health) : SkippedBy("alarms", health.status()));
    if (worker_.place.connection.tls) {
      const auto certificates = api_->GetHealth("/health/checks/certificate-expiration/1/months");
      if (certificates.ok()) Add(CheckCertificates(*certificates));
    }
    Add(CheckClock(clock_, worker_.delay_queues()));
    if (const auto vhosts = GetFor("default queue type", "/vhosts")) {
      Add(CheckDefaultQueueType(*vhosts, worker_.place.connection.vhost));
    }
  }

  // Checks that a repeated declare of a classic queue renews its lease. Takes some seconds.
  Finding CheckLease() {
    constexpr char kCheck[] = "lease";
    if (!worker_.delay_queues().declare) return Ok(kCheck, "none; imported queues do not expire");
    if (worker_.delay_queues().queue_type == QueueType::kQuorum) {
      return Ok(kCheck, "quorum queues rotate and need no renewal");
    }
    // On a slow broker, a test that takes longer than the lease proves nothing, so a longer lease
    // follows.
    for (const absl::Duration lease : {absl::Seconds(3), absl::Seconds(12)}) {
      ThrowAwayQueue probe(session_, worker_.delay_queues(), TargetOf(worker_), lease);
      const absl::Time declaring = absl::Now();
      if (!probe.Declare().ok()) {
        return Skipped(kCheck, "a temporary queue cannot be declared", kSeePermissions);
      }
      const absl::Time declared = absl::Now();
      session_.Wait(lease * 2 / 3);
      const absl::Time renewing = absl::Now();
      if (absl::Status status = probe.Declare(); !status.ok()) {
        return ProblemOf(kCheck, status, "see the checks 'permissions' and 'alarms'");
      }
      if (absl::Now() - declaring >= lease) continue;
      // By then the first lease has expired, but the renewed one has not.
      session_.Wait(declared + lease + absl::Milliseconds(500) - absl::Now());
      const absl::Status there = probe.Look();
      const absl::Duration since = absl::Now() - renewing;
      if (there.ok()) return Ok(kCheck, "a repeated declare renews the lease of a queue");
      if (since >= lease) continue;
      return Problem(
          kCheck,
          absl::StrCat("a queue with a lease of ", DurationText(lease), " was deleted within ",
                       DurationText(absl::Ceil(since, absl::Milliseconds(100))),
                       " after its lease was renewed: messages in delay queues are "
                       "lost"),
          "see the check 'policies': a policy that sets 'expires' has this effect; "
          "without one, use --queue-type quorum, which needs no renewal");
    }
    return Warning(kCheck, "the broker responds too slowly to test it",
                   "check the load of the broker");
  }

  // Returns whether the permission exists; otherwise reports a finding.
  bool HasRight(const std::string& right, const absl::Status& status) {
    constexpr char kCheck[] = "permissions";
    if (status.ok()) return true;
    has_all_rights_ = false;
    const std::string reason = Printable(std::string(status.message()));
    if (session_.blocked()) {
      if (!std::exchange(is_alarm_reported_, true)) {
        Add(Skipped(kCheck, "cannot " + right + " during an alarm of the broker",
                    "run retryq doctor again when the alarm is over"));
      }
    } else if (absl::IsResourceExhausted(status)) {
      Add(LimitReached(status));
    } else {
      const bool refused = absl::IsPermissionDenied(status);
      const std::string finding = refused
                                      ? absl::StrCat("no permission to ", right, " (", reason, ")")
                                      : absl::StrCat("cannot ", right, ": ", reason);
      Add(ProblemOf(kCheck, absl::Status(status.code(), finding),
                    refused ? GrantCommand(worker_, granted_) : ""));
    }
    return false;
  }

  // Tries all permissions that a worker needs. The test consumes no message and publishes none to
  // an existing target.
  void CheckPermissions() {
    if (!worker_.consumer.queue.empty()) {
      const absl::Status may = session_.MayConsume(worker_.consumer.queue);
      // A missing or exclusive queue has been reported already.
      if (!absl::IsNotFound(may) && !absl::IsAborted(may)) {
        HasRight("consume " + InQuotes(worker_.consumer.queue), may);
      }
    }
    ThrowAwayQueue probe(session_, worker_.delay_queues(), TargetOf(worker_), absl::Minutes(1));
    const bool may_declare =
        worker_.delay_queues().declare && HasRight("declare delay queues", probe.Declare()) &&
        HasRight("declare their exchanges", session_.DeclareExchange(probe.exchange())) &&
        HasRight("bind them", session_.Bind(probe.queue().name, probe.exchange().name));
    // The exchange is deleted with its queue.
    if (may_declare) session_.DeleteQueue(probe.queue().name).IgnoreError();

    const bool may_publish =
        HasRight("publish to the default exchange, which parking needs",
                 session_.MayPublish("", worker_.delay_queues().prefix + ".doctor.nowhere"));
    // During an alarm nothing could be deleted. The broker reports one to connections that have
    // published.
    session_.Wait(kPatienceWithAlarm);
    if (session_.blocked()) {
      if (may_publish) HasRight("publish to delay queues", absl::UnavailableError("blocked"));
    } else if (may_declare && session_.DeclareExchange(probe.exchange()).ok()) {
      // The exchange has no bindings now, so the message reaches no queue.
      HasRight("publish to delay queues", session_.MayPublish(probe.exchange().name, "nowhere"));
    }
    if (!has_all_rights_) return;
    Add(Ok("permissions",
           worker_.delay_queues().declare
               ? "the user has all permissions that a worker needs"
               : "the user has all permissions that can be tested with --no-declare"));
  }

  const WorkOptions& worker_;
  const std::function<void(const Finding&)> tell_;
  Findings findings_;
  EventLoop loop_;
  BrokerSession session_;
  std::optional<ManagementApi> api_;  // set after the attempt to open the session
  bool is_open_ = false;
  bool has_management_ = false;
  bool has_work_queue_ = true;  // also true if none is named
  bool has_all_rights_ = true;
  bool is_alarm_reported_ = false;
  bool shows_policies_ = true;  // the management API, in time
  QueueFacts facts_ = {.worker = worker_,
                       .get = [this](const std::string& path) { return api_->Get(path); },
                       .queue = [this](const std::string& name) { return QueueAsKept(name); },
                       .policies = {}};
  absl::Status policies_read_;
  std::optional<ManagementApi::ClockDifference> clock_;
  std::optional<GrantedRights> granted_;  // not set if unknown
};

}  // namespace

Parsed<WorkOptions> ParseDoctor(const Arguments& arguments) {
  WorkOptions worker;
  FlagParser parser(kDoctorHelp);
  AddWorkFlags(parser,
               "Print one JSON object: "
               "{\"checks\":[{\"check\",\"result\",\"finding\",\"remedy\"},...]}. The result is "
               "ok, warning, problem or skipped",
               &worker);
  const Arguments flags = TakeCommand(arguments, &worker.command);
  parser.Check([](FlagReader& reader) {
    reader.RequireFor("--parked", reader.given("--queue"), "--queue");
  });
  return parser.ParseInto(flags, worker);
}

int Doctor(const WorkOptions& worker) {
  absl::Status written;
  const auto write = [&written](const std::string& text) {
    if (written.ok()) written = WriteResult(text);
  };
  const auto tell = [&](const Finding& finding) {
    if (!worker.json) write(FindingText(finding));
  };
  const Findings findings = Examination(worker, tell).Run();
  write(worker.json ? ReportJson(findings) : "\n" + SummaryOf(findings));
  if (written.ok()) {
    if (CountFindings(findings, Finding::Result::kProblem) == 0) return EX_OK;
    const bool refused = std::any_of(findings.begin(), findings.end(),
                                     [](const Finding& finding) { return finding.refused; });
    return refused ? EX_NOPERM : EX_UNAVAILABLE;
  }
  WriteErrors(absl::StrCat("retryq doctor: ", std::string(written.message()), "\n"));
  return EX_IOERR;
}

std::string FindingText(const Finding& finding) {
  std::string text = absl::StrFormat("%-8s  %-18s  %s\n", NameOf(finding.result), finding.check,
                                     EscapedText(finding.finding));
  if (!finding.remedy.empty()) {
    absl::StrAppend(&text, std::string(30, ' '), "remedy: ", EscapedText(finding.remedy), "\n");
  }
  return text;
}

}  // namespace retryq::cli
