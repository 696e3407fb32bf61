#include "retry/delay_queues/delay_queue_remedies.h"

#include "absl/strings/str_cat.h"
#include "base/quoting.h"
#include "base/remedy.h"

namespace retryq {
namespace {

std::string InBrackets(std::string_view detail) {
  return detail.empty() ? "" : absl::StrCat(" (", std::string(detail), ")");
}

// A pattern for rabbitmqctl set_permissions that matches all names with this prefix.
std::string NamesWith(std::string_view prefix) {
  return ShellQuoted(absl::StrCat("^", RegexEscaped(absl::StrCat(std::string(prefix), ".")), ".*"));
}

std::string RemedyFor(const absl::Status& refusal, std::string_view prefix,
                      std::string_view dead_letter_exchange) {
  switch (refusal.code()) {
    case absl::StatusCode::kPermissionDenied:
      return GrantRemedy(absl::StrCat(
          "'configure', 'write' and 'read' on ", NamesWith(prefix), " and 'write' on ",
          dead_letter_exchange.empty() ? "'amq.default'" : InQuotes(dead_letter_exchange)));
    case absl::StatusCode::kFailedPrecondition:
      return "another program has declared a queue of that name: delete it, or choose another "
             "prefix";
    case absl::StatusCode::kNotFound:
      return "start the node that hosts the queue, or delete the queue";
    case absl::StatusCode::kAborted:
      return "another connection holds the queue: close that, or choose another prefix";
    case absl::StatusCode::kResourceExhausted:
      return RemedyForLimit() + "; retryq tries again";
    case absl::StatusCode::kInvalidArgument:
      return "choose a shorter prefix";
    default:
      return "none: retryq tries again";
  }
}

}  // namespace

std::string RemedyForLimit() {
  return "raise the limit (rabbitmqctl set_vhost_limits: max-queues; cluster_queue_limit, "
         "cluster_exchange_limit), or delete unused queues";
}

absl::Status ExplainIfExclusive(const absl::Status& answer) {
  if (!absl::IsAborted(answer)) return answer;
  return absl::FailedPreconditionError(absl::StrCat(
      answer.message(),
      "; it is exclusive to the connection that declared it; remedy: declare it durable, and not "
      "exclusive"));
}

std::string WhyRenamed(RenameCause cause, std::string_view name, std::string_view detail) {
  const std::string what = absl::StrCat("used instead of ", InQuotes(name), ", ");
  const std::string text = InBrackets(detail);
  switch (cause) {
    case RenameCause::kOtherArguments:
      return absl::StrCat(what, "which exists with other arguments", text,
                          "; remedy: give all clients of this vhost and prefix the same work "
                          "exchange, windows and margin, or give this one a prefix of its own");
    case RenameCause::kNodeDown:
      return absl::StrCat(what, "whose node the broker cannot reach", text,
                          "; remedy: start the node that hosts it, or delete it");
    case RenameCause::kTooSlow:
      return absl::StrCat(what, "whose declare took over 5 s", text,
                          "; remedy: check the node that hosts it, which may be down");
    case RenameCause::kSilent:
      return absl::StrCat(what, "whose confirms do not arrive", text,
                          "; remedy: delete it once it is empty: a quorum queue may never elect a "
                          "leader again if its broker was killed right after its declare");
    case RenameCause::kNacked:
      break;
  }
  return absl::StrCat(what, "to which the broker refused a publish", text,
                      "; remedy: check the policies that limit it, and the log of its node");
}

absl::Status ExplainRefusal(const absl::Status& refusal, std::string_view name,
                            std::string_view prefix, std::string_view dead_letter_exchange) {
  return absl::Status(refusal.code(),
                      absl::StrCat("delay queue ", InQuotes(name), " cannot be declared",
                                   InBrackets(std::string(refusal.message())),
                                   "; remedy: ", RemedyFor(refusal, prefix, dead_letter_exchange)));
}

absl::Status ExplainAbsence(const absl::Status& refusal, std::string_view name,
                            std::string_view prefix) {
  const std::string remedy = absl::IsPermissionDenied(refusal)
                                 ? GrantRemedy(absl::StrCat("'read' on ", NamesWith(prefix)))
                                 : std::string(
                                       "import the output of `retryq plan --definitions "
                                       "--queue QUEUE` for this policy, as a user with configure "
                                       "permission, or let this client declare");
  return absl::Status(refusal.code(),
                      absl::StrCat("delay queue ", InQuotes(name), " cannot be used",
                                   InBrackets(std::string(refusal.message())),
                                   ", and this client declares nothing; remedy: ", remedy));
}

std::string WhyFull(std::string_view name, const DelayQueueOptions& options) {
  std::string limits;
  if (options.max_length > 0) absl::StrAppend(&limits, options.max_length, " messages");
  if (options.max_length_bytes > 0) {
    absl::StrAppend(&limits, limits.empty() ? "" : " or ", options.max_length_bytes, " bytes");
  }
  return absl::StrCat(InQuotes(name), " is full (", limits,
                      "): the message stays in its work queue, unacked, until there is room");
}

std::string WhyBroken(std::string_view name, std::string_view detail) {
  return absl::StrCat(InQuotes(name), " was deleted before its lease ended", InBrackets(detail),
                      "; remedy: find out who deletes it or its exchange, or which policy shortens "
                      "its 'expires' (rabbitmqctl list_policies, list_operator_policies)");
}

}  // namespace retryq
