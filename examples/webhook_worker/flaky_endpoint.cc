// An HTTP server on loopback that fails as each request demands, to test webhook_worker.
//
// The body of a request is the plan of the responses, one word for each call with the same
// Idempotency-Key. The last word also applies to all further calls.
//
//   STATUS     this HTTP status, such as 200, 404, 503
//   STATUS:N   this status with "Retry-After: N" (seconds)
//   drop       no response, the connection is closed
//   hang       no response, the connection stays open for ten seconds
//
// For example "503 429:3 200" fails, then demands a pause of three seconds, then succeeds.
//
//   flaky_endpoint [--port PORT] [--json]
//
//   --port   Port to listen on. Default: 8080. 0: a free port.
//   --json   Print one JSON object for each call.
//
//   curl -i -d '503 429:3 200' -H 'Idempotency-Key: 1' http://127.0.0.1:8080/
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/http.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "retryq/event_loop.h"

namespace {

constexpr absl::Duration kPatience = absl::Seconds(10);
constexpr std::uint32_t kHighestPort = 65535;
constexpr int kUsageError = 64;  // by sysexits.h
constexpr int kBadRequest = 400;
constexpr int kTooManyRequests = 429;

// One word of a plan.
struct Answer {
  enum class Kind { kStatus, kDrop, kHang };
  Kind kind = Kind::kStatus;
  int status = 0;
  std::optional<int> retry_after = {};  // seconds
};

std::optional<Answer> ParseAnswer(const std::string& word) {
  if (word == "drop") return Answer{.kind = Answer::Kind::kDrop};
  if (word == "hang") return Answer{.kind = Answer::Kind::kHang};
  const std::vector<std::string> parts = absl::StrSplit(word, absl::MaxSplits(':', 1));
  Answer answer;
  if (!absl::SimpleAtoi(parts[0], &answer.status) || answer.status < 200 || answer.status > 599) {
    return std::nullopt;
  }
  if (parts.size() == 1) return answer;
  int seconds = 0;
  if (!absl::SimpleAtoi(parts[1], &seconds) || seconds < 0) return std::nullopt;
  answer.retry_after = seconds;
  return answer;
}

class FlakyEndpoint {
 public:
  FlakyEndpoint(retryq::EventLoop& loop, bool json)
      : loop_(loop), json_(json), server_(evhttp_new(loop.base()), &evhttp_free) {
    evhttp_set_allowed_methods(server_.get(), EVHTTP_REQ_POST);
    evhttp_set_gencb(
        server_.get(),
        [](evhttp_request* request, void* self) {
          static_cast<FlakyEndpoint*>(self)->OnRequest(request);
        },
        this);
  }

  // Returns the port, or nullopt if it is in use. 0 selects a free port.
  std::optional<std::uint16_t> Listen(std::uint16_t port) {
    evhttp_bound_socket* socket = evhttp_bind_socket_with_handle(server_.get(), "127.0.0.1", port);
    if (socket == nullptr) return std::nullopt;
    sockaddr_in address = {};
    socklen_t size = sizeof(address);
    getsockname(evhttp_bound_socket_get_fd(socket), reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }

 private:
  void OnRequest(evhttp_request* request) {
    evbuffer* input = evhttp_request_get_input_buffer(request);
    std::string plan(evbuffer_get_length(input), '\0');
    evbuffer_copyout(input, plan.data(), plan.size());
    const std::vector<std::string> words =
        absl::StrSplit(plan, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    const char* key =
        evhttp_find_header(evhttp_request_get_input_headers(request), "Idempotency-Key");
    const std::string id = key == nullptr ? "" : key;

    const std::size_t call = calls_[id]++;
    const std::string word = words.empty() ? "" : words[std::min(call, words.size() - 1)];
    const std::optional<Answer> answer = ParseAnswer(word);
    Say(id, call + 1, answer ? word : absl::StrCat(kBadRequest), plan);
    if (answer) {
      Give(*answer, request);
    } else {
      evhttp_send_reply(request, kBadRequest, "Not A Plan", nullptr);
    }
  }

  void Give(const Answer& answer, evhttp_request* request) {
    if (answer.kind != Answer::Kind::kStatus) {
      DropAfter(answer.kind == Answer::Kind::kHang ? kPatience : absl::ZeroDuration(), request);
      return;
    }
    if (answer.retry_after.has_value()) {
      evhttp_add_header(evhttp_request_get_output_headers(request), "Retry-After",
                        absl::StrCat(*answer.retry_after).c_str());
    }
    // libevent knows the reason phrases of all other statuses.
    const char* reason = answer.status == kTooManyRequests ? "Too Many Requests" : nullptr;
    evhttp_send_reply(request, answer.status, reason, nullptr);
  }

  // Even without a pause this uses a timer: a connection must not be freed in its own callback.
  void DropAfter(absl::Duration pause, evhttp_request* request) {
    const auto self = drops_.emplace(drops_.end());
    *self = loop_.After(pause, [this, self, request] {
      const std::unique_ptr<retryq::Timer> fired = std::move(*self);
      drops_.erase(self);
      if (evhttp_connection* connection = evhttp_request_get_connection(request)) {
        evhttp_connection_free(connection);  // with its request
      } else {
        evhttp_request_free(request);  // the client has closed the connection
      }
    });
  }

  void Say(const std::string& id, std::size_t call, const std::string& answer,
           const std::string& plan) const {
    if (json_) {
      const nlohmann::ordered_json json = {
          {"time", absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone())},
          {"event", "answered"},
          {"id", id},
          {"call", call},
          {"answer", answer}};
      std::cout << json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
    } else {
      std::printf("%8.3f  %-16s call %zu of \"%s\": %s\n",
                  absl::ToDoubleSeconds(absl::Now() - start_), id.c_str(), call, plan.c_str(),
                  answer.c_str());
      std::fflush(stdout);
    }
  }

  retryq::EventLoop& loop_;
  const bool json_;
  const absl::Time start_ = absl::Now();
  const std::unique_ptr<evhttp, decltype(&evhttp_free)> server_;
  std::map<std::string, std::size_t> calls_;  // by Idempotency-Key
  std::list<std::unique_ptr<retryq::Timer>> drops_;
};

struct Options {
  std::uint16_t port = 8080;
  bool json = false;
};

// Returns nullopt if the arguments are invalid.
std::optional<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    if (*argument == "--json") {
      options.json = true;
      continue;
    }
    std::uint32_t port = 0;
    if (*argument != "--port" || ++argument == arguments.end() ||
        !absl::SimpleAtoi(*argument, &port) || port > kHighestPort) {
      return std::nullopt;
    }
    options.port = static_cast<std::uint16_t>(port);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = ParseOptions({argv + 1, argv + argc});
  if (!options) {
    std::cerr << "usage: flaky_endpoint [--port PORT] [--json]\n";
    return kUsageError;
  }

  retryq::EventLoop loop;
  FlakyEndpoint endpoint(loop, options->json);
  const std::optional<std::uint16_t> bound = endpoint.Listen(options->port);
  if (!bound) {
    std::cerr << "flaky_endpoint: cannot listen on port " << options->port
              << ": it is in use; --port 0 selects a free port\n";
    return EXIT_FAILURE;
  }
  std::cout << "listening on http://127.0.0.1:" << *bound << "/" << std::endl;
  return retryq::ExitCode(loop.RunUntilSignal(absl::ZeroDuration()));
}
