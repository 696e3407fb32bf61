// Faults that an administrator causes in the vhost.

#include "fault/fault.h"
#include "fault/scene.h"

namespace retryq::fault {
namespace {

// Channels cache permissions; new channels check them again.
void Reconnect(Scene& scene) {
  scene.WithProxy([](testing::Proxy& proxy) { proxy.Cut(); });
}

void WithdrawRights(Scene& scene) {
  // The workers may neither declare nor publish.
  scene.vhost().SetRights(scene.worker_user(), {.configure = "", .write = "", .read = ".*"});
  Reconnect(scene);
  scene.Last(absl::Seconds(5));
  scene.GiveRights();
  scene.AwaitRecovery();

  // The workers have no permissions, but still access to the vhost.
  scene.vhost().SetRights(scene.worker_user(), {.configure = "", .write = "", .read = ""});
  Reconnect(scene);
  scene.Last(absl::Seconds(5));
  scene.GiveRights();
}

void WithdrawVhost(Scene& scene) {
  scene.vhost().management().Delete("/permissions/" + scene.vhost().name() + "/" +
                                    scene.worker_user());
  Reconnect(scene);
  scene.Last(absl::Seconds(5));
  scene.GiveRights();
}

void DeleteVhost(Scene& scene) {
  const std::uint64_t handled = scene.handled();
  scene.vhost().Delete();
  // All messages that were sent and not handled before may have been in the vhost.
  scene.referee().MayHaveDestroyed(scene.sent() - handled);
  scene.Last(absl::Seconds(3));
  scene.vhost().MakeAgain();
  scene.GiveRights();
  scene.DeclareWorkQueue();
}

}  // namespace

std::vector<Fault> VhostFaults() {
  return {
      {.name = "permission",
       .what = "the workers' rights to declare and to publish are withdrawn for 5 s, then those to "
               "consume too",
       .strike = WithdrawRights},
      {.name = "permission-vhost",
       .what = "the vhost is closed to the workers for 5 s",
       .quick = false,
       .strike = WithdrawVhost},
      {.name = "vhost",
       .what =
           "the vhost is deleted with all that is in it, and made again after 3 s with an empty "
           "work queue",
       .strike = DeleteVhost},
  };
}

}  // namespace retryq::fault
