#include "cli/doctor/worker_checks.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/doctor/doctor_rules.h"
#include "cli/doctor/limit_rules.h"
#include "cli/doctor/queue_rules.h"
#include "cli/doctor/throw_away_queue.h"
#include "cli/management/json_fields.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kAlarmPatience = absl::Milliseconds(200);

std::string Vhost(const DoctorOptions& options) {
  return "vhost " + InQuotes(options.place.connection.vhost);
}

// The finding for a refused passive declare.
Finding Absence(const std::string& check, const absl::Status& status, const std::string& what,
                const std::string& remedy, const DoctorOptions& options) {
  if (absl::IsNotFound(status)) {
    return Problem(check, absl::StrCat(what, " is not there, in ", Vhost(options)), remedy);
  }
  if (absl::IsAborted(status)) {
    return Problem(check, what + " is exclusive: only the connection that declared it can use it",
                   "declare it without exclusive, and durable");
  }
  const bool refused = absl::IsPermissionDenied(status);
  return ProblemOf(check, status, refused ? GrantCommand(options) : remedy);
}

absl::StatusOr<DeclareOk> Look(BrokerSession& session, const std::string& queue) {
  return session.DeclareQueue({.name = queue, .passive = true});
}

// The checks of permissions, one after the other.
class Rights {
 public:
  Rights(BrokerSession& session, const DoctorOptions& options)
      : session_(session), options_(options) {}

  // Returns whether the permission exists; otherwise adds a finding.
  bool Has(const std::string& right, const absl::Status& status) {
    if (status.ok()) return true;
    if (session_.blocked()) {
      if (!blocked_) {
        findings_.push_back(Skipped("permissions", right + ", as an alarm stops all publishing",
                                    "run this again once the alarm is over"));
      }
      blocked_ = true;
    } else if (absl::IsPermissionDenied(status)) {
      findings_.push_back(Refused(
          "permissions",
          absl::StrCat("no right to ", right, " (", Printable(std::string(status.message())), ")"),
          GrantCommand(options_)));
    } else if (absl::IsResourceExhausted(status)) {
      findings_.push_back(LimitReached(status));
    } else {
      findings_.push_back(ProblemOf(
          "permissions",
          absl::Status(status.code(), absl::StrCat("cannot ", right, ": ",
                                                   Printable(std::string(status.message()))))));
    }
    return false;
  }

  std::vector<Finding> Findings() && {
    if (findings_.empty()) {
      findings_.push_back(
          Ok("permissions", options_.delay_queues.declare
                                ? "all that a worker needs"
                                : "all that a worker needs, as far as it can be tried out without "
                                  "the right to configure"));
    }
    return std::move(findings_);
  }

 private:
  BrokerSession& session_;
  const DoctorOptions& options_;
  std::vector<Finding> findings_;
  bool blocked_ = false;
};

}  // namespace

std::vector<Finding> CheckWorkQueue(BrokerSession& session, const DoctorOptions& options) {
  if (options.queue.empty()) {
    return {Skipped("work queue", "none is named", "name it with --queue")};
  }
  const absl::StatusOr<DeclareOk> there = Look(session, options.queue);
  if (absl::IsNotFound(there.status()) && options.declare_queue) {
    return {Ok("work queue", InQuotes(options.queue) + " will be declared by the first worker")};
  }
  if (!there.ok()) {
    return {Absence("work queue", there.status(), "queue " + InQuotes(options.queue),
                    "declare it, or correct --queue or the vhost at the end of --url", options)};
  }
  std::vector<Finding> findings = {
      Ok("work queue", absl::StrCat(InQuotes(options.queue), " is there: ", there->message_count,
                                    " messages ready, ", there->consumer_count, " consumers"))};
  if (auto idle = CheckConsumed(options.queue, there->message_count, there->consumer_count)) {
    findings.push_back(*std::move(idle));
  }
  return findings;
}

std::vector<Finding> CheckWorkExchange(BrokerSession& session, const DoctorOptions& options) {
  if (options.work_exchange.empty()) return {};
  const absl::Status there = session.CheckExchange(options.work_exchange);
  if (!there.ok()) {
    return {Absence("work exchange", there, "exchange " + InQuotes(options.work_exchange),
                    "declare it, or correct --work-exchange; what comes due meanwhile is dropped",
                    options)};
  }
  return {Ok("work exchange", InQuotes(options.work_exchange) + " is there")};
}

std::vector<Finding> CheckParkedQueue(BrokerSession& session, const DoctorOptions& options) {
  if (options.parked_queue.empty()) return {};
  const absl::StatusOr<DeclareOk> there = Look(session, options.parked_queue);
  if (there.ok()) {
    if (auto parked = CheckNothingParked(options, there->message_count)) {
      return {*std::move(parked)};
    }
    return {Ok("parked queue", InQuotes(options.parked_queue) + " is there: 0 messages parked")};
  }
  if (!absl::IsNotFound(there.status()) || !options.delay_queues.declare) {
    return {Absence("parked queue", there.status(), "queue " + InQuotes(options.parked_queue),
                    "have a user who may configure the broker import what retryq plan "
                    "--definitions --queue prints",
                    options)};
  }
  const absl::Status may = session.MayConfigure(options.parked_queue);
  if (may.ok()) {
    return {
        Ok("parked queue", InQuotes(options.parked_queue) + " will be made by the first worker")};
  }
  return {
      ProblemOf("parked queue",
                absl::Status(may.code(), absl::StrCat(InQuotes(options.parked_queue),
                                                      " is not there, and cannot be made (",
                                                      Printable(std::string(may.message())), ")")),
                absl::IsResourceExhausted(may) ? LimitReached(may).remedy : GrantCommand(options))};
}

std::vector<Finding> CheckPermissions(BrokerSession& session, const DoctorOptions& options) {
  Rights rights(session, options);
  if (!options.queue.empty()) {
    const absl::Status may = session.MayConsume(options.queue);
    // A missing or exclusive queue has been reported already.
    if (!absl::IsNotFound(may) && !absl::IsAborted(may))
      rights.Has("consume " + InQuotes(options.queue), may);
  }
  ThrowAwayQueue probe(session, options.delay_queues, TargetOf(options), absl::Minutes(1));
  const bool may_declare =
      options.delay_queues.declare && rights.Has("declare delay queues", probe.Declare()) &&
      rights.Has("declare their exchanges", session.DeclareExchange(probe.exchange())) &&
      rights.Has("bind them", session.Bind(probe.queue().name, probe.exchange().name));
  // The exchange is deleted with its queue.
  if (may_declare) session.DeleteQueue(probe.queue().name).IgnoreError();

  const bool may_publish =
      rights.Has("publish to the default exchange, which parking needs",
                 session.MayPublish("", options.delay_queues.prefix + ".doctor.nowhere"));
  // During an alarm nothing could be deleted. The broker reports one to connections that have
  // published.
  session.Wait(kAlarmPatience);
  if (session.blocked()) {
    if (may_publish) rights.Has("publish to delay queues", absl::UnavailableError("blocked"));
  } else if (may_declare && session.DeclareExchange(probe.exchange()).ok()) {
    // The exchange has no bindings now, so the message reaches no queue.
    rights.Has("publish to delay queues", session.MayPublish(probe.exchange().name, "nowhere"));
  }
  return std::move(rights).Findings();
}

Finding CheckLease(BrokerSession& session, const DoctorOptions& options) {
  if (!options.delay_queues.declare) {
    return Ok("lease", "none: what is imported does not expire");
  }
  if (options.delay_queues.queue_type == QueueType::kQuorum) {
    return Ok("lease", "quorum queues take turns and need no renewal");
  }
  // On a slow broker, a test that takes longer than the lease proves nothing, so a longer lease
  // follows.
  for (const absl::Duration lease : {absl::Seconds(3), absl::Seconds(12)}) {
    ThrowAwayQueue probe(session, options.delay_queues, TargetOf(options), lease);
    const absl::Time declaring = absl::Now();
    if (absl::Status status = probe.Declare(); !status.ok()) {
      return Skipped("lease", "no throw-away queue could be declared", "see permissions");
    }
    const absl::Time declared = absl::Now();
    session.Wait(lease * 2 / 3);
    const absl::Time renewing = absl::Now();
    if (absl::Status status = probe.Declare(); !status.ok()) {
      return ProblemOf("lease", status, "see permissions and alarms");
    }
    if (absl::Now() - declaring >= lease) continue;
    // By then the first lease has expired, but the renewed one has not.
    session.Wait(declared + lease + absl::Milliseconds(500) - absl::Now());
    const absl::Status there = probe.Look();
    const absl::Duration since = absl::Now() - renewing;
    if (there.ok()) return Ok("lease", "declaring a queue again renews it");
    if (since >= lease) continue;
    return Problem(
        "lease",
        absl::StrCat("a queue with a lease of ", DurationText(lease), " was gone within ",
                     DurationText(absl::Ceil(since, absl::Milliseconds(100))),
                     " of being declared again: messages in delay queues are lost"),
        "see policies: one that sets 'expires' does this; without one retry by --queue-type "
        "quorum, which needs no renewal");
  }
  return Warning("lease", "the broker answers too slowly to tell", "see what keeps it so busy");
}

}  // namespace retryq::cli
