#ifndef RETRYQ_SRC_AMQP_TRANSPORT_PROCESS_NAME_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_PROCESS_NAME_H_

#include <errno.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace retryq::amqp {

// Returns "program[pid]": the default name of this process in the management UI.
inline std::string ProcessName() {
  return absl::StrCat(program_invocation_short_name, "[", getpid(), "]");
}

// Returns "host.program.pid", which is unique among the clients of a broker.
inline std::string HostAndProcessName() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(host, ".", program_invocation_short_name, ".", getpid());
}

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_PROCESS_NAME_H_
