#ifndef RETRYQ_CLI_CONNECT_BROKER_WATCH_H_
#define RETRYQ_CLI_CONNECT_BROKER_WATCH_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "cli/flags/url_flags.h"
#include "cli/text/waiting.h"
#include "retryq/client.h"
#include "retryq/event_loop.h"
#include "retryq/observer.h"

namespace retryq::cli {

// How long a broker that cannot be reached is waited for, by default.
inline constexpr absl::Duration kDefaultWait = absl::Milliseconds(1500);

// The flags of a command that does one thing on a broker and ends.
struct BrokerFlags {
  UrlFlags urls;
  FlagText wait;
};
void AddBrokerFlags(FlagParser& parser, BrokerFlags& flags);
// Returns the heartbeat, as ReadUrls.
absl::Duration ReadBrokerFlags(const BrokerFlags& flags, FlagReader& reader, ClientOptions* client,
                               absl::Duration* wait);

// For a command that does one thing on a broker and ends: fails the loop where the broker refuses
// the connection, or cannot be reached for so long, with the remedy. What is waited for longer than
// two seconds is reported on stderr, with the reason. Once there has been a connection, one that is
// lost is waited for.
//
// A missing right to declare delay queues is not waited for: `refused` is called with the error, or
// the loop fails where there is no such callback.
class BrokerWatch : public Observer {
 public:
  // `loop` must outlive it. `wait`: for the first connection. `then`: why the command waits once
  // there is a connection; empty: it does not.
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

// How a command calls the broker of these options; never with a password.
std::string DescribeBroker(const ClientOptions& client);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_CONNECT_BROKER_WATCH_H_
