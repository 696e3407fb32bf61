// Declares and deletes queues, and sends messages, with retryq's AMQP client alone.
//
//   queue declare NAME…          Declare durable queues. Existing queues are kept.
//   queue delete NAME…           Delete queues with their messages. Missing queues are ignored.
//   queue send NAME BODY [ID]    Send a persistent message. Fails unless the queue takes it.
//
// RETRYQ_URL names the broker.
#include <cstddef>
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

using Done = std::function<void(const absl::Status&)>;
// An operation on a channel; calls `done` once.
using Task = std::function<void(amqp::Channel& channel, const Done& done)>;

Task Declare(std::string queue) {
  return [queue = std::move(queue)](amqp::Channel& channel, const Done& done) {
    channel.DeclareQueue({.name = queue}, [done](const auto& result) { done(result.status()); });
  };
}

Task Delete(std::string queue) {
  return [queue = std::move(queue)](amqp::Channel& channel, const Done& done) {
    channel.DeleteQueue(queue, [done](const auto& result) { done(result.status()); });
  };
}

absl::Status StatusOf(const retryq::PublishResult& result, const std::string& queue) {
  switch (result.outcome) {
    case retryq::PublishOutcome::kConfirmed:
      return absl::OkStatus();
    case retryq::PublishOutcome::kReturned:
      return absl::NotFoundError("no queue '" + queue + "'; declare it first");
    case retryq::PublishOutcome::kNacked:
      return absl::UnavailableError("the broker refused the message; the queue may be full");
    case retryq::PublishOutcome::kNotSent:
      return absl::UnavailableError("too much waits to be sent; send it again");
    case retryq::PublishOutcome::kUnknown:
      break;
  }
  return absl::UnavailableError(
      "no confirm: the message may be in the queue or not; send it again");
}

// If `id` is empty, the message has no id.
Task Send(std::string queue, std::string body, std::string id) {
  return [queue = std::move(queue), body = std::move(body), id = std::move(id)](
             amqp::Channel& channel, const Done& done) {
    channel.ConfirmSelect([](const absl::Status&) {});  // a refusal closes the channel
    amqp::Properties properties{.content_type = "text/plain", .delivery_mode = 2};
    if (!id.empty()) properties.message_id = id;
    channel.Publish(
        {.routing_key = queue, .properties = properties, .body = body},
        [done, queue](const retryq::PublishResult& result) { done(StatusOf(result, queue)); });
  };
}

// Runs the tasks when the connection is open, then closes it and stops the loop.
class QueueTool final : private amqp::ConnectionListener, private amqp::ChannelListener {
 public:
  QueueTool(retryq::EventLoop& loop, amqp::ConnectionOptions options, std::vector<Task> tasks)
      : loop_(loop),
        tasks_(std::move(tasks)),
        left_(tasks_.size()),
        connection_(loop, std::move(options), this) {}

 private:
  void OnOpen() override {
    channel_ = connection_.OpenChannel(this);
    for (const Task& task : tasks_) {
      task(*channel_, [this](const absl::Status& status) { OnDone(status); });
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

  // The connection would reconnect, but the caller waits for the result.
  void OnLost(const absl::Status& why) override { loop_.Fail(why); }
  void OnChannelClosed(const amqp::ChannelError& why) override { loop_.Fail(why.status); }

  retryq::EventLoop& loop_;
  const std::vector<Task> tasks_;
  std::size_t left_;
  amqp::Connection connection_;
  std::unique_ptr<amqp::Channel> channel_;
};

// Returns the tasks of the arguments, or none if the arguments are invalid.
std::vector<Task> ParseTasks(const std::vector<std::string>& arguments) {
  std::vector<Task> tasks;
  const std::string action = arguments.empty() ? "" : arguments[0];
  if (action == "send" && (arguments.size() == 3 || arguments.size() == 4)) {
    tasks.push_back(Send(arguments[1], arguments[2], arguments.size() == 4 ? arguments[3] : ""));
  } else if (action == "declare" || action == "delete") {
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      tasks.push_back(action == "declare" ? Declare(arguments[i]) : Delete(arguments[i]));
    }
  }
  return tasks;
}

int Fail(const absl::Status& status) {
  std::cerr << "queue: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Task> tasks = ParseTasks({argv + 1, argv + argc});
  if (tasks.empty()) {
    return Fail(absl::InvalidArgumentError(
        "usage: queue declare NAME... | queue delete NAME... | queue send NAME BODY [ID]"));
  }
  const char* url = std::getenv("RETRYQ_URL");
  absl::StatusOr<amqp::ConnectionOptions> options =
      amqp::ParseUri(url != nullptr ? url : "amqp://localhost");
  if (!options.ok()) return Fail(options.status());

  retryq::EventLoop loop;
  const QueueTool tool(loop, *std::move(options), std::move(tasks));
  const absl::Status end = loop.Run();
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}
