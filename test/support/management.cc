#include "support/management.h"

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>

#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"
#include "support/standard.h"

namespace retryq::testing {
namespace {

constexpr int kTimeoutSeconds = 30;
constexpr int kAgain = 5;
constexpr absl::Duration kAskAgainAfter = absl::Milliseconds(200);

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using EventBase = std::unique_ptr<event_base, Freed<event_base_free>>;
using HttpConnection = std::unique_ptr<evhttp_connection, Freed<evhttp_connection_free>>;
using Uri = std::unique_ptr<evhttp_uri, Freed<evhttp_uri_free>>;

}  // namespace

Management::Management(const std::string& url) {
  const Uri uri(evhttp_uri_parse(url.c_str()));
  if (uri == nullptr || evhttp_uri_get_host(uri.get()) == nullptr ||
      evhttp_uri_get_userinfo(uri.get()) == nullptr) {
    throw std::runtime_error("the management URL must be http://user:password@host:port");
  }
  host_ = evhttp_uri_get_host(uri.get());
  const int port = evhttp_uri_get_port(uri.get());
  port_ = static_cast<std::uint16_t>(port < 0 ? 15672 : port);
  authorization_ = "Basic " + absl::Base64Escape(evhttp_uri_get_userinfo(uri.get()));
}

std::optional<Json> Management::Get(const std::string& path) const {
  Answer answer = Ask(EVHTTP_REQ_GET, path, "");
  // RabbitMQ 4.3 replies in this way about a queue that is being deleted.
  for (int again = 0; answer.code == 500 && again < kAgain; ++again) {
    absl::SleepFor(kAskAgainAfter);
    answer = Ask(EVHTTP_REQ_GET, path, "");
  }
  if (answer.code == 404) return std::nullopt;
  if (answer.code != 200) {
    throw std::runtime_error("GET " + path + ": " + std::to_string(answer.code) + answer.body);
  }
  return Json::parse(answer.body);
}

void Management::Put(const std::string& path, const Json& body) const {
  Send(EVHTTP_REQ_PUT, "PUT ", path, body);
}

void Management::Post(const std::string& path, const Json& body) const {
  Send(EVHTTP_REQ_POST, "POST ", path, body);
}

void Management::Send(int method, const std::string& name, const std::string& path,
                      const Json& body) const {
  const Answer answer = Ask(method, path, body.dump());
  if (answer.code / 100 != 2) {
    throw std::runtime_error(name + path + ": " + std::to_string(answer.code) + answer.body);
  }
}

void Management::Delete(const std::string& path) const {
  const Answer answer = Ask(EVHTTP_REQ_DELETE, path, "");
  if (answer.code / 100 != 2 && answer.code != 404) {
    throw std::runtime_error("DELETE " + path + ": " + std::to_string(answer.code) + answer.body);
  }
}

std::string Management::Segment(std::string_view name) {
  const std::unique_ptr<char, Freed<free>> encoded(
      evhttp_uriencode(name.data(), static_cast<ev_ssize_t>(name.size()), 0));
  return encoded.get();
}

Management::Answer Management::Ask(int method, const std::string& path,
                                   const std::string& body) const {
  const EventBase base(event_base_new());
  const HttpConnection connection(
      evhttp_connection_base_new(base.get(), nullptr, host_.c_str(), port_));
  evhttp_connection_set_timeout(connection.get(), kTimeoutSeconds);

  Answer answer;
  // libevent frees the request after this call, and passes null if there is no reply.
  const auto on_answer = [](evhttp_request* request, void* context) {
    if (request == nullptr) return;
    auto& out = *static_cast<Answer*>(context);
    out.code = evhttp_request_get_response_code(request);
    evbuffer* buffer = evhttp_request_get_input_buffer(request);
    out.body.resize(evbuffer_get_length(buffer));
    evbuffer_remove(buffer, out.body.data(), out.body.size());
  };
  evhttp_request* request = evhttp_request_new(on_answer, &answer);
  evkeyvalq* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Host", host_.c_str());
  evhttp_add_header(headers, "Authorization", authorization_.c_str());
  evhttp_add_header(headers, "Content-Type", "application/json");
  evhttp_add_header(headers, "Connection", "close");
  evbuffer_add(evhttp_request_get_output_buffer(request), body.data(), body.size());
  evhttp_make_request(connection.get(), request, static_cast<evhttp_cmd_type>(method),
                      ("/api" + path).c_str());
  event_base_dispatch(base.get());
  if (answer.code == 0) {
    throw std::runtime_error("no answer from the management API at " + host_ + ":" +
                             std::to_string(port_) +
                             ": is the plugin on, and RETRYQ_MANAGEMENT_URL right?");
  }
  return answer;
}

}  // namespace retryq::testing
