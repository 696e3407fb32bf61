#include "cli/declare/declare_command.h"

#include <utility>

#include "cli/connect/broker_session.h"
#include "cli/connect/broker_watch.h"
#include "cli/connect/orderly_end.h"
#include "retryq/retryq.h"

namespace retryq::cli {

absl::Status Declare(const DeclareCommandOptions& options) {
  EventLoop loop;
  BrokerWatch watch(loop, options.client, options.wait, "the declare is not answered yet");
  ClientOptions client_options = options.client;
  client_options.observer = &watch;
  Client client(loop, std::move(client_options));
  absl::Status declared;
  client.Declare(options.work_queue, {.deadline = options.wait + kLongestSilence},
                 [&](absl::Status status) {
                   declared = std::move(status);
                   loop.Stop();
                 });
  const absl::Status run = loop.Run();
  if (watch.has_connected()) SayGoodbye(loop);
  return run.ok() ? declared : run;
}

}  // namespace retryq::cli
