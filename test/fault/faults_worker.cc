// What happens to one of the two workers.

#include "fault/fault.h"
#include "fault/scene.h"

namespace retryq::fault {
namespace {

std::function<void(Scene&)> FreezeFor(absl::Duration duration) {
  return [=](Scene& scene) {
    scene.worker(0).Freeze();
    scene.Last(duration);
    scene.worker(0).Thaw();
  };
}

void KillAgainAndAgain(Scene& scene) {
  for (int i = 0; i < 10; ++i) {
    scene.worker(0).Kill();
    scene.worker(0).Start();
    // Anywhere between its first steps and full work.
    scene.Last(absl::Milliseconds(200) * (i + 1));
  }
}

}  // namespace

std::vector<Fault> WorkerFaults() {
  return {
      {.name = "worker-kill",
       .what = "a worker is killed by SIGKILL and started again, ten times, after 0.2 to 2 s",
       .strike = KillAgainAndAgain},
      {.name = "worker-stop-short",
       .what = "a worker is frozen by SIGSTOP for 1.5 s, less than heartbeats and confirm_timeout "
               "allow",
       .strike = FreezeFor(Scene::kShort)},
      {.name = "worker-stop-long",
       .what = "the same for 9 s, more than they allow",
       .strike = FreezeFor(Scene::kLong)},
  };
}

}  // namespace retryq::fault
