#ifndef RETRYQ_CLI_WORKER_ORPHANS_H_
#define RETRYQ_CLI_WORKER_ORPHANS_H_

#include <event2/event.h>

#include <memory>

#include "retryq/event_loop.h"

namespace retryq::cli {

// Reaps processes that commands leave behind. If this process is PID 1, as in a container, or a
// subreaper, it becomes the parent of such a process, which would stay a zombie after its end.
// Otherwise this class does nothing.
class OrphanReaper {
 public:
  // `loop` must outlive it.
  explicit OrphanReaper(EventLoop& loop);
  OrphanReaper(const OrphanReaper&) = delete;
  OrphanReaper& operator=(const OrphanReaper&) = delete;

 private:
  struct EventDeleter {
    void operator()(event* e) const { event_free(e); }
  };

  void Reap();

  EventLoop& loop_;
  std::unique_ptr<event, EventDeleter> child_ended_;  // SIGCHLD
  std::unique_ptr<Timer> again_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_ORPHANS_H_
