#include "cli/management/management_api.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/management/json_fields.h"
#include "cli/management/management_answer.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr int kHttpOk = 200;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kServiceUnavailable = 503;

constexpr char kWhereIsIt[] =
    "is the management plugin on (rabbitmq-plugins enable rabbitmq_management)? If it is, say "
    "where with --management";

// Servers round the Date down, so on average it is half a second later.
std::optional<ManagementApi::ClockDifference> CompareClocks(const HttpReply& reply) {
  if (!reply.date) return std::nullopt;
  constexpr absl::Duration kHalfASecond = absl::Milliseconds(500);
  const absl::Duration half_trip = (reply.received - reply.sent) / 2;
  return ManagementApi::ClockDifference{
      .difference = *reply.date + kHalfASecond - (reply.sent + half_trip),
      .error = kHalfASecond + half_trip};
}

}  // namespace

absl::StatusOr<ManagementApi::Answer> ManagementApi::Get(const std::string& path) {
  absl::StatusOr<Answer> answer = GetHealth(path);
  if (answer.ok() && answer->http_status != kHttpOk) {
    return Refusal({.status = answer->http_status, .body = JsonLine(answer->json)}, path);
  }
  return answer;
}

absl::StatusOr<ManagementApi::Answer> ManagementApi::GetHealth(const std::string& path) {
  absl::StatusOr<HttpReply> reply = http_.Get("/api" + path);
  if (!reply.ok()) return WithRemedy(reply.status());
  if (reply->status != kHttpOk && reply->status != kServiceUnavailable) {
    return Refusal(*reply, path);
  }
  Answer answer{.http_status = reply->status,
                .json = ParseJson(reply->body),
                .clock = CompareClocks(*reply),
                .at = reply->date.value_or(reply->received)};
  if (answer.json.is_discarded()) {
    return absl::FailedPreconditionError(
        absl::StrCat(Describe(url()), ": what answers there is no management API (the answer is ",
                     WhyNotJson(reply->body), "); ", kWhereIsIt));
  }
  return answer;
}

absl::Status ManagementApi::Refusal(const HttpReply& reply, const std::string& path) const {
  const Json body = ParseJson(reply.body);
  const std::string reason = Printable(TextOf(body, "reason").value_or(""));
  const std::string where = Describe(url()) + ": ";
  const std::string user = absl::StrCat("the user '", Printable(url().user), "'");
  switch (reply.status) {
    case kUnauthorized:
    case kForbidden:
      if (absl::StrContains(reason, "Not management user")) {
        return absl::PermissionDeniedError(
            absl::StrCat(where, user,
                         " may not use the management API; give it the tag 'monitoring' "
                         "(rabbitmqctl set_user_tags), or name another one with --management"));
      }
      if (absl::StrContains(reason, "virtual host")) {
        return absl::PermissionDeniedError(
            absl::StrCat(where, user,
                         " has no rights to the vhost; grant it some (rabbitmqctl "
                         "set_permissions), or name another one with --management"));
      }
      if (absl::StrContains(reason, "Not ")) {  // "Not monitor user", "Not administrator user"
        return absl::PermissionDeniedError(
            absl::StrCat(where, user, " may not see ", path, " (", reason, "); give it the tag ",
                         absl::StrContains(reason, "monitor") ? "'monitoring'" : "'administrator'",
                         " (rabbitmqctl set_user_tags), or name another one with --management"));
      }
      return absl::UnauthenticatedError(absl::StrCat(
          where, user, " is refused", reason.empty() ? "" : " (" + reason + ")",
          "; give a user and password that the management API takes with --management"));
    case kNotFound:
      if (body.is_discarded()) {
        return absl::FailedPreconditionError(
            absl::StrCat(where, "what answers there is no management API (404); ", kWhereIsIt));
      }
      return absl::NotFoundError(absl::StrCat(where, "there is no ", path));
    default:
      return absl::UnavailableError(absl::StrCat(where, "answers with ", reply.status,
                                                 reason.empty() ? "" : " (" + reason + ")"));
  }
}

absl::Status ManagementApi::WithRemedy(const absl::Status& status) const {
  if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) return status;
  return {absl::StatusCode::kUnavailable,
          absl::StrCat(std::string(status.message()), "; ", kWhereIsIt)};
}

std::string VhostPath(std::string_view kind, const std::string& vhost, const std::string& name) {
  return absl::StrCat("/", std::string(kind), "/", PercentEncode(vhost), name.empty() ? "" : "/",
                      name.empty() ? "" : PercentEncode(name));
}

}  // namespace retryq::cli
