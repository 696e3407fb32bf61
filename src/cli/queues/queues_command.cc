#include "cli/queues/queues_command.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "cli/management/management_queues.h"
#include "cli/queues/queues_table.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

absl::StatusOr<DelayQueueList> FetchDelayQueues(ManagementApi& api, const std::string& vhost,
                                                const std::string& prefix) {
  DelayQueueList list;
  const absl::Status status =
      VisitQueues(api, vhost, prefix + ".", [&](const nlohmann::json& json, absl::Time at) {
        if (std::optional<DelayQueueStatus> queue = ReadDelayQueue(json, prefix, at)) {
          list.queues.push_back(*std::move(queue));
        }
      });
  if (!status.ok()) return status;
  std::sort(list.queues.begin(), list.queues.end(), [](const auto& a, const auto& b) {
    return std::tie(a.parts.ttl, a.name) < std::tie(b.parts.ttl, b.name);
  });
  list.at = absl::Now();
  return list;
}

absl::StatusOr<std::string> Queues(const QueuesOptions& options) {
  if (options.watch) {
    if (absl::Status status = WatchQueues(options); !status.ok()) return status;
    return "";
  }
  EventLoop loop;
  ManagementApi api(loop, options.management);
  const auto list = FetchDelayQueues(api, options.vhost, options.prefix);
  if (!list.ok()) return list.status();
  return options.json ? JsonText(*list) : TableText(*list, options.prefix, options.vhost);
}

}  // namespace retryq::cli
