#include "cli/send/remedies.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace retryq::cli {

absl::Status WithSendRemedy(const absl::Status& status, bool to_queue) {
  std::string remedy;
  if (absl::IsNotFound(status) && !absl::StartsWith(status.message(), "no vhost '")) {
    remedy = to_queue ? "declare the queue (retryq declare --queue, or --declare), or correct its "
                        "name"
                      : "bind a queue (retryq declare --queue QUEUE --exchange EXCHANGE "
                        "--routing-key KEY), or correct the names";
  } else if (absl::IsPermissionDenied(status) && !absl::StrContains(status.message(), "grant ")) {
    remedy = absl::StrCat("grant the user 'write' on ", to_queue ? "'amq.default'" : "the exchange",
                          " (rabbitmqctl set_permissions)");
  }
  if (remedy.empty()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(std::string(status.message()), "; remedy: ", remedy));
}

}  // namespace retryq::cli
