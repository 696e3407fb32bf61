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

// RabbitMQ's management HTTP API, one request at a time. Paths are what follows "/api", their parts
// encoded by PercentEncode. Nothing of what is answered can be relied on but that it is JSON: see
// json_fields.h.
class ManagementApi {
 public:
  struct Answer;  // in management_answer.h, as few of those who ask read the JSON themselves

  // The broker's clock less ours, and how far that may be off: its seconds are whole.
  struct ClockDifference {
    absl::Duration difference;
    absl::Duration error;
  };

  // `loop` must outlive it.
  ManagementApi(EventLoop& loop, const ManagementUrl& url, HttpClient::Options options = {})
      : http_(loop, url, options) {}

  // What is answered with 200. Errors name the URL and the remedy: those of HttpClient::Get;
  // kUnauthenticated (user or password), kPermissionDenied (not allowed to see that), kNotFound,
  // kUnavailable (any other answer), kFailedPrecondition (what answers is no management API).
  absl::StatusOr<Answer> Get(const std::string& path);

  // Also what is answered with 503, as health checks do that fail.
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
