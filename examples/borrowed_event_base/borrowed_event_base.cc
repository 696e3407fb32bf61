// Runs retryq on the libevent loop that the program already has. The program is an HTTP server that
// takes orders, queues them, and reports how many are done.
//
//   borrowed_event_base [PORT [QUEUE]]      RETRYQ_URL names the broker; port 0 is a free port
//
//   curl -d 'order 42' http://127.0.0.1:8080/orders      202 when the broker has confirmed it
//   curl http://127.0.0.1:8080/                          numbers of queued, failed and done orders
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/amqp/make_broker.h"
#include "retryq/retryq.h"

namespace {

using EventBase = std::unique_ptr<event_base, decltype(&event_base_free)>;
using Event = std::unique_ptr<event, decltype(&event_free)>;
using HttpServer = std::unique_ptr<evhttp, decltype(&evhttp_free)>;

constexpr absl::Duration kGrace = absl::Seconds(25);
constexpr int kAccepted = 202;

struct Counts {
  int queued = 0;
  int failed = 0;
  int done = 0;
};

void Reply(evhttp_request* request, int code, const std::string& text) {
  evbuffer* body = evhttp_request_get_output_buffer(request);
  evbuffer_add(body, text.data(), text.size());
  evhttp_send_reply(request, code, nullptr, nullptr);
}

std::string BodyOf(evhttp_request* request) {
  evbuffer* buffer = evhttp_request_get_input_buffer(request);
  std::string body(evbuffer_get_length(buffer), '\0');
  evbuffer_copyout(buffer, body.data(), body.size());
  return body;
}

// The program's own work, which does not depend on retries: publishes each order.
class OrderServer {
 public:
  OrderServer(event_base* base, retryq::Client& client, std::string queue, Counts& counts)
      : client_(client),
        queue_(std::move(queue)),
        counts_(counts),
        server_(evhttp_new(base), &evhttp_free) {
    evhttp_set_cb(server_.get(), "/orders", &OrderServer::OnOrder, this);
    evhttp_set_gencb(server_.get(), &OrderServer::OnOther, this);
  }

  // Returns the port, or nullopt if it is in use.
  std::optional<std::uint16_t> Listen(std::uint16_t port) {
    evhttp_bound_socket* socket = evhttp_bind_socket_with_handle(server_.get(), "127.0.0.1", port);
    if (socket == nullptr) return std::nullopt;
    sockaddr_in address{};
    socklen_t size = sizeof address;
    getsockname(evhttp_bound_socket_get_fd(socket), reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }

 private:
  static void OnOrder(evhttp_request* request, void* arg) {
    static_cast<OrderServer*>(arg)->Take(request);
  }
  static void OnOther(evhttp_request* request, void* arg) {
    const Counts& counts = static_cast<OrderServer*>(arg)->counts_;
    Reply(request, HTTP_OK,
          absl::StrCat("queued ", counts.queued, ", failed ", counts.failed, ", done ", counts.done,
                       "\n"));
  }

  // Responds when the broker has confirmed the order; the loop runs other events meanwhile.
  void Take(evhttp_request* request) {
    client_.Publish({.routing_key = queue_, .body = BodyOf(request)}, {},
                    [this, request](const absl::Status& published) {
                      if (published.ok()) ++counts_.queued;
                      Reply(request, published.ok() ? kAccepted : HTTP_SERVUNAVAIL,
                            absl::StrCat(published.ok() ? "queued" : published.ToString(), "\n"));
                    });
  }

  retryq::Client& client_;
  const std::string queue_;
  Counts& counts_;
  const HttpServer server_;
};

// Replace this by your own work. Here each order fails once.
retryq::Outcome Handle(const retryq::Delivery& order, Counts& counts) {
  if (order.attempt() == 0) {
    ++counts.failed;
    return absl::UnavailableError("the bank does not respond");
  }
  ++counts.done;
  return absl::OkStatus();
}

// The program's own shutdown: it handles its signals and runs the event base itself.
class Shutdown {
 public:
  explicit Shutdown(event_base* base)
      : base_(base),
        interrupt_(evsignal_new(base, SIGINT, &Shutdown::OnSignal, this), &event_free),
        terminate_(evsignal_new(base, SIGTERM, &Shutdown::OnSignal, this), &event_free) {
    evsignal_add(interrupt_.get(), nullptr);
    evsignal_add(terminate_.get(), nullptr);
  }

  // Sets the consumer to drain before the exit.
  void Drain(retryq::Consumer* orders) { orders_ = orders; }

  void Fail(const absl::Status& why) {
    if (status_.ok()) status_ = why;
    event_base_loopbreak(base_);
  }
  const absl::Status& status() const { return status_; }

 private:
  // A second signal stops the program immediately.
  static void OnSignal(evutil_socket_t /*signal*/, short /*what*/, void* arg) {
    Shutdown& self = *static_cast<Shutdown*>(arg);
    retryq::Consumer* const orders = std::exchange(self.orders_, nullptr);
    if (orders == nullptr) {
      event_base_loopbreak(self.base_);
      return;
    }
    orders->Drain(kGrace, [&self](bool complete) {
      std::cout << (complete ? "stopped" : "stopped; open messages are requeued") << std::endl;
      event_base_loopbreak(self.base_);
    });
  }

  event_base* const base_;
  const Event interrupt_;
  const Event terminate_;
  retryq::Consumer* orders_ = nullptr;
  absl::Status status_;
};

int Fail(const absl::Status& status) {
  std::cerr << "borrowed_event_base: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t port = 8080;
  if (argc > 1 && (!absl::SimpleAtoi(argv[1], &port) || port > 65535)) {
    return Fail(absl::InvalidArgumentError(
        absl::StrCat("invalid port '", argv[1], "'; the range is 0 to 65535")));
  }
  const std::string queue = argc > 2 ? argv[2] : "orders";
  const char* url = std::getenv("RETRYQ_URL");
  const absl::StatusOr<retryq::amqp::ConnectionOptions> connection =
      retryq::amqp::ParseUri(url != nullptr ? url : "amqp://localhost");
  if (!connection.ok()) return Fail(connection.status());

  const EventBase base(event_base_new(), &event_base_free);
  Shutdown shutdown(base.get());

  // A client that is made of its parts neither handles signals nor drains: `shutdown` does both.
  retryq::EventLoop loop = retryq::EventLoop::Borrow(base.get());
  const std::unique_ptr<retryq::Broker> broker = retryq::amqp::MakeBroker(loop, *connection);
  const retryq::Environment environment{.clock = &loop.clock(),
                                        .timers = &loop,
                                        .random = &loop.random(),
                                        .executor = loop.executor()};
  retryq::Client client(environment, *broker, {},
                        [&shutdown](const absl::Status& fatal) { shutdown.Fail(fatal); });

  Counts counts;
  OrderServer server(base.get(), client, queue, counts);
  const std::optional<std::uint16_t> bound = server.Listen(static_cast<std::uint16_t>(port));
  if (!bound) {
    return Fail(absl::UnavailableError(
        absl::StrCat("port ", port, " is in use; port 0 selects a free one")));
  }
  absl::StatusOr<retryq::Consumer> orders = client.Consume(
      {.queue = queue, .retry = {.backoff = {.base = absl::Milliseconds(500)}, .max_attempts = 8}},
      [&counts](const retryq::Delivery& order) { return Handle(order, counts); });
  if (!orders.ok()) return Fail(orders.status());
  shutdown.Drain(&*orders);

  std::cout << "listening on http://127.0.0.1:" << *bound << "/" << std::endl;
  event_base_dispatch(base.get());
  return shutdown.status().ok() ? EXIT_SUCCESS : Fail(shutdown.status());
}
