#include "cli/connect/orderly_end.h"

#include <csignal>

namespace retryq::cli {

void SayGoodbye(EventLoop& loop, amqp::Connection& connection) {
  bool is_closed = false;
  connection.Close(kGoodbye, [&] {
    is_closed = true;
    loop.Stop();
  });
  while (!is_closed) loop.Run().IgnoreError();  // the status of the command is known
}

void SayGoodbye(EventLoop& loop) {
  bool is_over = false;
  const std::unique_ptr<Timer> over = loop.After(kGoodbye, [&] {
    is_over = true;
    loop.Stop();
  });
  loop.Drain();
  // If Fail was called before, Run only returns its error, so the loop runs a second time.
  if (!loop.Run().ok() && !is_over) loop.Run().IgnoreError();
}

HeldSignals::HeldSignals(EventLoop& loop, Afterwards afterwards) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction current = {};
    sigaction(number, nullptr, &current);
    if (current.sa_handler == SIG_IGN) continue;  // by nohup, for example
    // libevent saves this action and restores it at the end.
    if (afterwards == Afterwards::kIgnored) std::signal(number, SIG_IGN);
    EventPtr& event = held_.emplace_back(evsignal_new(
        loop.base(), number, [](evutil_socket_t, short, void*) {}, nullptr));
    event_add(event.get(), nullptr);
  }
}

}  // namespace retryq::cli
