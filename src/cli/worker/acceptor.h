#ifndef RETRYQ_CLI_WORKER_ACCEPTOR_H_
#define RETRYQ_CLI_WORKER_ACCEPTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "retryq/clock.h"
#include "retryq/timers.h"

struct event;
struct event_base;

namespace retryq::cli {

// A listening TCP socket on an event loop. It accepts at most kMostInATurn connections per turn of
// the loop. If accept fails, for example because file descriptors ran out, it pauses for kPause and
// reports that at most once every kReportEvery.
class Acceptor {
 public:
  static constexpr int kMostInATurn = 16;
  static constexpr absl::Duration kPause = absl::Seconds(1);
  static constexpr absl::Duration kReportEvery = absl::Minutes(1);

  struct Callbacks {
    // Receives the accepted socket, which is non-blocking, and owns it. Must not destroy the
    // acceptor.
    std::function<void(int socket)> accepted;
    // Receives the reason why no connection can be accepted, in words. May be null.
    std::function<void(const std::string& why)> trouble;
  };

  // Accepts a connection as accept4(2) does, which is the default. Tests replace it.
  using Accept = std::function<int(int socket)>;

  // Listens on a name or an address (IPv6 without brackets); port 0 selects a free port. Returns
  // kInvalidArgument with the reason if it cannot listen. The arguments passed by reference must
  // outlive the acceptor.
  static absl::StatusOr<std::unique_ptr<Acceptor>> Listen(event_base* base, Timers& timers,
                                                          const Clock& clock,
                                                          const std::string& host,
                                                          std::uint16_t port, Callbacks callbacks,
                                                          Accept accept = nullptr);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  std::uint16_t port() const;

 private:
  Acceptor(int socket, event_base* base, Timers& timers, const Clock& clock, Callbacks callbacks,
           Accept accept);

  void OnReadable();
  void PauseBecause(int error);

  const int socket_;
  Timers& timers_;
  const Clock& clock_;
  const Callbacks callbacks_;
  const Accept accept_;
  const std::unique_ptr<event, void (*)(event*)> readable_;
  std::unique_ptr<Timer> pause_;
  absl::Duration report_from_ = -absl::InfiniteDuration();  // since boot
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_ACCEPTOR_H_
