// Faults of one of the two workers.

#include <cstddef>

#include "fault/fault.h"
#include "fault/scene.h"
#include "fault/wire_methods.h"

namespace retryq::fault {
namespace {

std::function<void(Scene&)> FreezeWorkerFor(absl::Duration duration) {
  return [=](Scene& scene) {
    scene.worker(0).Freeze();
    scene.Last(duration);
    scene.worker(0).Thaw();
  };
}

// A copy does not reach the broker, and the workers die before they can publish it again. The
// original must still be in its queue.
void KillAmidAPublish(Scene& scene) {
  scene.WithProxy([](testing::Proxy& proxy) {
    proxy.CutAt({.way = testing::Proxy::Way::kToBroker,
                 .class_id = kBasicPublish.class_id,
                 .method_id = kBasicPublish.method_id});
  });
  scene.Await("a publish is cut off", [&] {
    return scene.WithProxy([](testing::Proxy& proxy) { return !proxy.cut_is_pending(); });
  });
  for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) scene.worker(index).Kill();
  for (const std::size_t index : {std::size_t{0}, std::size_t{1}}) scene.worker(index).Start();
}

void KillAgainAndAgain(Scene& scene) {
  for (int i = 1; i <= 10; ++i) {
    scene.worker(0).Kill();
    scene.worker(0).Start();
    // At any point between its start and full load.
    scene.Last(absl::Milliseconds(200) * i);
    if (i % 2 == 0) KillAmidAPublish(scene);
  }
}

}  // namespace

std::vector<Fault> WorkerFaults() {
  return {
      {.name = "worker-kill",
       .what = "a worker is killed by SIGKILL and started again, ten times, after 0.2 to 2 s; five "
               "times both are killed while a copy of theirs is lost on its way to the broker",
       .strike = KillAgainAndAgain},
      {.name = "worker-stop-short",
       .what = "a worker is frozen by SIGSTOP for 1.5 s, less than heartbeats and confirm_timeout "
               "allow",
       .quick = false,
       .strike = FreezeWorkerFor(Scene::kShort)},
      {.name = "worker-stop-long",
       .what = "the same for 9 s, more than they allow",
       .strike = FreezeWorkerFor(Scene::kLong)},
  };
}

}  // namespace retryq::fault
