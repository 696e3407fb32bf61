// Delivers webhooks: POSTs each message of a queue to an endpoint, and retries it if that fails. It
// has one thread: the HTTP client runs on the same event loop as the consumer.
//
//   2xx                                      acked
//   429, 503 with Retry-After                retried after this time
//   other 4xx                                parked: no retry can fix it
//   other statuses, timeouts, lost
//   connections                              retried after the backoff
//
// Run it with flaky_endpoint, or see examples/run.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "event_http_client.h"
#include "retryq/retryq.h"

namespace {

using examples::HttpClient;
using examples::HttpReply;
using examples::HttpRequest;

constexpr int kTooManyRequests = 429;
constexpr int kServiceUnavailable = 503;

struct Options {
  std::string url = "amqp://guest:guest@localhost:5672/";
  std::string queue = "webhooks";
  std::string endpoint;
  absl::Duration timeout = absl::Seconds(10);
  retryq::RetryOptions retry;
  retryq::DelayQueueOptions delay_queues;
  bool json = false;
};

// Prints all events, as text or as JSON.
class Printer : public retryq::Observer {
 public:
  explicit Printer(bool json) : json_(json) {}

  void OnEvent(const retryq::Event& event) override {
    std::cout << (json_ ? Json(event) : Line(event)) << std::endl;
  }

 private:
  std::string Line(const retryq::Event& event) const {
    std::string line =
        absl::StrFormat("%8.3f  %-16.16s %-7s %-12s", absl::ToDoubleSeconds(event.time - start_),
                        std::string(event.id.empty() ? event.queue : event.id),
                        event.attempt ? absl::StrCat("try ", *event.attempt + 1) : "",
                        std::string(EventName(event.kind)));
    if (event.delay) absl::StrAppend(&line, " in ", absl::FormatDuration(*event.delay));
    if (!event.delay_queue.empty()) absl::StrAppend(&line, " ", std::string(event.delay_queue));
    if (!event.error.empty()) absl::StrAppend(&line, " ", std::string(event.error));
    return line;
  }

  // The fields have the names of `retryq work --json`.
  static std::string Json(const retryq::Event& event) {
    nlohmann::ordered_json json = {
        {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", event.time, absl::UTCTimeZone())},
        {"event", EventName(event.kind)}};
    if (!event.queue.empty()) json["queue"] = event.queue;
    if (event.attempt) json["attempt"] = *event.attempt;
    if (event.delay) json["delay_ms"] = absl::ToInt64Milliseconds(*event.delay);
    if (!event.delay_queue.empty()) json["delay_queue"] = event.delay_queue;
    if (!event.id.empty()) json["id"] = event.id;
    if (!event.error.empty()) json["error"] = event.error;
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  const bool json_;
  const absl::Time start_ = absl::Now();
};

// Retry-After is a number of seconds or a date (RFC 9110, 10.2.3).
std::optional<absl::Duration> ReadRetryAfter(std::string_view text) {
  const std::string value(text);
  if (std::int64_t seconds = 0; absl::SimpleAtoi(value, &seconds) && seconds >= 0) {
    return absl::Seconds(seconds);
  }
  absl::Time date;
  if (absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", value, &date, nullptr)) {
    return std::max(date - absl::Now(), absl::ZeroDuration());
  }
  return std::nullopt;
}

retryq::Outcome OutcomeOf(const absl::StatusOr<HttpReply>& reply) {
  if (!reply.ok()) return reply.status();
  if (reply->status / 100 == 2) return retryq::Outcome::Ok();

  const absl::Status error =
      absl::UnknownError(absl::StrCat("HTTP ", reply->status, " ", reply->reason));
  if (reply->status == kTooManyRequests || reply->status == kServiceUnavailable) {
    const std::optional<absl::Duration> wait = ReadRetryAfter(reply->Header("Retry-After"));
    return wait ? retryq::Outcome::RetryAfter(*wait, error) : error;
  }
  if (reply->status / 100 == 4) return retryq::Outcome::Park(error);
  return error;
}

HttpRequest WebhookFor(const retryq::Delivery& delivery, const Options& options) {
  HttpRequest request{.method = EVHTTP_REQ_POST,
                      .url = options.endpoint,
                      .body = std::string(delivery.body()),
                      .timeout = options.timeout};
  const auto content_type = delivery.properties().content_type;
  request.headers.emplace_back("Content-Type", content_type.value_or("application/octet-stream"));
  // All attempts have the same key, by which the endpoint recognizes a repeated webhook.
  if (!delivery.id().empty()) request.headers.emplace_back("Idempotency-Key", delivery.id());
  return request;
}

void AddDuration(CLI::App& app, const std::string& flag, const std::string& help,
                 absl::Duration* value) {
  app.add_option_function<std::string>(
         flag,
         [flag, value](const std::string& text) {
           if (absl::ParseDuration(text, value)) return;
           throw CLI::ValidationError(
               flag, "'" + text + "' is not a duration; write it like 500ms, 1s or 10m");
         },
         help)
      ->type_name("DURATION")
      ->default_str(absl::FormatDuration(*value));
}

void AddOptions(CLI::App& app, Options& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("--url", options.url, "URL of the broker.")->envname("RETRYQ_URL");
  app.add_option("--queue", options.queue, "Queue of the webhooks; it must exist.");
  app.add_option("--endpoint", options.endpoint, "URL to POST to, such as http://host:8080/hook.")
      ->required();
  AddDuration(app, "--timeout", "Longest time to wait for a response.", &options.timeout);
  AddDuration(app, "--base", "First delay.", &options.retry.backoff.base);
  app.add_option("--factor", options.retry.backoff.factor, "Growth from one delay to the next.");
  AddDuration(app, "--max", "Longest delay.", &options.retry.backoff.max);
  app.add_option("--max-attempts", options.retry.max_attempts,
                 "Attempts before a message is parked. 0: unlimited.");
  app.add_option("--prefix", options.delay_queues.prefix, "Prefix of the delay queues' names.");
  AddDuration(app, "--min-window", "Shortest time between renewals of a delay queue.",
              &options.delay_queues.min_window);
  AddDuration(app, "--margin", "Safety margin of a delay queue's expiry; at least four heartbeats.",
              &options.delay_queues.margin);
  app.add_flag("--json", options.json, "Print one JSON object per line.");
}

int Fail(const absl::Status& status) {
  std::cerr << "webhook_worker: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("POSTs the messages of a queue to an endpoint, and retries failures.");
  AddOptions(app, options);
  CLI11_PARSE(app, argc, argv);

  Printer printer(options.json);
  retryq::EventLoop loop;
  HttpClient http(loop);
  retryq::Client client(loop, {.url = options.url,
                               .name = "webhook_worker",
                               .observer = &printer,
                               .delay_queues = options.delay_queues});
  const absl::StatusOr<retryq::Consumer> webhooks = client.Consume(
      {.queue = options.queue, .retry = options.retry},
      [&](const retryq::Delivery& delivery, retryq::Settlement settlement) {
        http.Send(
            WebhookFor(delivery, options),
            [settlement = std::move(settlement)](const absl::StatusOr<HttpReply>& reply) mutable {
              std::move(settlement).Settle(OutcomeOf(reply));
            });
      });
  if (!webhooks.ok()) return Fail(webhooks.status());

  const absl::Status end = loop.RunUntilSignal();
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}
