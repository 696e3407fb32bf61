#include "cli/worker/orphans.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "absl/time/time.h"
#include "cli/worker/spawn.h"

namespace retryq::cli {
namespace {

// The time until the next try if a child that has not been waited for hides orphans.
constexpr absl::Duration kHidden = absl::Milliseconds(20);

bool AdoptsOrphans() {
  int subreaper = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0);
  return ::getpid() == 1 || subreaper != 0;
}

}  // namespace

OrphanReaper::OrphanReaper(EventLoop& loop) : loop_(loop) {
  if (!AdoptsOrphans()) return;
  child_ended_.reset(event_new(
      loop.base(), SIGCHLD, EV_SIGNAL | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<OrphanReaper*>(self)->Reap(); }, this));
  event_add(child_ended_.get(), nullptr);
  Reap();
}

void OrphanReaper::Reap() {
  again_.reset();
  Reaped reaped = ReapOrphan();
  while (reaped == Reaped::kOrphan) reaped = ReapOrphan();
  if (reaped == Reaped::kNone) return;
  again_ = loop_.After(kHidden, [this] {
    const std::unique_ptr<Timer> fired = std::move(again_);
    Reap();
  });
}

}  // namespace retryq::cli
