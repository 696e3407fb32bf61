// Declares and deletes queues, on retryq's AMQP client alone.
//
//   queue declare NAME…     durable, as a queue of work should be; fine where it is there already
//   queue delete NAME…      with all that waits in it; fine where it is gone already
//
// on the broker that RETRYQ_URL names.
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection.h"
#include "retryq/event_loop.h"

namespace {

namespace amqp = retryq::amqp;

enum class Action { kDeclare, kDelete };

// Does its work as soon as the connection is open, closes it, and ends the loop.
class QueueTool final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  QueueTool(retryq::EventLoop& loop, amqp::ConnectionOptions options, Action action,
            std::vector<std::string> queues)
      : loop_(loop),
        action_(action),
        queues_(std::move(queues)),
        connection_(loop, std::move(options), this) {}

 private:
  void OnOpen() override {
    channel_ = connection_.OpenChannel(this);
    left_ = queues_.size();
    for (const std::string& queue : queues_) {
      if (action_ == Action::kDeclare) {
        channel_->DeclareQueue({.name = queue},
                               [this](const auto& done) { OnDone(done.status()); });
      } else {
        channel_->DeleteQueue(queue, [this](const auto& done) { OnDone(done.status()); });
      }
    }
  }

  void OnDone(const absl::Status& status) {
    if (!status.ok()) {
      loop_.Fail(status);
    } else if (--left_ == 0) {
      channel_.reset();
      connection_.Close(absl::Seconds(5), [this] { loop_.Stop(); });
    }
  }

  // No retrying here, although the connection would: whoever declares a queue waits for it.
  void OnLost(const absl::Status& why) override { loop_.Fail(why); }
  void OnChannelClosed(const amqp::ChannelError& why) override { loop_.Fail(why.status); }

  retryq::EventLoop& loop_;
  const Action action_;
  const std::vector<std::string> queues_;
  std::size_t left_ = 0;
  amqp::Connection connection_;
  std::unique_ptr<amqp::Channel> channel_;
};

int Fail(const absl::Status& status) {
  std::cerr << "queue: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() < 2 || (arguments[0] != "declare" && arguments[0] != "delete")) {
    return Fail(absl::InvalidArgumentError("usage: queue declare|delete NAME..."));
  }
  const Action action = arguments[0] == "declare" ? Action::kDeclare : Action::kDelete;
  arguments.erase(arguments.begin());

  const char* url = std::getenv("RETRYQ_URL");
  absl::StatusOr<amqp::ConnectionOptions> options =
      amqp::ParseUri(url != nullptr ? url : "amqp://localhost");
  if (!options.ok()) return Fail(options.status());

  retryq::EventLoop loop;
  QueueTool tool(loop, *std::move(options), action, std::move(arguments));
  const absl::Status end = loop.Run();
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}
