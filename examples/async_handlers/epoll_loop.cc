// Handlers on an event loop of the program's own, here plain epoll: retryq's loop runs on a thread
// and passes each message to the program's loop, which handles it, publishes a receipt, and settles
// the message when the broker has confirmed the receipt.
//
//   epoll_loop QUEUE RECEIPTS      RETRYQ_URL names the broker; both queues must exist
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/retryq.h"

namespace {

// Stands for the loop that your program has, which lives as long as the process. Its thread is the
// only one that takes signals.
class EpollLoop {
 public:
  using Work = absl::AnyInvocable<void() &&>;

  EpollLoop() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // threads that are created later inherit it
    signals_ = signalfd(-1, &signals, SFD_CLOEXEC);
    for (const int descriptor : {posted_, signals_}) {
      epoll_event event = {.events = EPOLLIN, .data = {.fd = descriptor}};
      epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event);
    }
  }
  // Thread-safe.
  void Post(Work work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    eventfd_write(posted_, 1);
  }

  void Stop() { stopped_ = true; }

  void Run(const std::function<void()>& on_signal) {
    while (!stopped_) {
      epoll_event event = {};
      if (epoll_wait(epoll_, &event, 1, -1) != 1) continue;
      if (event.data.fd == signals_) {
        signalfd_siginfo info;
        if (read(signals_, &info, sizeof(info)) > 0) on_signal();
      } else {
        RunPosted();
      }
    }
  }

 private:
  void RunPosted() {
    eventfd_t count = 0;
    eventfd_read(posted_, &count);
    std::vector<Work> work;
    {
      const std::lock_guard lock(mutex_);
      work.swap(work_);
    }
    for (Work& each : work) std::move(each)();
  }

  const int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  const int posted_ = eventfd(0, EFD_CLOEXEC);
  int signals_ = -1;
  bool stopped_ = false;
  std::mutex mutex_;
  std::vector<Work> work_;  // guarded by mutex_
};

// Replace this by your own work. It runs on the program's loop. Each first attempt fails.
void Handle(const retryq::Delivery& delivery, retryq::Settlement settlement,
            const retryq::Publisher& publisher, const std::string& receipts) {
  if (delivery.attempt() == 0) {
    return std::move(settlement).Settle(absl::UnavailableError("busy"));
  }
  std::cout << delivery.body() << ": attempt " << delivery.attempt() + 1 << std::endl;
  publisher.Publish({.routing_key = receipts, .body = delivery.body()}, {},
                    [settlement = std::move(settlement)](absl::Status published) mutable {
                      std::move(settlement).Settle(std::move(published));
                    });
}

int Fail(const absl::Status& status) {
  std::cerr << "epoll_loop: " << status << '\n';
  return retryq::ExitCode(status);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return Fail(absl::InvalidArgumentError("usage: epoll_loop QUEUE RECEIPTS"));
  const std::string receipts = argv[2];
  const char* url = std::getenv("RETRYQ_URL");

  EpollLoop own;
  retryq::EventLoop loop;
  retryq::Client client(loop, {.url = url != nullptr ? url : "amqp://localhost"});
  const absl::StatusOr<retryq::Consumer> consumer =
      client.Consume({.queue = argv[1], .retry = {.backoff = {.base = absl::Milliseconds(200)}}},
                     [&own, &receipts, publisher = client.publisher()](
                         retryq::Delivery delivery, retryq::Settlement settlement) {
                       own.Post([&receipts, publisher, delivery = std::move(delivery),
                                 settlement = std::move(settlement)]() mutable {
                         Handle(delivery, std::move(settlement), publisher, receipts);
                       });
                     });
  if (!consumer.ok()) return Fail(consumer.status());

  absl::Status end;
  std::thread retrying([&] {
    end = loop.Run();  // until it has drained, or cannot consume
    own.Post([&own] { own.Stop(); });
  });
  // The drain waits until this loop has settled the messages that it has.
  own.Run([&loop] { loop.executor()->Post([&loop] { loop.Drain(); }); });
  retrying.join();
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}
