#ifndef RETRYQ_CLI_MANAGEMENT_MANAGEMENT_API_H_
#define RETRYQ_CLI_MANAGEMENT_MANAGEMENT_API_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/management/http_client.h"
#include "retryq/amqp/table.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

inline constexpr int kHttpOk = 200;

// RabbitMQ's management HTTP API. Paths begin after "/api", with parts encoded by PercentEncoded.
// Replies are JSON, but may have any content: see json_line.h.
class ManagementApi {
 public:
  // The broker's clock minus the local one, and the error of this difference.
  struct ClockDifference {
    absl::Duration difference;
    absl::Duration error;
  };
  struct Answer {
    int http_status = 0;
    nlohmann::json json;
    std::optional<ClockDifference> clock;
    // The time of the data: the broker's clock, if known, rounded down to seconds.
    absl::Time at;
  };
  // A function that gets a path, such as Get.
  using Fetch = std::function<absl::StatusOr<Answer>(const std::string& path)>;

  // `loop` must outlive it.
  ManagementApi(EventLoop& loop, const ManagementUrl& url, HttpClient::Options options = {})
      : http_(loop, url, options) {}

  // Runs the loop until the reply, and returns it if its status is 200. Errors contain the URL and
  // the remedy: those of HttpClient::Get; kUnauthenticated (user or password), kPermissionDenied
  // (not allowed), kNotFound, kUnavailable (any other status), kFailedPrecondition (not a
  // management API).
  absl::StatusOr<Answer> Get(const std::string& path);

  // Also returns replies with status 503, which failed health checks send.
  absl::StatusOr<Answer> GetHealth(const std::string& path);

  // Like `Get`, but does not run the loop: `done` is called later, unless this object is destroyed
  // first, and may destroy it.
  void Get(const std::string& path, std::function<void(const absl::StatusOr<Answer>&)> done);

  // Calls `done` with the result of `look`, without running the loop. Until all replies are there,
  // `look` is called again after each, and receives kUnavailable for missing ones. So its result
  // must depend only on the replies.
  template <typename Result>
  void Look(std::function<Result(const Fetch& get)> look,
            std::function<void(const Result& result)> done) {
    const auto result = std::make_shared<std::optional<Result>>();
    Gather([result, look = std::move(look)](const Fetch& get) { *result = look(get); },
           [result, done = std::move(done)] { done(**result); });
  }

  const ManagementUrl& url() const { return http_.url(); }

 private:
  struct Gathering;

  void Gather(std::function<void(const Fetch&)> look, std::function<void()> done);
  void Continue(const std::shared_ptr<Gathering>& gathering);
  absl::StatusOr<Answer> Read(const absl::StatusOr<HttpReply>& reply,
                              const std::string& path) const;
  absl::StatusOr<Answer> OnlyOk(absl::StatusOr<Answer> answer, const std::string& path) const;
  absl::Status Refusal(const HttpReply& reply, const std::string& path) const;

  HttpClient http_;
};

// Requests all queues of the vhost whose names begin with `beginning`, page by page, with their
// statistics. Calls `visit` for each queue with its data, which may have any content, and the time
// of the data. Returns the errors of ManagementApi::Get.
absl::Status VisitQueues(
    ManagementApi& api, const std::string& vhost, const std::string& beginning,
    const std::function<void(const nlohmann::json& queue, absl::Time at)>& visit);

// Settings of a queue from its arguments and policies. `queue` is the JSON of GET
// /api/queues/VHOST/NAME, and may have any content.

// A setting of a queue.
struct QueueSetting {
  const nlohmann::json& value;  // part of the queue's JSON
  bool is_argument;             // otherwise of a policy or an operator policy
};

// Returns a setting by its `key` in policies: "message-ttl" for the argument x-message-ttl. If both
// an argument and a policy set a limit, the stricter one applies (a negative limit is unlimited);
// for other settings the argument applies. nullopt if neither sets it.
std::optional<QueueSetting> QueueSettingOf(const nlohmann::json& queue, const char* key);

// A length limit of a queue.
struct LengthLimit {
  const char* key;  // "max-length" or "max-length-bytes"
  std::int64_t most;
  const char* reached_by;  // the field that it limits
};
std::vector<LengthLimit> LengthLimitsOf(const nlohmann::json& queue);

// Returns the setting that makes a full queue refuse messages ("reject-publish" and
// "reject-publish-dlx") instead of dropping the oldest; nullopt without one.
std::optional<QueueSetting> RefusalOf(const nlohmann::json& queue);

// Where an exchange routes a message.
struct Route {
  std::vector<std::string> queues;
  // Exchanges to which the message is routed: by bindings or, if none matches, the alternate
  // exchange.
  std::vector<std::string> exchanges;
  // Whether the message may also reach unknown destinations, such as the alternate exchange of a
  // policy that cannot be read.
  bool may_lead_on = false;

  bool is_empty() const { return queues.empty() && exchanges.empty() && !may_lead_on; }
};

// The known parts of the message. If a part is not known, a binding that depends on it counts as
// matching.
struct RoutedMessage {
  std::optional<std::string_view> routing_key;
  const amqp::Table* headers = nullptr;
};

// The path of the policy that may set the alternate exchange; empty if there is none. `exchange` is
// the JSON of GET /api/exchanges/VHOST/NAME.
std::string PathOfPolicy(const nlohmann::json& exchange);

// `bindings` is the JSON of the path /bindings/source below `exchange`, and `policy` that of
// PathOfPolicy, null if it is not known; they may have any content. All bindings of exchanges of
// types other than direct, fanout, topic and headers match.
Route RouteOf(const nlohmann::json& exchange, const nlohmann::json& bindings,
              const nlohmann::json& policy, const RoutedMessage& message);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_MANAGEMENT_API_H_
