#include "timeline/queue_watch.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace examples {
namespace {

constexpr absl::Duration kPause = absl::Milliseconds(200);
constexpr absl::Duration kTimeout = absl::Seconds(5);

// 0 where there is no such number.
std::int64_t Integer(const nlohmann::json& object, const char* name) {
  if (!object.is_object()) return 0;
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

QueueInfo ReadQueue(const nlohmann::json& queue) {
  const nlohmann::json arguments = queue.value("arguments", nlohmann::json::object());
  return {.messages = Integer(queue, "messages"),
          .ttl = absl::Milliseconds(Integer(arguments, "x-message-ttl")),
          .expires = absl::Milliseconds(Integer(arguments, "x-expires"))};
}

absl::StatusOr<QueueInfos> Read(const absl::StatusOr<HttpReply>& reply) {
  if (!reply.ok()) return reply.status();
  if (reply->status != 200) {
    return absl::UnavailableError(
        absl::StrCat("the management API answers ", reply->status, " ", reply->reason));
  }
  const auto page = nlohmann::json::parse(reply->body, nullptr, /*allow_exceptions=*/false);
  const auto items = page.find("items");
  if (items == page.end()) {
    return absl::InternalError("the management API's answer is no page of queues");
  }
  QueueInfos queues;
  for (const auto& queue : *items) queues.emplace(queue.value("name", ""), ReadQueue(queue));
  return queues;
}

}  // namespace

QueueWatch::QueueWatch(retryq::EventLoop& loop, HttpClient& http, const std::string& management,
                       const std::string& vhost, const std::string& pattern, Seen seen)
    : loop_(loop),
      http_(http),
      url_(
          absl::StrCat(management, "/api/queues/", PercentEncode(vhost),
                       "?columns=name,messages,arguments&page=1&page_size=100&use_regex=true&name=",
                       PercentEncode(pattern))),
      seen_(std::move(seen)) {
  Ask();
}

void QueueWatch::Ask() {
  http_.Send({.url = url_, .timeout = kTimeout}, [this](const absl::StatusOr<HttpReply>& reply) {
    next_ = loop_.After(kPause, [this] { Ask(); });
    seen_(Read(reply));
  });
}

}  // namespace examples
