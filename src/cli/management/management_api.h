#ifndef RETRYQ_CLI_MANAGEMENT_MANAGEMENT_API_H_
#define RETRYQ_CLI_MANAGEMENT_MANAGEMENT_API_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/management/http_client.h"
#include "cli/management/management_url.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// RabbitMQ's management HTTP API, one request at a time. Paths begin after "/api", with parts
// encoded by PercentEncode. Replies are JSON, but may have any content: see json_fields.h.
class ManagementApi {
 public:
  struct Answer;  // in management_answer.h, as few callers read the JSON

  // The broker's clock minus the local one, and the error of this difference, as the broker's time
  // is in whole seconds.
  struct ClockDifference {
    absl::Duration difference;
    absl::Duration error;
  };

  // `loop` must outlive it.
  ManagementApi(EventLoop& loop, const ManagementUrl& url, HttpClient::Options options = {})
      : http_(loop, url, options) {}

  // Returns a reply with status 200. Errors contain the URL and the remedy: those of
  // HttpClient::Get; kUnauthenticated (user or password), kPermissionDenied (not allowed),
  // kNotFound, kUnavailable (any other status), kFailedPrecondition (not a management API).
  absl::StatusOr<Answer> Get(const std::string& path);

  // Also returns a reply with status 503, as failed health checks send.
  absl::StatusOr<Answer> GetHealth(const std::string& path);

  const ManagementUrl& url() const { return http_.url(); }

 private:
  absl::Status Refusal(const HttpReply& reply, const std::string& path) const;
  absl::Status WithRemedy(const absl::Status& status) const;

  HttpClient http_;
};

// "/KIND/VHOST/NAME", or "/KIND/VHOST" without a name.
std::string VhostPath(std::string_view kind, const std::string& vhost,
                      const std::string& name = "");

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_MANAGEMENT_API_H_
