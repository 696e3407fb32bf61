#ifndef RETRYQ_EXAMPLES_TIMELINE_QUEUE_WATCH_H_
#define RETRYQ_EXAMPLES_TIMELINE_QUEUE_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/event_loop.h"
#include "webhook_worker/event_http_client.h"

namespace examples {

// A queue as the broker's management API tells of it.
struct QueueInfo {
  std::int64_t messages = 0;  // ready and unacked, as of some seconds ago
  absl::Duration ttl;         // x-message-ttl; zero if it has none
  absl::Duration expires;     // x-expires; zero if it has none
};

using QueueInfos = std::map<std::string, QueueInfo>;  // by name

// Asks the broker again and again which queues there are, through its management API.
class QueueWatch {
 public:
  // `management`: http://user:password@host:port. `pattern`: a regular expression for the names
  // wanted. `seen` hears of every answer, and of its absence. `loop` and `http` must outlive it.
  using Seen = std::function<void(const absl::StatusOr<QueueInfos>&)>;
  QueueWatch(retryq::EventLoop& loop, HttpClient& http, const std::string& management,
             const std::string& vhost, const std::string& pattern, Seen seen);

 private:
  void Ask();

  retryq::EventLoop& loop_;
  HttpClient& http_;
  const std::string url_;
  const Seen seen_;
  std::unique_ptr<retryq::Timer> next_;
};

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_TIMELINE_QUEUE_WATCH_H_
