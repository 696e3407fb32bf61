#include "connection_thread.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"

namespace examples {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(5);

std::uint64_t NextNumber() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

ConnectionThread::ConnectionThread(retryq::amqp::ConnectionOptions options, std::string name,
                                   ConnectionUser& user)
    : options_(std::move(options)),
      name_(std::move(name)),
      user_(user),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

ConnectionThread::~ConnectionThread() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ended_.notify_all();
  Wake();
  if (thread_.joinable()) thread_.join();
  close(wake_);
}

void ConnectionThread::Start() {
  thread_ = std::thread([this] { Run(); });
}

void ConnectionThread::Post(std::uint64_t number, Work work) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back({.number = number, .work = std::move(work)});
  }
  Wake();
}

void ConnectionThread::Close(std::function<void()> closed) {
  {
    std::unique_lock lock(mutex_);
    if (over_) {
      lock.unlock();
      closed();
      return;
    }
    ending_ = true;
    goodbye_ = true;
    closed_.push_back(std::move(closed));
  }
  ended_.notify_all();
  Wake();
}

void ConnectionThread::Run() {
  absl::Duration pause = kFirstPause;
  while (!ending()) {
    if (Serve()) pause = kFirstPause;
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, absl::ToChronoMilliseconds(pause), [this] { return ending_; });
    pause = std::min(pause * 2, kLongestPause);
  }
  std::unique_lock lock(mutex_);
  over_ = true;
  const std::vector<std::function<void()>> closed = std::move(closed_);
  lock.unlock();
  for (const std::function<void()>& call : closed) call();
}

bool ConnectionThread::Serve() {
  absl::StatusOr<Connection> connection = Connection::Open(options_, name_);
  if (!connection.ok()) {
    user_.OnLost(connection.status());
    return false;
  }
  const absl::Status end = ServeOpen(*connection, NextNumber());
  if (!end.ok()) {
    user_.OnLost(end);
    connection->Close();  // of use still, where it was given up
    return true;
  }
  std::unique_lock lock(mutex_);
  const bool goodbye = goodbye_;
  lock.unlock();
  if (goodbye) connection->Close();
  return true;
}

// Ok at the end of it all.
absl::Status ConnectionThread::ServeOpen(Connection& connection, std::uint64_t number) {
  if (absl::Status status = user_.OnOpen(connection, number); !status.ok()) return status;
  for (;;) {
    const bool last = ending();
    if (absl::Status status = DoPosted(connection, number); !status.ok()) return status;
    if (last) return absl::OkStatus();
    const absl::StatusOr<std::optional<amqp_frame_t>> frame = connection.ReadFrame();
    if (!frame.ok()) return frame.status();
    if (!frame->has_value()) {
      connection.Wait(wake_);
      continue;
    }
    if (absl::Status status = user_.OnFrame(connection, **frame); !status.ok()) return status;
    connection.Release((*frame)->channel);
  }
}

absl::Status ConnectionThread::DoPosted(Connection& connection, std::uint64_t number) {
  std::uint64_t wakes = 0;
  [[maybe_unused]] const ssize_t bytes = read(wake_, &wakes, sizeof wakes);
  std::deque<Posted> posted;
  {
    const std::lock_guard lock(mutex_);
    posted.swap(posted_);
  }
  for (Posted& next : posted) {
    if (next.number != number) continue;
    if (absl::Status status = next.work(connection); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool ConnectionThread::ending() {
  const std::lock_guard lock(mutex_);
  return ending_;
}

void ConnectionThread::Wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t bytes = write(wake_, &one, sizeof one);
}

}  // namespace examples
