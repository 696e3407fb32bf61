#ifndef RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_CONNECTION_THREAD_H_
#define RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_CONNECTION_THREAD_H_

#include <amqp.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "blocking_connection.h"
#include "retryq/amqp/connection_options.h"

namespace examples {

// A user of a connection. Called on its thread; an error gives the connection up.
class ConnectionUser {
 public:
  virtual ~ConnectionUser() = default;

  // A connection is open, which has no channel yet. No two have the same number, nor is one 0.
  virtual absl::Status OnOpen(Connection& connection, std::uint64_t number) = 0;
  virtual absl::Status OnFrame(Connection& connection, const amqp_frame_t& frame) = 0;
  // It is gone, or could not be made. Another attempt follows, after a pause that grows.
  virtual void OnLost(const absl::Status& why) = 0;
};

// A thread that keeps a connection open, and does all that is done on it: rabbitmq-c's blocking
// calls hold up nobody but each other.
class ConnectionThread {
 public:
  // What is done, and what it came to: an error gives the connection up.
  using Work = absl::AnyInvocable<absl::Status(Connection&)>;

  // `user` must outlive it. Nothing happens before `Start`.
  ConnectionThread(retryq::amqp::ConnectionOptions options, std::string name, ConnectionUser& user);
  // Cuts the connection. Waits for the call that is under way, if there is one.
  ~ConnectionThread();
  ConnectionThread(const ConnectionThread&) = delete;
  ConnectionThread& operator=(const ConnectionThread&) = delete;

  void Start();

  // Thread-safe: work for the connection of this number, done in the order in which it was posted,
  // or dropped undone if that connection is gone by then.
  void Post(std::uint64_t number, Work work);

  // Says goodbye to the broker, after all that was posted before, and calls `closed` on the thread
  // when that is answered, or cannot be; at once, if it is over already.
  void Close(std::function<void()> closed);

 private:
  struct Posted {
    std::uint64_t number;
    Work work;
  };

  void Run();
  // Until the connection ends. Whether it was open at all.
  bool Serve();
  absl::Status ServeOpen(Connection& connection, std::uint64_t number);
  absl::Status DoPosted(Connection& connection, std::uint64_t number);
  bool ending();
  void Wake() const;

  const retryq::amqp::ConnectionOptions options_;
  const std::string name_;
  ConnectionUser& user_;
  const int wake_;  // an eventfd: readable when something was posted

  std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<Posted> posted_;
  bool ending_ = false;
  bool goodbye_ = false;
  bool over_ = false;
  std::vector<std::function<void()>> closed_;

  std::thread thread_;
};

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_CONNECTION_THREAD_H_
