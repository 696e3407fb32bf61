#include "event_http_client.h"

#include <event2/buffer.h>
#include <event2/dns.h>
#include <event2/keyvalq_struct.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace examples {
namespace {

constexpr ev_ssize_t kLongestBody = 16 << 20;

using Uri = std::unique_ptr<evhttp_uri, decltype(&evhttp_uri_free)>;
using Connection = std::unique_ptr<evhttp_connection, decltype(&evhttp_connection_free)>;

struct Target {
  std::string host;
  std::uint16_t port = 80;
  std::string path_and_query = "/";
};

std::string OrEmpty(const char* text) { return text == nullptr ? "" : text; }

absl::StatusOr<Target> ParseUrl(const std::string& url) {
  const Uri uri(evhttp_uri_parse(url.c_str()), &evhttp_uri_free);
  if (uri == nullptr || OrEmpty(evhttp_uri_get_scheme(uri.get())) != "http" ||
      OrEmpty(evhttp_uri_get_host(uri.get())).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the URL '", url, "' is invalid; write it like http://host:port/path"));
  }
  Target target{.host = evhttp_uri_get_host(uri.get())};
  if (const int port = evhttp_uri_get_port(uri.get()); port > 0) {
    target.port = static_cast<std::uint16_t>(port);
  }
  const std::string path = OrEmpty(evhttp_uri_get_path(uri.get()));
  if (!path.empty()) target.path_and_query = path;
  if (const char* query = evhttp_uri_get_query(uri.get())) {
    absl::StrAppend(&target.path_and_query, "?", query);
  }
  return target;
}

HttpReply ReadReply(evhttp_request* request) {
  HttpReply reply{.status = evhttp_request_get_response_code(request),
                  .reason = OrEmpty(evhttp_request_get_response_code_line(request))};
  const evkeyvalq* headers = evhttp_request_get_input_headers(request);
  for (const evkeyval* header = headers->tqh_first; header != nullptr;
       header = header->next.tqe_next) {
    reply.headers.emplace_back(header->key, header->value);
  }
  evbuffer* body = evhttp_request_get_input_buffer(request);
  reply.body.resize(evbuffer_get_length(body));
  evbuffer_copyout(body, reply.body.data(), reply.body.size());
  return reply;
}

}  // namespace

struct HttpClient::Call {
  HttpClient& client;
  Done done;  // empty once called
  std::list<Call>::iterator self = {};
  Connection connection = Connection(nullptr, &evhttp_connection_free);
  std::unique_ptr<retryq::Timer> timeout = nullptr;

  static void OnDone(evhttp_request* request, void* arg) {
    Call& call = *static_cast<Call*>(arg);
    if (request == nullptr) {
      call.Fail(absl::UnavailableError("the connection failed, or was closed before the response"));
    } else if (evhttp_request_get_response_code(request) == 0) {
      call.Fail(absl::UnavailableError("no connection"));
    } else {
      call.client.Finish(call, ReadReply(request));
    }
  }

  void Fail(absl::Status error) { client.Finish(*this, std::move(error)); }
};

std::string_view HttpReply::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (absl::EqualsIgnoreCase(key, absl::string_view(name.data(), name.size()))) return value;
  }
  return {};
}

HttpClient::HttpClient(retryq::EventLoop& loop)
    : loop_(loop),
      dns_(evdns_base_new(loop.base(),
                          EVDNS_BASE_INITIALIZE_NAMESERVERS | EVDNS_BASE_DISABLE_WHEN_INACTIVE),
           [](evdns_base* dns) { evdns_base_free(dns, /*fail_requests=*/0); }) {}

HttpClient::~HttpClient() = default;

void HttpClient::Send(HttpRequest request, Done done) {
  calls_.push_back(Call{.client = *this, .done = std::move(done)});
  Call& call = calls_.back();
  call.self = std::prev(calls_.end());

  const absl::StatusOr<Target> target = ParseUrl(request.url);
  if (!target.ok()) {
    call.timeout =
        loop_.After(absl::ZeroDuration(), [&call, error = target.status()] { call.Fail(error); });
    return;
  }
  call.timeout = loop_.After(request.timeout, [&call, timeout = request.timeout] {
    call.Fail(absl::DeadlineExceededError(
        absl::StrCat("no response within ", absl::FormatDuration(timeout))));
  });

  call.connection.reset(
      evhttp_connection_base_new(loop_.base(), dns_.get(), target->host.c_str(), target->port));
  evhttp_connection_set_max_body_size(call.connection.get(), kLongestBody);
  evhttp_request* http = evhttp_request_new(&Call::OnDone, &call);
  evkeyvalq* headers = evhttp_request_get_output_headers(http);
  evhttp_add_header(headers, "Host", absl::StrCat(target->host, ":", target->port).c_str());
  evhttp_add_header(headers, "Connection", "close");
  for (const auto& [name, value] : request.headers) {
    evhttp_add_header(headers, name.c_str(), value.c_str());
  }
  evbuffer_add(evhttp_request_get_output_buffer(http), request.body.data(), request.body.size());
  if (evhttp_make_request(call.connection.get(), http, request.method,
                          target->path_and_query.c_str()) != 0) {
    call.Fail(absl::UnavailableError("no connection"));
  }
}

void HttpClient::Finish(Call& call, absl::StatusOr<HttpReply> reply) {
  if (call.done == nullptr) return;
  Done done = std::exchange(call.done, nullptr);
  finished_.splice(finished_.end(), calls_, call.self);
  sweep_ = loop_.After(absl::ZeroDuration(), [this] { finished_.clear(); });
  done(std::move(reply));
}

}  // namespace examples
