#include <event2/event.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/management/management_api.h"
#include "cli/queues/queues_command.h"
#include "cli/queues/queues_screen.h"
#include "cli/queues/queues_table.h"
#include "cli/queues/queues_view.h"
#include "cli/text/outlet.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kUsualWrite = absl::Milliseconds(100);

// Calls back for each signal, or when a descriptor is readable, during its lifetime.
class Watcher {
 public:
  Watcher(EventLoop& loop, int signal_or_fd, short what, std::function<void()> callback)
      : callback_(std::move(callback)),
        event_(event_new(
                   loop.base(), signal_or_fd, static_cast<short>(what | EV_PERSIST),
                   [](evutil_socket_t, short, void* self) {
                     static_cast<Watcher*>(self)->callback_();
                   },
                   this),
               &event_free) {
    event_add(event_.get(), nullptr);
  }
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

 private:
  const std::function<void()> callback_;
  const std::unique_ptr<event, void (*)(event*)> event_;
};

// One watch: requests the queues, shows them and waits.
class Watch {
 public:
  explicit Watch(const QueuesOptions& options)
      : options_(options),
        api_(loop_, options.management, {.say_waiting = false}),  // the screen shows it
        view_({.vhost = options.vhost, .prefix = options.prefix, .interval = options.interval}) {}

  absl::Status Run() {
    absl::StatusOr<DelayQueueList> list = Look();
    if (!list.ok()) return list.status();
    // Until here, a signal ends the process at once.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      Call(signal, EV_SIGNAL, [this] { End(); });
    }
    OpenScreen();
    while (!over_) {
      Show(list);
      Wait();
      if (over_) break;
      if (!view_.paused()) list = Look();
    }
    return written_;
  }

 private:
  void Call(int signal_or_fd, short what, std::function<void()> callback) {
    watchers_.push_back(std::make_unique<Watcher>(loop_, signal_or_fd, what, std::move(callback)));
  }

  void OpenScreen() {
    if (options_.json || ::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return;
    screen_ = QueuesScreen::Open();
    if (screen_ == nullptr) return;
    Call(SIGWINCH, EV_SIGNAL, [this] {
      screen_->Resize();
      screen_->Draw(view_);
    });
    Call(STDIN_FILENO, EV_READ, [this] { OnKeys(); });
  }

  void OnKeys() {
    bool pressed = false;
    while (const std::optional<QueuesView::Key> key = screen_->ReadKey()) {
      view_.Press(*key);
      pressed = true;
    }
    pollfd terminal = {STDIN_FILENO, 0, 0};
    const bool gone = ::poll(&terminal, 1, 0) > 0 && (terminal.revents & (POLLHUP | POLLERR)) != 0;
    if (view_.quit() || gone) return End();
    if (pressed) screen_->Draw(view_);
  }

  void End() {
    over_ = true;
    loop_.Stop();
  }

  absl::StatusOr<DelayQueueList> Look() {
    return FetchDelayQueues(api_, options_.vhost, options_.prefix);
  }

  void Show(const absl::StatusOr<DelayQueueList>& list) {
    if (screen_ != nullptr) {
      if (list.ok()) {
        view_.Show(*list);
      } else {
        view_.ShowError(std::string(list.status().message()));
      }
      return screen_->Draw(view_);
    }
    if (!list.ok()) {
      WriteErrors(absl::StrCat("retryq queues: ", std::string(list.status().message()), "\n"));
    } else {
      // A slow reader misses some lists, and does not delay signals.
      if (!lists_.Flush(absl::ZeroDuration())) return;
      lists_.Write(options_.json ? JsonText(*list) : LinesText(*list));
      lists_.Flush(kUsualWrite);
      if (lists_.error() == 0) return;
      written_ = absl::DataLossError(
          absl::StrCat("cannot write to stdout: ", std::strerror(lists_.error())));
      over_ = true;
    }
  }

  void Wait() {
    bool waited = false;
    const std::unique_ptr<Timer> timer = loop_.After(options_.interval, [this, &waited] {
      waited = true;
      loop_.Stop();
    });
    while (!waited && !over_) loop_.Run().IgnoreError();  // nothing here fails a loop
  }

  const QueuesOptions& options_;
  EventLoop loop_;
  ManagementApi api_;
  QueuesView view_;
  std::unique_ptr<QueuesScreen> screen_;
  std::vector<std::unique_ptr<Watcher>>
      watchers_;  // destroyed before the screen, whose handlers they hide
  Outlet lists_{{.fd = STDOUT_FILENO}};
  bool over_ = false;
  absl::Status written_;
};

}  // namespace

absl::Status WatchQueues(const QueuesOptions& options) { return Watch(options).Run(); }

}  // namespace retryq::cli
