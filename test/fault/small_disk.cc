#include "fault/small_disk.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace retryq::fault {

absl::Status MountSmallDisk(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("making ", directory));
  }
  if (::unshare(CLONE_NEWNS) != 0) {
    return absl::ErrnoToStatus(errno, "a mount namespace of its own needs root");
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", directory.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=192m") != 0) {
    return absl::ErrnoToStatus(errno, "mounting a small disk needs root");
  }
  return absl::OkStatus();
}

}  // namespace retryq::fault
