#ifndef RETRYQ_TEST_UNIT_AMQP_LIFETIME_STAGE_H_
#define RETRYQ_TEST_UNIT_AMQP_LIFETIME_STAGE_H_

#include "retryq/amqp/connection_options.h"
#include "retryq/event_loop.h"
#include "support/test.h"
#include "unit/amqp/fake_server.h"
#include "unit/amqp/run_until.h"

namespace retryq::amqp {

// Where the tests of lifetimes play: a loop and a server that obliges until it is told not to.
class LifetimeStage {
 public:
  LifetimeStage() { server.obliging = true; }

  // Of whoever connects to it.
  ConnectionOptions OptionsToConnect() const {
    ConnectionOptions options;
    options.endpoints = {{.host = "127.0.0.1", .port = server.port()}};
    options.connection_name = "test";
    options.reconnect_initial = absl::Milliseconds(1);
    return options;
  }

  void Await(const std::function<bool()>& condition) { RunUntil(loop, condition); }
  void AwaitHeard(const std::string& line) {
    Await([&] { return std::count(server.heard.begin(), server.heard.end(), line) > 0; });
  }
  // Until what the server has said is read, and what was put off is done.
  void Settle() {
    Await([this] { return server.unsent() == 0; });
    for (int turn = 0; turn < 5; ++turn) {
      bool ran = false;
      loop.executor()->Post([&] { ran = true; });
      Await([&] { return ran; });
    }
  }

  EventLoop loop;
  FakeServer server{loop};
};

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_UNIT_AMQP_LIFETIME_STAGE_H_
