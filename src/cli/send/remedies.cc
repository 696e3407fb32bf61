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
    // From 4.3 on, a passive declare needs a permission, too (F48 in doc/rabbitmq_facts.md).
    const bool is_look = absl::StrContains(status.message(), "looking for queue");
    remedy = absl::StrCat("grant the user ",
                          is_look    ? "'read' on the queue"
                          : to_queue ? "'write' on 'amq.default'"
                                     : "'write' on the exchange",
                          " (rabbitmqctl set_permissions)");
  }
  if (remedy.empty()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(std::string(status.message()), "; remedy: ", remedy));
}

}  // namespace retryq::cli
