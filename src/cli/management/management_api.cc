#include "cli/management/management_api.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr int kBadRequest = 400;
constexpr int kUnauthorized = 401;
constexpr int kForbidden = 403;
constexpr int kNotFound = 404;
constexpr int kServiceUnavailable = 503;

constexpr char kNameTheApi[] =
    "enable the management plugin (rabbitmq-plugins enable rabbitmq_management), or name the URL "
    "of the management API with --management";

// RabbitMQ's server rounds the Date header down, and computes it anew once a second: it is up to
// two seconds old.
std::optional<ManagementApi::ClockDifference> CompareClocks(const HttpReply& reply) {
  if (!reply.date) return std::nullopt;
  constexpr absl::Duration kMeanAge = absl::Seconds(1);
  const absl::Duration half_trip = (reply.received - reply.sent) / 2;
  return ManagementApi::ClockDifference{
      .difference = *reply.date + kMeanAge - (reply.sent + half_trip),
      .error = kMeanAge + half_trip};
}

// The field that the response to a path has on every version of RabbitMQ; nullptr if there is no
// such field.
const char* NeededField(std::string_view path) {
  if (path == "/overview") return "rabbitmq_version";
  const bool is_object = path.starts_with("/queues/") || path.starts_with("/exchanges/");
  return is_object && std::count(path.begin(), path.end(), '/') == 3 ? "name" : nullptr;
}

}  // namespace

absl::StatusOr<ManagementApi::Answer> ManagementApi::Get(const std::string& path) {
  return OnlyOk(GetHealth(path), path);
}

absl::StatusOr<ManagementApi::Answer> ManagementApi::GetHealth(const std::string& path) {
  return Read(http_.Get("/api" + path), path);
}

void ManagementApi::Get(const std::string& path,
                        std::function<void(const absl::StatusOr<Answer>&)> done) {
  http_.Get("/api" + path,
            [this, path, done = std::move(done)](const absl::StatusOr<HttpReply>& reply) {
              done(OnlyOk(Read(reply, path), path));
            });
}

struct ManagementApi::Gathering {
  std::function<void(const Fetch&)> look;
  std::function<void()> done;
  std::map<std::string, absl::StatusOr<Answer>> answers = {};
};

void ManagementApi::Gather(std::function<void(const Fetch&)> look, std::function<void()> done) {
  Continue(
      std::make_shared<Gathering>(Gathering{.look = std::move(look), .done = std::move(done)}));
}

void ManagementApi::Continue(const std::shared_ptr<Gathering>& gathering) {
  std::string missing;
  gathering->look([&](const std::string& path) -> absl::StatusOr<Answer> {
    const auto known = gathering->answers.find(path);
    if (known != gathering->answers.end()) return known->second;
    if (missing.empty()) missing = path;
    return absl::UnavailableError("not requested yet");
  });
  if (missing.empty()) return gathering->done();
  Get(missing, [this, gathering, missing](const absl::StatusOr<Answer>& answer) {
    gathering->answers.emplace(missing, answer);
    Continue(gathering);
  });
}

absl::StatusOr<ManagementApi::Answer> ManagementApi::Read(const absl::StatusOr<HttpReply>& reply,
                                                          const std::string& path) const {
  if (absl::IsUnavailable(reply.status()) || absl::IsDeadlineExceeded(reply.status())) {
    return absl::UnavailableError(
        absl::StrCat(std::string(reply.status().message()), "; ", kNameTheApi));
  }
  if (absl::IsResourceExhausted(reply.status())) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(reply.status().message()), "; ", kNameTheApi));
  }
  if (!reply.ok()) return reply.status();
  if (reply->status != kHttpOk && reply->status != kServiceUnavailable) {
    return Refusal(*reply, path);
  }
  Answer answer{.http_status = reply->status,
                .json = ParseJson(reply->body),
                .clock = CompareClocks(*reply),
                .at = reply->date.value_or(reply->received)};
  if (answer.json.is_discarded()) {
    return absl::FailedPreconditionError(
        absl::StrCat(Describe(url()), ": the server is not a management API (the response is ",
                     WhyNotJson(reply->body), "); ", kNameTheApi));
  }
  return answer;
}

absl::StatusOr<ManagementApi::Answer> ManagementApi::OnlyOk(absl::StatusOr<Answer> answer,
                                                            const std::string& path) const {
  if (answer.ok() && answer->http_status != kHttpOk) {
    return Refusal({.status = answer->http_status, .body = JsonLine(answer->json)}, path);
  }
  const char* const needed = answer.ok() ? NeededField(path) : nullptr;
  if (needed != nullptr && !TextOf(answer->json, needed)) {
    return absl::FailedPreconditionError(
        absl::StrCat(Describe(url()), ": the server is not a management API (the response to ",
                     path, " has no ", needed, "); ", kNameTheApi));
  }
  return answer;
}

absl::Status ManagementApi::Refusal(const HttpReply& reply, const std::string& path) const {
  const Json body = ParseJson(reply.body);
  const std::string reason = Printable(TextOf(body, "reason").value_or(""));
  const std::string in_brackets = reason.empty() ? "" : " (" + reason + ")";
  const std::string where = Describe(url()) + ": ";
  const std::string user = absl::StrCat("user ", InQuotes(url().user));
  const auto denied = [&](const std::string& why) {
    return absl::PermissionDeniedError(
        absl::StrCat(where, user, why, ", or name another user with --management"));
  };
  switch (reply.status) {
    case kUnauthorized:
    case kForbidden:
      if (absl::StrContains(reason, "Not management user")) {
        return denied(
            " may not use the management API; give the user the tag 'monitoring' (rabbitmqctl "
            "set_user_tags)");
      }
      if (absl::StrContains(reason, "virtual host")) {
        return denied(
            " has no permissions in the vhost; grant permissions (rabbitmqctl set_permissions)");
      }
      if (absl::StrContains(reason, "Not ")) {  // "Not monitor user", "Not administrator user"
        return denied(
            absl::StrCat(" may not read ", path, in_brackets, "; give the user the tag ",
                         absl::StrContains(reason, "monitor") ? "'monitoring'" : "'administrator'",
                         " (rabbitmqctl set_user_tags)"));
      }
      return absl::UnauthenticatedError(
          absl::StrCat(where, user, " was refused", in_brackets,
                       "; name a user and password of the management API with --management"));
    case kNotFound:
      if (body.is_discarded()) {
        return absl::FailedPreconditionError(
            absl::StrCat(where, "the server is not a management API (404); ", kNameTheApi));
      }
      return absl::NotFoundError(absl::StrCat(where, path, " does not exist"));
    case kBadRequest:
      if (TextOf(body, "error") == "page_out_of_range") {
        return absl::OutOfRangeError(absl::StrCat(where, path, " does not exist", in_brackets));
      }
      [[fallthrough]];
    default:
      return absl::UnavailableError(
          absl::StrCat(where, "the server responded with status ", reply.status, in_brackets,
                       "; check the log of the server, or name another URL with --management"));
  }
}

namespace {

constexpr int kPageSize = 100;   // the statistics make each queue large
constexpr int kMostPages = 100;  // more pages cannot be real

// The broker's finest statistics: publishes of ten minutes, lengths of one minute.
constexpr char kStatistics[] = "&msg_rates_age=600&msg_rates_incr=5&lengths_age=60&lengths_incr=5";

std::string PagePath(const std::string& vhost, const std::string& beginning, int page) {
  return absl::StrCat(UrlPath({"queues", vhost}), "?page=", page, "&page_size=", kPageSize,
                      "&use_regex=true&name=", PercentEncoded("^" + RegexEscaped(beginning)),
                      kStatistics);
}

// Whether both are limits and `a` is smaller.
bool IsStricter(const Json& a, const Json& b) {
  return a.is_number() && b.is_number() && a >= 0 && (b < 0 || a < b);
}

}  // namespace

absl::Status VisitQueues(ManagementApi& api, const std::string& vhost, const std::string& beginning,
                         const std::function<void(const Json&, absl::Time)>& visit) {
  std::int64_t pages = 1;
  for (int page = 1; page <= std::min<std::int64_t>(pages, kMostPages); ++page) {
    const auto answer = api.Get(PagePath(vhost, beginning, page));
    if (absl::IsNotFound(answer.status())) {
      return absl::NotFoundError(absl::StrCat(Describe(api.url()), ": vhost ", InQuotes(vhost),
                                              " does not exist, or user ", InQuotes(api.url().user),
                                              " has no permissions in it; see the end of --url"));
    }
    // Queues were deleted meanwhile, and with them the page.
    if (page > 1 && absl::IsOutOfRange(answer.status())) break;
    if (!answer.ok()) return answer.status();
    const Json& items = FieldOf(answer->json, "items");
    if (!items.is_array()) {
      return absl::FailedPreconditionError(absl::StrCat(
          Describe(api.url()), ": the response does not list queues; use RabbitMQ 3.10 or newer"));
    }
    for (const Json& item : items) visit(item, answer->at);
    pages = IntegerOf(answer->json, "page_count").value_or(1);
  }
  return absl::OkStatus();
}

std::optional<QueueSetting> QueueSettingOf(const Json& queue, const char* key) {
  const std::string name = absl::StrCat("x-", key);
  const Json& argument = FieldOf(FieldOf(queue, "arguments"), name.c_str());
  const Json& of_policy = FieldOf(FieldOf(queue, "effective_policy_definition"), key);
  if (argument.is_null() && of_policy.is_null()) return std::nullopt;
  if (argument.is_null() || IsStricter(of_policy, argument)) {
    return QueueSetting{.value = of_policy, .is_argument = false};
  }
  return QueueSetting{.value = argument, .is_argument = true};
}

std::vector<LengthLimit> LengthLimitsOf(const Json& queue) {
  std::vector<LengthLimit> limits;
  for (LengthLimit limit : {LengthLimit{"max-length", 0, "messages_ready"},
                            LengthLimit{"max-length-bytes", 0, "message_bytes_ready"}}) {
    const std::optional<QueueSetting> setting = QueueSettingOf(queue, limit.key);
    if (!setting || !setting->value.is_number_integer()) continue;
    limit.most = setting->value.get<std::int64_t>();
    limits.push_back(limit);
  }
  return limits;
}

std::optional<QueueSetting> RefusalOf(const Json& queue) {
  const std::optional<QueueSetting> overflow = QueueSettingOf(queue, "overflow");
  if (!overflow || !overflow->value.is_string() ||
      !absl::StartsWith(overflow->value.get_ref<const std::string&>(), "reject-publish")) {
    return std::nullopt;
  }
  return overflow;
}

}  // namespace retryq::cli
