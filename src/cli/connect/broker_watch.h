#ifndef RETRYQ_CLI_CONNECT_BROKER_WATCH_H_
#define RETRYQ_CLI_CONNECT_BROKER_WATCH_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/flags/flag_parser.h"
#include "cli/text/io.h"
#include "retryq/client.h"
#include "retryq/event_loop.h"
#include "retryq/observer.h"

namespace retryq::cli {

// The default time to wait for a broker that cannot be reached.
inline constexpr absl::Duration kDefaultWait = absl::Milliseconds(1500);

// Adds --url, --url-file and --wait, for a command that does one operation on a broker.
// `*heartbeat`, if not null, becomes the heartbeat in the URLs.
void AddBrokerFlags(FlagParser& parser, ClientOptions* client, absl::Duration* wait,
                    absl::Duration* heartbeat = nullptr);

// For a command that does one operation on a broker: fails the loop, with the remedy, if the broker
// refuses the connection or cannot be reached for `wait`. A wait of more than two seconds is
// reported on stderr, with the reason. After the first connection, it waits for a lost one to
// return.
//
// If the permission to declare delay queues is missing, it does not wait: it calls `refused` with
// the error or, without a callback, fails the loop.
class BrokerWatch : public Observer {
 public:
  // `loop` must outlive it. `wait` is for the first connection. `then` is the reason why the
  // command waits once it is connected; empty: it does not wait.
  using Refused = std::function<void(const absl::Status& why)>;
  BrokerWatch(EventLoop& loop, const ClientOptions& client, absl::Duration wait, std::string then,
              Refused refused = nullptr);

  void OnEvent(const Event& event) override;

  bool has_connected() const { return has_connected_; }

 private:
  void OnDisconnected(std::string_view error);
  void Begin(std::string_view why);
  void GiveUp();

  EventLoop& loop_;
  const std::string broker_;
  const std::string then_;
  const Refused refused_;
  std::optional<Waiting> waiting_;
  bool has_connected_ = false;
  bool is_overdue_ = false;
  std::string problem_;
  std::unique_ptr<Timer> timer_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_CONNECT_BROKER_WATCH_H_
