// Handles each message with two HTTP calls, in a coroutine: a POST of the message, and, once that
// has succeeded, a POST of the reply. One thread; any number of messages are open at once.
#include <iostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "event_http_client.h"
#include "retryq/coroutine.h"
#include "retryq/retryq.h"

namespace {

using examples::HttpClient;
using examples::HttpReply;

constexpr char kUsage[] = "usage: two_calls BROKER_URL QUEUE ENDPOINT";

// Returns the body of a reply with status 2xx.
retryq::Task<absl::StatusOr<std::string>> Post(HttpClient& http, std::string url, std::string key,
                                               std::string body) {
  retryq::Pending<absl::StatusOr<HttpReply>> pending([&](auto done) {
    http.Send({.method = EVHTTP_REQ_POST,
               .url = url,
               .headers = {{"Idempotency-Key", key}},
               .body = body},
              std::move(done));
  });
  const absl::StatusOr<HttpReply> reply = co_await pending;
  if (!reply.ok()) co_return reply.status();
  if (reply->status / 100 != 2) {
    co_return absl::UnavailableError(absl::StrCat("HTTP ", reply->status, " ", reply->reason));
  }
  co_return reply->body;
}

int Fail(const absl::Status& status) {
  std::cerr << "two_calls: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return Fail(absl::InvalidArgumentError(kUsage));
  const std::string endpoint = argv[3];
  retryq::EventLoop loop;
  HttpClient http(loop);
  retryq::Client client(loop, {.url = argv[1], .name = "two_calls"});
  const absl::StatusOr<retryq::Consumer> orders = client.Consume(
      {.queue = argv[2], .retry = {.backoff = {.base = absl::Milliseconds(200)}}},
      [&](retryq::Delivery order) -> retryq::Task<retryq::Outcome> {
        const std::string key(order.id());
        const auto checked = co_await Post(http, endpoint, key, order.body());
        if (!checked.ok()) co_return checked.status();
        const auto charged = co_await Post(http, endpoint, key, order.body());
        if (!charged.ok()) co_return charged.status();
        std::cout << "handled " << key << " in attempt " << order.attempt() + 1 << std::endl;
        co_return absl::OkStatus();
      });
  if (!orders.ok()) return Fail(orders.status());
  const absl::Status end = loop.RunUntilSignal();
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}
