// retryq as a guest on the libevent loop of a program that has one already: here an HTTP server,
// which takes orders, queues them, and tells how many are done.
//
//   borrowed_event_base [PORT [QUEUE]]      on the broker that RETRYQ_URL names; port 0 is a free
//   one
//
//   curl -d 'order 42' http://127.0.0.1:8080/orders      202 once the broker has it
//   curl http://127.0.0.1:8080/                          queued, failed and done so far
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

// What the program is about: it knows nothing of retrying, and publishes each order.
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

  // The port, or nothing where it is taken.
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

  // The sender gets its answer when the broker has confirmed it; the loop goes on meanwhile.
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

// Stands for your own work: each order fails once.
retryq::Outcome Handle(const retryq::Delivery& order, Counts& counts) {
  if (order.attempt() == 0) {
    ++counts.failed;
    return absl::UnavailableError("the bank does not answer");
  }
  ++counts.done;
  return absl::OkStatus();
}

// How the program ends, on its own terms: it has its signals for itself, and runs the base itself.
class Ending {
 public:
  explicit Ending(event_base* base)
      : base_(base),
        interrupt_(evsignal_new(base, SIGINT, &Ending::OnSignal, this), &event_free),
        terminate_(evsignal_new(base, SIGTERM, &Ending::OnSignal, this), &event_free) {
    evsignal_add(interrupt_.get(), nullptr);
    evsignal_add(terminate_.get(), nullptr);
  }

  // What is to be drained before the end.
  void Begin(retryq::Consumer* orders) { orders_ = orders; }

  void Fail(const absl::Status& why) {
    if (status_.ok()) status_ = why;
    event_base_loopbreak(base_);
  }
  const absl::Status& status() const { return status_; }

 private:
  // A second signal does not wait.
  static void OnSignal(evutil_socket_t /*signal*/, short /*what*/, void* arg) {
    Ending& self = *static_cast<Ending*>(arg);
    retryq::Consumer* const orders = std::exchange(self.orders_, nullptr);
    if (orders == nullptr) {
      event_base_loopbreak(self.base_);
      return;
    }
    orders->Drain(kGrace, [&self](bool complete) {
      std::cout << (complete ? "stopped" : "stopped; what was open is queued again") << std::endl;
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
    return Fail(absl::InvalidArgumentError(absl::StrCat("the port '", argv[1], "': 0 to 65535")));
  }
  const std::string queue = argc > 2 ? argv[2] : "orders";
  const char* url = std::getenv("RETRYQ_URL");
  const absl::StatusOr<retryq::amqp::ConnectionOptions> connection =
      retryq::amqp::ParseUri(url != nullptr ? url : "amqp://localhost");
  if (!connection.ok()) return Fail(connection.status());

  const EventBase base(event_base_new(), &event_base_free);
  Ending ending(base.get());

  // Made of its parts, a client neither drains nor ends anything by itself: that is up to `ending`.
  retryq::EventLoop loop = retryq::EventLoop::Borrow(base.get());
  const std::unique_ptr<retryq::Broker> broker = retryq::amqp::MakeBroker(loop, *connection);
  const retryq::Environment environment{.clock = &loop.clock(),
                                        .timers = &loop,
                                        .random = &loop.random(),
                                        .executor = loop.executor()};
  retryq::Client client(environment, *broker, {},
                        [&ending](const absl::Status& fatal) { ending.Fail(fatal); });

  Counts counts;
  OrderServer server(base.get(), client, queue, counts);
  const std::optional<std::uint16_t> bound = server.Listen(static_cast<std::uint16_t>(port));
  if (!bound) {
    return Fail(absl::UnavailableError(absl::StrCat("port ", port, " is taken; 0 is a free one")));
  }
  absl::StatusOr<retryq::Consumer> orders = client.Consume(
      {.queue = queue, .retry = {.backoff = {.base = absl::Milliseconds(500)}, .max_attempts = 8}},
      [&counts](const retryq::Delivery& order) { return Handle(order, counts); });
  if (!orders.ok()) return Fail(orders.status());
  ending.Begin(&*orders);

  std::cout << "listening on http://127.0.0.1:" << *bound << "/" << std::endl;
  event_base_dispatch(base.get());
  return ending.status().ok() ? EXIT_SUCCESS : Fail(ending.status());
}
