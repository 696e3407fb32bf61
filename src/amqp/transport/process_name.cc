#include "amqp/transport/process_name.h"

#include <errno.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace retryq::amqp {

std::string ProcessName() {
  return absl::StrCat(program_invocation_short_name, "[", getpid(), "]");
}

std::string HostAndProcessName() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(host, ".", program_invocation_short_name, ".", getpid());
}

}  // namespace retryq::amqp
