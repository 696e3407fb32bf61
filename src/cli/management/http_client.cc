#include "cli/management/http_client.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/text/io.h"
#include "cli/text/waiting.h"

namespace retryq::cli {
namespace {

constexpr char kTlsRemedy[] =
    "; say whom to trust (?cacertfile=FILE), or http:// for a port without TLS";

constexpr ev_ssize_t kMaxHeaders = 64 << 10;

template <auto kFree>
struct Freed {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using Connection = std::unique_ptr<evhttp_connection, Freed<evhttp_connection_free>>;
using SslContext = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Ssl = std::unique_ptr<SSL, Freed<SSL_free>>;

std::string OrEmpty(const char* text) { return text == nullptr ? "" : text; }

// "Sun, 22 Nov 2026 07:01:58 GMT"
std::optional<absl::Time> ParseDate(const char* text) {
  absl::Time time;
  std::string error;
  if (text == nullptr || !absl::ParseTime("%a, %d %b %Y %H:%M:%S GMT", text, &time, &error)) {
    return std::nullopt;
  }
  return time;
}

HttpReply ReadReply(evhttp_request* request) {
  HttpReply reply{.status = evhttp_request_get_response_code(request)};
  reply.date = ParseDate(evhttp_find_header(evhttp_request_get_input_headers(request), "Date"));
  evbuffer* body = evhttp_request_get_input_buffer(request);
  reply.body.resize(evbuffer_get_length(body));
  evbuffer_remove(body, reply.body.data(), reply.body.size());
  return reply;
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, 16> bytes;
  return evutil_inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         evutil_inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// Why there is no connection to the address, which libevent keeps to itself; empty if there is one
// now. Takes a second at the most.
std::string WhyNoConnection(const std::string& address, std::uint16_t port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* target = nullptr;
  if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &target) != 0) return "";
  const std::unique_ptr<addrinfo, Freed<freeaddrinfo>> owner(target);
  const FileDescriptor socket(
      ::socket(target->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  int error = 0;
  if (!socket.is_open() ||
      (::connect(socket.get(), target->ai_addr, target->ai_addrlen) != 0 && errno != EINPROGRESS)) {
    error = errno;
  } else {
    pollfd connected = {socket.get(), POLLOUT, 0};
    socklen_t size = sizeof error;
    if (::poll(&connected, 1, 1000) == 0) return "it does not answer";
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  return error == 0 ? "" : std::strerror(error);
}

// The addresses of a host, or why there are none.
struct Found {
  std::vector<std::string> addresses;
  std::string why;
};

Found LookUp(const std::string& host, int flags) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* first = nullptr;
  const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &first);
  if (error != 0) return {.addresses = {}, .why = ::gai_strerror(error)};
  const std::unique_ptr<addrinfo, Freed<freeaddrinfo>> owner(first);
  Found found;
  for (const addrinfo* each = first; each != nullptr; each = each->ai_next) {
    std::array<char, NI_MAXHOST> text;
    if (::getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      found.addresses.emplace_back(text.data());
    }
  }
  return found;
}

std::string LastSslError() {
  const char* reason = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  return reason == nullptr ? "unknown error" : reason;
}

}  // namespace

// Whom to trust, and who we are.
class HttpClient::Tls {
 public:
  explicit Tls(const amqp::TlsOptions& options)
      : options_(options), context_(SSL_CTX_new(TLS_client_method())) {
    if (context_ == nullptr || SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION) != 1) {
      why_not_ = absl::StrCat("OpenSSL: ", LastSslError());
      return;
    }
    SSL_CTX_set_verify(context_.get(), options.verify_peer ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                       nullptr);
    if (options.ca_file.empty()) {
      if (SSL_CTX_set_default_verify_paths(context_.get()) != 1) {
        why_not_ = absl::StrCat("the system's trust store: ", LastSslError());
      }
    } else if (SSL_CTX_load_verify_file(context_.get(), options.ca_file.c_str()) != 1) {
      why_not_ = absl::StrCat("cacertfile '", options.ca_file, "': ", LastSslError());
    }
    if (options.cert_file.empty()) return;
    if (SSL_CTX_use_certificate_chain_file(context_.get(), options.cert_file.c_str()) != 1) {
      why_not_ = absl::StrCat("certfile '", options.cert_file, "': ", LastSslError());
    } else if (SSL_CTX_use_PrivateKey_file(context_.get(), options.key_file.c_str(),
                                           SSL_FILETYPE_PEM) != 1) {
      why_not_ = absl::StrCat("keyfile '", options.key_file, "': ", LastSslError());
    }
  }

  // Why there is no using it; empty if there is.
  const std::string& why_not() const { return why_not_; }

  // The start of a connection to `host`, which the certificate must be for. kUnavailable where
  // OpenSSL does not take the name.
  absl::StatusOr<Ssl> NewSsl(const std::string& host) const {
    Ssl ssl(SSL_new(context_.get()));
    const std::string name =
        InCertificates(options_.server_name.empty() ? host : options_.server_name);
    if (ssl != nullptr && Expect(name, ssl.get())) return ssl;
    return absl::UnavailableError(
        absl::StrCat("OpenSSL cannot connect to '", name, "': ", LastSslError()));
  }

 private:
  // As certificates and SNI have it: without the dot at its end, and without an interface.
  static std::string InCertificates(const std::string& host) {
    std::string name = host.substr(0, host.find('%'));
    if (name.ends_with('.')) name.pop_back();
    return name;
  }

  // Whether OpenSSL has taken all that is to be asked for and checked.
  static bool Expect(const std::string& name, SSL* ssl) {
    X509_VERIFY_PARAM* rules = SSL_get0_param(ssl);
    if (IsAddress(name)) return X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) == 1;
    return !name.empty() &&  // which OpenSSL would take for any
           X509_VERIFY_PARAM_set1_host(rules, name.data(), name.size()) == 1 &&
           SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    const_cast<char*>(name.c_str())) == 1;  // NOLINT: OpenSSL only reads it
  }

  const amqp::TlsOptions options_;
  const SslContext context_;
  std::string why_not_;
};

// One request at one address.
class HttpClient::Exchange {
 public:
  enum class End {
    kReply,
    kNoConnection,
    kNoAnswer,
    kNoTls,
    kNoHttp,
    kTooLarge,
    kTimeout,
    kStopped
  };

  Exchange(HttpClient& client, const Address& address) : client_(client), sent_(absl::Now()) {
    bufferevent* socket = NewSocket(address.host);
    if (socket == nullptr) return;
    connection_.reset(
        evhttp_connection_base_bufferevent_new(client.loop_.base(), /*dnsbase=*/nullptr, socket,
                                               address.address.c_str(), client.url_.endpoint.port));
    evhttp_connection_set_max_body_size(connection_.get(),
                                        static_cast<ev_ssize_t>(client.options_.max_body));
    evhttp_connection_set_max_headers_size(connection_.get(), kMaxHeaders);
  }

  End Run(const std::string& path, absl::Duration timeout) {
    if (connection_ == nullptr) return End::kNoTls;
    const ManagementUrl& url = client_.url_;
    evhttp_request* request = evhttp_request_new(&Exchange::OnDone, this);
    evhttp_request_set_error_cb(request, &Exchange::OnError);
    evkeyvalq* headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Host", amqp::Describe(url.endpoint).c_str());
    evhttp_add_header(headers, "Connection", "close");
    evhttp_add_header(
        headers, "Authorization",
        absl::StrCat("Basic ", absl::Base64Escape(url.user + ":" + url.password)).c_str());
    if (evhttp_make_request(connection_.get(), request, EVHTTP_REQ_GET,
                            (url.path_prefix + path).c_str()) != 0) {
      return End::kNoConnection;
    }
    const std::unique_ptr<Timer> timer =
        client_.loop_.After(timeout, [this] { Finish(End::kTimeout); });
    if (!end_) client_.loop_.Run().IgnoreError();  // nothing here fails a loop
    return end_.value_or(End::kStopped);
  }

  HttpReply TakeReply() {
    reply_.sent = sent_;
    reply_.received = absl::Now();
    return std::move(reply_);
  }
  // What the operating system or OpenSSL says; may be empty.
  const std::string& detail() const { return detail_; }

 private:
  // Null, with a detail, where TLS cannot begin.
  bufferevent* NewSocket(const std::string& host) {
    constexpr int kOptions = BEV_OPT_CLOSE_ON_FREE;
    event_base* base = client_.loop_.base();
    if (client_.tls_ == nullptr) return bufferevent_socket_new(base, -1, kOptions);
    absl::StatusOr<Ssl> ssl = client_.tls_->NewSsl(host);
    if (!ssl.ok()) {
      detail_ = std::string(ssl.status().message());
      return nullptr;
    }
    ssl_ = ssl->release();  // the socket's from now on
    tls_socket_ =
        bufferevent_openssl_socket_new(base, -1, ssl_, BUFFEREVENT_SSL_CONNECTING, kOptions);
    return tls_socket_;
  }

  // Comes before OnDone, which has no request then; but not where there was no connection.
  static void OnError(evhttp_request_error error, void* arg) {
    Exchange& exchange = *static_cast<Exchange*>(arg);
    switch (error) {
      case EVREQ_HTTP_INVALID_HEADER:
        exchange.error_ = End::kNoHttp;
        break;
      case EVREQ_HTTP_DATA_TOO_LONG:
        exchange.error_ = End::kTooLarge;
        break;
      case EVREQ_HTTP_TIMEOUT:
      case EVREQ_HTTP_EOF:
      case EVREQ_HTTP_BUFFER_ERROR:
      case EVREQ_HTTP_REQUEST_CANCEL:
        exchange.error_ = End::kNoAnswer;
        break;
    }
  }

  static void OnDone(evhttp_request* request, void* arg) {
    Exchange& exchange = *static_cast<Exchange*>(arg);
    if (request != nullptr && evhttp_request_get_response_code(request) != 0) {
      exchange.reply_ = ReadReply(request);
      return exchange.Finish(End::kReply);
    }
    if (exchange.tls_socket_ != nullptr && exchange.ExplainTls()) {
      return exchange.Finish(End::kNoTls);
    }
    if (exchange.error_) return exchange.Finish(*exchange.error_);
    exchange.Finish(End::kNoConnection);
  }

  // Whether TLS is why there is no answer.
  bool ExplainTls() {
    const long verdict = SSL_get_verify_result(ssl_);
    const unsigned long error = bufferevent_get_openssl_error(tls_socket_);
    ERR_clear_error();
    if (verdict != X509_V_OK) {
      detail_ = absl::StrCat("its certificate: ", X509_verify_cert_error_string(verdict));
    } else if (const char* reason = ERR_reason_error_string(error)) {
      detail_ = reason;
    }
    return !detail_.empty();
  }

  void Finish(End end) {
    if (end_) return;
    end_ = end;
    client_.loop_.Stop();
  }

  HttpClient& client_;
  const absl::Time sent_;
  SSL* ssl_ = nullptr;                 // the socket's
  bufferevent* tls_socket_ = nullptr;  // the connection's
  HttpReply reply_;
  std::string detail_;
  std::optional<End> error_;
  std::optional<End> end_;
  Connection connection_;  // goes first
};

HttpClient::HttpClient(EventLoop& loop, ManagementUrl url, Options options)
    : loop_(loop),
      url_(std::move(url)),
      options_(options),
      tls_(url_.tls ? std::make_unique<Tls>(*url_.tls) : nullptr) {}

HttpClient::~HttpClient() = default;

absl::Status HttpClient::Fail(absl::StatusCode code, const std::string& what) const {
  return {code, absl::StrCat(Describe(url_), ": ", what)};
}

absl::Status HttpClient::Resolve(absl::Time deadline) {
  if (!addresses_.empty()) return absl::OkStatus();
  // Each host has its share, and what asks one of them as well.
  const absl::Duration patience =
      (deadline - absl::Now()) / static_cast<std::int64_t>(url_.more_hosts.size() + 2);
  absl::Status first = Resolve(url_.endpoint.host, patience);
  if (absl::IsCancelled(first)) return first;
  for (const std::string& host : url_.more_hosts) {
    if (absl::IsCancelled(Resolve(host, patience))) break;
  }
  return addresses_.empty() ? first : absl::OkStatus();
}

// On a thread of its own, as it may take minutes, and cannot be interrupted.
absl::Status HttpClient::Resolve(const std::string& host, absl::Duration patience) {
  const auto found = std::make_shared<std::optional<Found>>(LookUp(host, AI_NUMERICHOST));
  if ((*found)->addresses.empty()) {
    found->reset();
    const auto answer = [&loop = loop_, to = loop_.executor(),
                         weak = std::weak_ptr(found)](Found it) {
      to->Post([&loop, weak, it = std::move(it)] {
        const auto waiting = weak.lock();
        if (waiting == nullptr) return;
        *waiting = it;
        loop.Stop();
      });
    };
    try {
      std::thread([host, answer] { answer(LookUp(host, 0)); }).detach();
    } catch (const std::system_error& error) {
      answer({.addresses = {}, .why = error.what()});
    }
    const std::unique_ptr<Timer> timer = loop_.After(patience, [&] {
      *found = Found{.addresses = {},
                     .why = absl::StrCat("no answer within ", absl::FormatDuration(patience))};
      loop_.Stop();
    });
    loop_.Run().IgnoreError();  // nothing here fails a loop
    if (!*found) return Fail(absl::StatusCode::kCancelled, "interrupted");
  }
  for (const std::string& address : (*found)->addresses) {
    addresses_.push_back({.host = host, .address = address});
  }
  if (!(*found)->addresses.empty()) return absl::OkStatus();
  return Fail(absl::StatusCode::kUnavailable, "the host is not known: " + (*found)->why);
}

absl::StatusOr<HttpReply> HttpClient::Get(const std::string& path) {
  if (tls_ != nullptr && !tls_->why_not().empty()) {
    return Fail(absl::StatusCode::kInvalidArgument, tls_->why_not());
  }
  std::optional<Waiting> waiting;
  if (options_.say_waiting) waiting.emplace(loop_, Describe(url_));
  const absl::Time deadline = absl::Now() + options_.timeout;
  if (absl::Status status = Resolve(deadline); !status.ok()) return status;
  using End = Exchange::End;
  std::string detail;
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    // Each address has its share of the time that is left.
    const absl::Duration patience =
        (deadline - absl::Now()) / static_cast<std::int64_t>(addresses_.size() - i);
    Exchange exchange(*this, addresses_[i]);
    const End end = exchange.Run(path, patience);
    if (!exchange.detail().empty()) detail = exchange.detail();
    switch (end) {
      case End::kReply:
        std::swap(addresses_.front(), addresses_[i]);
        return exchange.TakeReply();
      case End::kStopped:
        return Fail(absl::StatusCode::kCancelled, "interrupted");
      case End::kNoTls:
        return Fail(absl::StatusCode::kFailedPrecondition, "TLS: " + detail + kTlsRemedy);
      case End::kNoHttp:
        return Fail(absl::StatusCode::kFailedPrecondition, "what answers there speaks no HTTP");
      case End::kTooLarge:
        return Fail(absl::StatusCode::kResourceExhausted,
                    absl::StrCat("the answer is above ", options_.max_body >> 20, " MiB"));
      case End::kNoAnswer:
        return Fail(absl::StatusCode::kUnavailable, "the connection was closed before the answer");
      case End::kTimeout:
        detail = absl::StrCat("no answer within ", absl::FormatDuration(options_.timeout));
        if (i + 1 == addresses_.size()) return Fail(absl::StatusCode::kDeadlineExceeded, detail);
        break;
      case End::kNoConnection:
        detail = WhyNoConnection(addresses_[i].address, url_.endpoint.port);
        break;
    }
    if (waiting) waiting->Because(detail);
  }
  return Fail(absl::StatusCode::kUnavailable, detail.empty() ? "no connection" : detail);
}

std::string PercentEncode(const std::string& text) {
  const std::unique_ptr<char, decltype(&std::free)> encoded(
      evhttp_uriencode(text.data(), static_cast<ev_ssize_t>(text.size()), /*space_to_plus=*/0),
      &std::free);
  return OrEmpty(encoded.get());
}

}  // namespace retryq::cli
