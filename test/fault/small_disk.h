#ifndef RETRYQ_TEST_FAULT_SMALL_DISK_H_
#define RETRYQ_TEST_FAULT_SMALL_DISK_H_

#include <string>

#include "absl/status/status.h"

namespace retryq::fault {

// Mounts a disk of 192 MB, in memory, on `directory`, which it makes. Only this process and its
// children see it, and it goes with the last of them. Needs root. Call it before there are threads.
absl::Status MountSmallDisk(const std::string& directory);

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_SMALL_DISK_H_
