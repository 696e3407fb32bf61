#ifndef RETRYQ_TEST_INTEGRATION_AMQP_MANAGEMENT_H_
#define RETRYQ_TEST_INTEGRATION_AMQP_MANAGEMENT_H_

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace retryq::amqp {

// Asks the broker's management API at RETRYQ_MANAGEMENT_URL, and waits. The answer's status
// is 0 if there is none.
struct ManagementAnswer {
  int status = 0;
  std::string body;
};

inline ManagementAnswer AskManagement(evhttp_cmd_type command, const std::string& path,
                                      const nlohmann::json& body = nullptr) {
  const char* url = std::getenv("RETRYQ_MANAGEMENT_URL");
  if (url == nullptr) {
    ADD_FAILURE() << "set RETRYQ_MANAGEMENT_URL to the management API of the broker at RETRYQ_URL";
    return {};
  }
  evhttp_uri* uri = evhttp_uri_parse(url);
  event_base* base = event_base_new();
  evhttp_connection* connection = evhttp_connection_base_new(
      base, nullptr, evhttp_uri_get_host(uri), static_cast<ev_uint16_t>(evhttp_uri_get_port(uri)));
  evhttp_connection_set_timeout(connection, 20);

  struct Waiting {
    event_base* base;
    ManagementAnswer answer = {};
  } waiting = {.base = base};
  evhttp_request* request = evhttp_request_new(
      [](evhttp_request* done, void* arg) {
        Waiting& into = *static_cast<Waiting*>(arg);
        event_base_loopbreak(into.base);
        if (done == nullptr) return;
        into.answer.status = evhttp_request_get_response_code(done);
        evbuffer* input = evhttp_request_get_input_buffer(done);
        into.answer.body.resize(evbuffer_get_length(input));
        evbuffer_remove(input, into.answer.body.data(), into.answer.body.size());
      },
      &waiting);
  evkeyvalq* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Host", evhttp_uri_get_host(uri));
  evhttp_add_header(headers, "Content-Type", "application/json");
  const std::string login = absl::Base64Escape(evhttp_uri_get_userinfo(uri));
  evhttp_add_header(headers, "Authorization", absl::StrCat("Basic ", login).c_str());
  if (!body.is_null()) {
    const std::string text = body.dump();
    evbuffer_add(evhttp_request_get_output_buffer(request), text.data(), text.size());
  }
  evhttp_make_request(connection, request, command, path.c_str());
  event_base_dispatch(base);
  evhttp_connection_free(connection);
  event_base_free(base);
  evhttp_uri_free(uri);
  return waiting.answer;
}

// A user with the given password, and rights in vhost "/" if a permission pattern is given.
// Gone with the object.
class TemporaryUser {
 public:
  TemporaryUser(std::string name, const std::string& password,
                const std::optional<nlohmann::json>& permissions)
      : path_(absl::StrCat("/api/users/", name)) {
    EXPECT_EQ(
        AskManagement(EVHTTP_REQ_PUT, path_, {{"password", password}, {"tags", ""}}).status / 100,
        2);
    if (!permissions) return;
    EXPECT_EQ(
        AskManagement(EVHTTP_REQ_PUT, absl::StrCat("/api/permissions/%2f/", name), *permissions)
                .status /
            100,
        2);
  }
  ~TemporaryUser() { AskManagement(EVHTTP_REQ_DELETE, path_); }
  TemporaryUser(const TemporaryUser&) = delete;
  TemporaryUser& operator=(const TemporaryUser&) = delete;

 private:
  const std::string path_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_INTEGRATION_AMQP_MANAGEMENT_H_
