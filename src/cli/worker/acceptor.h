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

// A TCP socket that listens, on an event loop. It is calm: at most kMostInATurn connections are
// accepted in a turn of the loop, and where none can be, as there are no more file descriptors, it
// pauses for kPause and reports that at most once every kReportEvery.
class Acceptor {
 public:
  static constexpr int kMostInATurn = 16;
  static constexpr absl::Duration kPause = absl::Seconds(1);
  static constexpr absl::Duration kReportEvery = absl::Minutes(1);

  struct Callbacks {
    // Takes over a socket, which does not block. Must not destroy the acceptor.
    std::function<void(int socket)> accepted;
    // Why no connection can be accepted, for people. Null: nobody wants to know.
    std::function<void(const std::string& why)> trouble;
  };

  // As accept4(2) does, by default itself: for tests.
  using Accept = std::function<int(int socket)>;

  // On a name or an address, IPv6 without brackets; port 0 is any that is free. kInvalidArgument
  // says why nothing can listen there. What it is given must outlive it.
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
