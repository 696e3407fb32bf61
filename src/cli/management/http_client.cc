#include "cli/management/http_client.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "cli/text/io.h"
#include "loop/libevent_ptr.h"

namespace retryq::cli {
namespace {

constexpr std::size_t kMaxHeaders = 64 << 10;

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Easy = std::unique_ptr<CURL, Freed<curl_easy_cleanup>>;
using Multi = std::unique_ptr<CURLM, Freed<curl_multi_cleanup>>;
using Url = std::unique_ptr<CURLU, Freed<curl_url_cleanup>>;
using Strings = std::unique_ptr<curl_slist, Freed<curl_slist_free_all>>;

// The host as in a URL: an IPv6 address in brackets, without its interface.
std::string InUrl(const std::string& host) {
  const std::string without_interface = host.substr(0, host.find('%'));
  return host.find(':') == std::string::npos ? host : "[" + without_interface + "]";
}

// "scheme://host:port"; null if `host` is not a valid name or address.
Url MakeUrl(bool tls, const std::string& host, std::uint16_t port) {
  if (host.find('\0') != std::string::npos) return nullptr;
  Url url(curl_url());
  const std::size_t interface = host.find(':') == std::string::npos ? host.npos : host.find('%');
  const bool taken =
      curl_url_set(url.get(), CURLUPART_SCHEME, tls ? "https" : "http", 0) == CURLUE_OK &&
      curl_url_set(url.get(), CURLUPART_HOST, InUrl(host).c_str(), 0) == CURLUE_OK &&
      curl_url_set(url.get(), CURLUPART_PORT, std::to_string(port).c_str(), 0) == CURLUE_OK &&
      (interface == host.npos ||
       curl_url_set(url.get(), CURLUPART_ZONEID, host.c_str() + interface + 1, 0) == CURLUE_OK);
  return taken ? std::move(url) : nullptr;
}

}  // namespace

// One request to one host. The event loop watches the sockets and the timeout that libcurl
// requests.
class HttpClient::Request {
 public:
  // `done` is called later, with ok after a reply, and may destroy this object.
  Request(const HttpClient& client, const std::string& host, const std::string& path,
          absl::Duration timeout, std::function<void(const absl::Status&)> done)
      : client_(client),
        name_(client.url_.tls && !client.url_.tls->server_name.empty()
                  ? client.url_.tls->server_name
                  : host),
        url_(MakeUrl(client.url_.tls.has_value(), name_, client.url_.endpoint.port)),
        done_(std::move(done)),
        easy_(curl_easy_init()),
        multi_(curl_multi_init()) {
    SetHttp(path, timeout);
    if (client.url_.tls) SetTls(*client.url_.tls);
    if (name_ != host) ConnectTo(host);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETFUNCTION, &Request::OnSocket);
    curl_multi_setopt(multi_.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERFUNCTION, &Request::OnTimer);
    curl_multi_setopt(multi_.get(), CURLMOPT_TIMERDATA, this);
    reply_.sent = absl::Now();
    curl_multi_add_handle(multi_.get(), easy_.get());
  }
  ~Request() { curl_multi_remove_handle(multi_.get(), easy_.get()); }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  HttpReply TakeReply() {
    long status = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    reply_.status = static_cast<int>(status);
    curl_off_t before_sending = 0;  // microseconds for resolving, connecting and TLS
    curl_easy_getinfo(easy_.get(), CURLINFO_PRETRANSFER_TIME_T, &before_sending);
    reply_.sent = std::min(reply_.sent + absl::Microseconds(before_sending), reply_.received);
    curl_header* date = nullptr;
    if (curl_easy_header(easy_.get(), "Date", 0, CURLH_HEADER, -1, &date) == CURLHE_OK) {
      const std::time_t seconds = curl_getdate(date->value, nullptr);
      if (seconds >= 0) reply_.date = absl::FromTimeT(seconds);
    }
    return std::move(reply_);
  }

 private:
  static int OnSocket(CURL* /*transfer*/, curl_socket_t socket, int what, void* self,
                      void* /*unused*/) {
    Request& request = *static_cast<Request*>(self);
    request.sockets_.erase(socket);  // removes the previous event first
    if (what == CURL_POLL_REMOVE) return 0;
    const int events = EV_PERSIST | ((what & CURL_POLL_IN) != 0 ? EV_READ : 0) |
                       ((what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0);
    EventPtr& event = request.sockets_[socket];
    event.reset(event_new(request.client_.loop_.base(), socket, static_cast<short>(events),
                          &Request::OnReady, self));
    return event != nullptr && event_add(event.get(), nullptr) == 0 ? 0 : -1;
  }

  static void OnReady(evutil_socket_t socket, short what, void* self) {
    static_cast<Request*>(self)->Act(socket, ((what & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
                                                 ((what & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0));
  }

  static int OnTimer(CURLM* /*multi*/, long milliseconds, void* self) {
    Request& request = *static_cast<Request*>(self);
    request.timer_.reset();
    if (milliseconds < 0) return 0;
    request.timer_ = request.client_.loop_.After(
        absl::Milliseconds(milliseconds), [&request] { request.Act(CURL_SOCKET_TIMEOUT, 0); });
    return 0;
  }

  void Act(curl_socket_t socket, int ready) {
    int running = 0;
    curl_multi_socket_action(multi_.get(), socket, ready, &running);
    int left = 0;
    const CURLMsg* const message = curl_multi_info_read(multi_.get(), &left);
    if (message == nullptr || message->msg != CURLMSG_DONE) return;
    reply_.received = absl::Now();
    const CURLcode result = message->data.result;
    End(result == CURLE_OK ? absl::OkStatus() : Failure(result));
  }

  void End(const absl::Status& status) {
    const auto done = std::move(done_);
    done(status);
  }

  template <typename Value>
  void Set(CURLoption option, Value value) {
    curl_easy_setopt(easy_.get(), option, value);
  }

  static void Add(Strings& list, const std::string& text) {
    list.reset(curl_slist_append(list.release(), text.c_str()));
  }

  void SetHttp(const std::string& path, absl::Duration timeout) {
    const ManagementUrl& url = client_.url_;
    Set(CURLOPT_ERRORBUFFER, text_.data());
    Set(CURLOPT_CURLU, url_.get());
    Set(CURLOPT_REQUEST_TARGET, (url.path_prefix + path).c_str());
    Set(CURLOPT_PROTOCOLS_STR, "http,https");
    Set(CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    Set(CURLOPT_PROXY, "");  // ignores the environment
    Set(CURLOPT_NOSIGNAL, 1L);
    Set(CURLOPT_QUICK_EXIT, 1L);  // does not wait for the thread that resolves the host
    Set(CURLOPT_FORBID_REUSE, 1L);
    Set(CURLOPT_TIMEOUT_MS,
        static_cast<long>(std::max<std::int64_t>(absl::ToInt64Milliseconds(timeout), 1)));
    Set(CURLOPT_HTTPAUTH, long{CURLAUTH_BASIC});
    Set(CURLOPT_USERNAME, url.user.c_str());
    Set(CURLOPT_PASSWORD, url.password.c_str());
    Set(CURLOPT_WRITEFUNCTION, &Request::OnBody);
    Set(CURLOPT_WRITEDATA, this);
    Set(CURLOPT_HEADERFUNCTION, &Request::OnHeader);
    Set(CURLOPT_HEADERDATA, this);
    Add(headers_, "Host: " + amqp::Describe(url.endpoint));
    Set(CURLOPT_HTTPHEADER, headers_.get());
  }

  // The URL contains the name in the certificate, which is not the host to connect to.
  void ConnectTo(const std::string& host) {
    const std::uint16_t port = client_.url_.endpoint.port;
    if (MakeUrl(/*tls=*/true, host, port) == nullptr) url_ = nullptr;
    Add(connect_to_, absl::StrCat("::", InUrl(host), ":", port));
    Set(CURLOPT_CONNECT_TO, connect_to_.get());
  }

  // Trusts the same authorities as connections to the broker: only those in the file or, without
  // one, the system's, at OpenSSL's location.
  void SetTls(const amqp::TlsOptions& tls) {
    Set(CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
    Set(CURLOPT_SSL_OPTIONS, long{CURLSSLOPT_NO_PARTIALCHAIN});
    Set(CURLOPT_SSL_VERIFYPEER, tls.verify_peer ? 1L : 0L);
    Set(CURLOPT_SSL_VERIFYHOST, tls.verify_peer ? 2L : 0L);
    Set(CURLOPT_SSL_CTX_FUNCTION, &Request::OnTlsContext);
    Set(CURLOPT_SSL_CTX_DATA, this);
    if (!tls.ca_file.empty()) {
      Set(CURLOPT_CAINFO, tls.ca_file.c_str());
      Set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
    } else {
      if (const char* file = std::getenv("SSL_CERT_FILE")) Set(CURLOPT_CAINFO, file);
      if (const char* folder = std::getenv("SSL_CERT_DIR")) Set(CURLOPT_CAPATH, folder);
    }
    if (tls.cert_file.empty()) return;
    Set(CURLOPT_SSLCERT, tls.cert_file.c_str());
    Set(CURLOPT_SSLKEY, tls.key_file.c_str());
    Set(CURLOPT_KEYPASSWD, "");  // otherwise OpenSSL asks on the terminal
  }

  // Without a subjectAltName, libcurl accepts the common name as the host name. Connections to the
  // broker do not, so this rejects it, too.
  static CURLcode OnTlsContext(CURL* /*transfer*/, void* context, void* self) {
    const Request& request = *static_cast<Request*>(self);
    if (!request.client_.url_.tls->verify_peer) return CURLE_OK;
    X509_VERIFY_PARAM* const expected = SSL_CTX_get0_param(static_cast<SSL_CTX*>(context));
    X509_VERIFY_PARAM_set_hostflags(
        expected, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    const std::string name = request.name_.substr(0, request.name_.find('%'));
    if (X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) == 1) return CURLE_OK;
    const std::size_t size = name.ends_with('.') ? name.size() - 1 : name.size();
    return X509_VERIFY_PARAM_set1_host(expected, name.data(), size) == 1 ? CURLE_OK
                                                                         : CURLE_SSL_CONNECT_ERROR;
  }

  static std::size_t OnBody(char* data, std::size_t /*one*/, std::size_t size, void* self) {
    Request& request = *static_cast<Request*>(self);
    const std::size_t limit = request.client_.options_.max_body;
    if (size > limit - request.reply_.body.size()) {
      request.too_large_ = absl::StrCat("the response is larger than ", limit >> 20, " MiB");
      return 0;
    }
    request.reply_.body.append(data, size);
    return size;
  }

  static std::size_t OnHeader(char* /*data*/, std::size_t /*one*/, std::size_t size, void* self) {
    Request& request = *static_cast<Request*>(self);
    request.header_bytes_ += size;
    if (request.header_bytes_ <= kMaxHeaders) return size;
    request.too_large_ =
        absl::StrCat("the headers of the response are larger than ", kMaxHeaders >> 10, " KiB");
    return 0;
  }

  absl::Status Failure(CURLcode end) const {
    const std::string text = text_.data();
    const amqp::TlsOptions tls = client_.url_.tls.value_or(amqp::TlsOptions());
    if (!too_large_.empty()) return absl::ResourceExhaustedError(too_large_);
    switch (end) {
      case CURLE_COULDNT_RESOLVE_HOST:
        return absl::UnavailableError("cannot resolve the host (" + text + ")");
      case CURLE_COULDNT_CONNECT: {
        long error = 0;
        curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &error);
        return absl::UnavailableError(error == 0 ? text : std::strerror(static_cast<int>(error)));
      }
      case CURLE_OPERATION_TIMEDOUT:
        return absl::DeadlineExceededError(
            absl::StrCat("no response within ", absl::FormatDuration(client_.options_.timeout)));
      case CURLE_SSL_CACERT_BADFILE:
        return absl::InvalidArgumentError(absl::StrCat(tls.ca_file.empty()
                                                           ? "the trust store of the system"
                                                           : "cacertfile '" + tls.ca_file + "'",
                                                       ": ", text));
      case CURLE_SSL_CERTPROBLEM:
        return absl::InvalidArgumentError(
            absl::StrCat("certfile '", tls.cert_file, "', keyfile '", tls.key_file, "': ", text));
      case CURLE_URL_MALFORMAT:  // there is none
        return TlsError("the host name is invalid");
      case CURLE_UNSUPPORTED_PROTOCOL:  // libcurl treats any other reply as HTTP/0.9
      case CURLE_WEIRD_SERVER_REPLY:
        return absl::FailedPreconditionError("the server does not speak HTTP");
      case CURLE_PEER_FAILED_VERIFICATION:
      case CURLE_SSL_CONNECT_ERROR:
        return TlsError(text);
      default:
        // A TLS server may also refuse the client's certificate later, when the client reads.
        return text.find("SSL") != std::string::npos
                   ? TlsError(text)
                   : absl::UnavailableError("the connection was closed before the response");
    }
  }

  absl::Status TlsError(const std::string& why) const {
    return absl::FailedPreconditionError(
        absl::StrCat("TLS with '", name_, "': ", why,
                     "; name the certificate authority (?cacertfile=FILE), or use http:// for a "
                     "port without TLS"));
  }

  const HttpClient& client_;
  const std::string name_;  // the name that the certificate must have
  Url url_;                 // null if the host is invalid
  std::function<void(const absl::Status&)> done_;
  Strings headers_;
  Strings connect_to_;
  std::array<char, CURL_ERROR_SIZE> text_ = {};
  HttpReply reply_;
  std::size_t header_bytes_ = 0;
  std::string too_large_;  // the part that is too large
  std::map<curl_socket_t, EventPtr> sockets_;
  std::unique_ptr<Timer> timer_;
  Easy easy_;
  Multi multi_;  // destroyed first
};

// One call of Get, over all hosts.
struct HttpClient::Call {
  std::string path;
  Done done;
  std::vector<std::string> hosts;
  absl::Time deadline;
  std::size_t host = 0;  // the current one
  absl::Status failure = {};
  std::optional<Waiting> waiting = std::nullopt;
  std::unique_ptr<Request> request = nullptr;
};

HttpClient::HttpClient(EventLoop& loop, ManagementUrl url, Options options)
    : loop_(loop), url_(std::move(url)), options_(options), hosts_(url_.more_hosts) {
  static const CURLcode kOnce = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(kOnce);
  hosts_.insert(hosts_.begin(), url_.endpoint.host);
}

HttpClient::~HttpClient() = default;

void HttpClient::Get(const std::string& path, Done done) { Begin(path, std::move(done)); }

absl::StatusOr<HttpReply> HttpClient::Get(const std::string& path) {
  if (silent_ && !options_.asks_again) {
    return absl::DeadlineExceededError(Describe(url_) + ": it has stopped responding");
  }
  std::optional<absl::StatusOr<HttpReply>> received;
  Call& call = Begin(path, [&](const absl::StatusOr<HttpReply>& reply) {
    received = reply;
    loop_.Stop();
  });
  loop_.Run().IgnoreError();  // nothing here calls EventLoop::Fail
  if (received) return *std::move(received);
  calls_.remove_if([&call](const Call& each) { return &each == &call; });
  return absl::CancelledError("interrupted");
}

HttpClient::Call& HttpClient::Begin(const std::string& path, Done done) {
  Call& call = calls_.emplace_back(Call{.path = path,
                                        .done = std::move(done),
                                        .hosts = hosts_,
                                        .deadline = absl::Now() + options_.timeout});
  if (options_.say_waiting) call.waiting.emplace(loop_, Describe(url_));
  if (url_.renewed != nullptr) {
    if (const auto now = url_.renewed(); now.ok()) {
      url_.user = now->user;
      url_.password = now->password;
    }
  }
  Continue(call);
  return call;
}

// Divides the remaining time among the remaining hosts.
void HttpClient::Continue(Call& call) {
  const absl::Duration patience =
      (call.deadline - absl::Now()) / static_cast<std::int64_t>(call.hosts.size() - call.host);
  call.request =
      std::make_unique<Request>(*this, call.hosts[call.host], call.path, patience,
                                [this, &call](const absl::Status& status) { OnEnd(call, status); });
}

void HttpClient::OnEnd(Call& call, const absl::Status& status) {
  if (status.ok()) {
    const auto replied = std::find(hosts_.begin(), hosts_.end(), call.hosts[call.host]);
    std::swap(hosts_.front(), *replied);
    return End(call, call.request->TakeReply());
  }
  if (call.waiting) {
    call.waiting->Because(std::string_view(status.message().data(), status.message().size()));
  }
  const absl::Status complete(status.code(),
                              absl::StrCat(Describe(url_), ": ", std::string(status.message())));
  // Prefers an error that all nodes would return; otherwise returns the error of the first host.
  if (!absl::IsUnavailable(status) && !absl::IsDeadlineExceeded(status)) return End(call, complete);
  call.failure.Update(complete);
  if (++call.host < call.hosts.size()) return Continue(call);
  silent_ = absl::IsDeadlineExceeded(call.failure);
  End(call, call.failure);
}

void HttpClient::End(Call& call, const absl::StatusOr<HttpReply>& reply) {
  const absl::StatusOr<HttpReply> kept = reply;  // may be part of `call`
  const Done done = std::move(call.done);
  calls_.remove_if([&call](const Call& each) { return &each == &call; });
  done(kept);
}

namespace {

constexpr absl::string_view kHttp = "http://";
constexpr absl::string_view kHttps = "https://";
constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;
constexpr std::uint16_t kManagementPort = 15672;
constexpr std::uint16_t kManagementTlsPort = 15671;

// Returns whether "user:password@host:port" contains a port.
bool HasPort(std::string_view authority) {
  const std::string_view host = authority.substr(authority.rfind('@') + 1);
  const std::size_t colon = host.rfind(':');
  const std::size_t bracket = host.rfind(']');
  if (colon == std::string_view::npos || colon + 1 == host.size()) return false;
  return bracket == std::string_view::npos || colon > bracket;
}

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

// The library's error messages about AMQP URIs are also correct for this URL.
std::string WithoutScheme(const absl::Status& status) {
  std::string what(status.message());
  constexpr std::string_view kWhose = "AMQP URI: ";
  if (what.starts_with(kWhose)) what.erase(0, kWhose.size());
  return what;
}

constexpr char kLoopback[] = "loopback";

std::string WithoutCaseAndDot(std::string host) {
  absl::AsciiStrToLower(&host);
  if (host.ends_with('.')) host.pop_back();
  return host;
}

// The numeric addresses of a host; empty if it cannot be resolved.
std::vector<std::string> AddressesOf(const std::string& host) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    std::array<char, NI_MAXHOST> text = {};
    getnameinfo(info->ai_addr, info->ai_addrlen, text.data(), text.size(), nullptr, 0,
                NI_NUMERICHOST);
    const std::string address = text.data();
    const bool is_loopback = address == "::1" || address.starts_with("127.");
    addresses.push_back(is_loopback ? kLoopback : address);
  }
  return addresses;
}

}  // namespace

absl::StatusOr<ManagementUrl> ParseManagementUrl(const std::string& url,
                                                 const amqp::ConnectionOptions& broker) {
  const bool tls = absl::StartsWithIgnoreCase(url, kHttps);
  if (!tls && !absl::StartsWithIgnoreCase(url, kHttp)) {
    return absl::InvalidArgumentError(
        "must begin with http:// or https://, as in http://guest:guest@localhost:15672");
  }
  std::string_view rest = std::string_view(url).substr((tls ? kHttps : kHttp).size());
  const std::string_view query = rest.substr(std::min(rest.find('?'), rest.size()));
  rest.remove_suffix(query.size());
  std::string_view path = rest.substr(std::min(rest.find('/'), rest.size()));
  const std::string_view authority = rest.substr(0, rest.size() - path.size());
  if (path.find('@') != std::string_view::npos) {  // a password may contain it
    return absl::InvalidArgumentError(
        "a '/', '?' or '@' in user or password must be percent-encoded (%2f, %3f, %40)");
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  if (path.ends_with("/api")) path.remove_suffix(4);
  if (!IsPrintable(path)) {
    return absl::InvalidArgumentError("the path must be percent-encoded (%20 for a blank)");
  }

  const absl::StatusOr<amqp::ConnectionOptions> parsed = amqp::ParseUri(
      std::string(tls ? "amqps://" : "amqp://").append(authority).append("/").append(query));
  if (!parsed.ok()) return absl::InvalidArgumentError(WithoutScheme(parsed.status()));

  const bool has_user = authority.find('@') != std::string_view::npos;
  ManagementUrl management{.endpoint = parsed->endpoints.front(),
                           .tls = parsed->tls,
                           .user = has_user ? parsed->user : broker.user,
                           .password = has_user ? parsed->password : broker.password,
                           .path_prefix = std::string(path)};
  if (!HasPort(authority)) management.endpoint.port = tls ? kHttpsPort : kHttpPort;
  return management;
}

ManagementUrl DefaultManagementUrl(const amqp::ConnectionOptions& broker) {
  ManagementUrl management{.endpoint = {.host = broker.endpoints.front().host,
                                        .port = broker.tls ? kManagementTlsPort : kManagementPort},
                           .tls = broker.tls,
                           .user = broker.user,
                           .password = broker.password};
  for (const amqp::Endpoint& endpoint : broker.endpoints) {
    if (endpoint.host != management.endpoint.host) management.more_hosts.push_back(endpoint.host);
  }
  return management;
}

std::string Describe(const ManagementUrl& url) {
  return absl::StrCat(url.tls ? "https://" : "http://", amqp::Describe(url.endpoint),
                      url.path_prefix);
}

std::optional<bool> IsSameHost(const std::string& a, const std::string& b) {
  if (WithoutCaseAndDot(a) == WithoutCaseAndDot(b)) return true;
  const std::vector<std::string> ours = AddressesOf(a);
  const std::vector<std::string> theirs = AddressesOf(b);
  if (ours.empty() || theirs.empty()) return std::nullopt;
  return std::find_first_of(ours.begin(), ours.end(), theirs.begin(), theirs.end()) != ours.end();
}

}  // namespace retryq::cli
