#ifndef RETRYQ_TEST_FAULT_SMALL_DISK_H_
#define RETRYQ_TEST_FAULT_SMALL_DISK_H_

#include <string>

#include "absl/status/status.h"

namespace retryq::fault {

// Creates `directory` and mounts a disk of 192 MB, in memory, there. Only this process and its
// children see it, and it exists until the last of them has exited. Needs root. Call it before
// there are threads.
absl::Status MountSmallDisk(const std::string& directory);

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_SMALL_DISK_H_
