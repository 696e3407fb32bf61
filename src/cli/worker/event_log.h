#ifndef RETRYQ_CLI_WORKER_EVENT_LOG_H_
#define RETRYQ_CLI_WORKER_EVENT_LOG_H_

#include <string_view>

#include "retryq/observer.h"

namespace retryq::cli {

// Writes events to a file descriptor, a line each, at once. A reader that goes away silences it,
// and does no other harm. SIGPIPE must be ignored.
class EventLog : public Observer {
 public:
  enum class Format { kText, kJson };

  struct Options {
    int fd;
    Format format = Format::kText;
    Severity from = Severity::kInfo;  // what matters less is left out
  };

  explicit EventLog(Options options) : options_(options) {}

  void OnEvent(const Event& event) override;

  // What the command itself has to say, as an event of that name, now.
  void Say(Severity severity, std::string_view name, std::string_view queue, std::string_view error,
           std::string_view id = {});

  // Where something listens.
  void SayUrl(Severity severity, std::string_view name, std::string_view queue,
              std::string_view url);

 private:
  void Write(Severity severity, std::string_view name, const Event& event,
             std::string_view url = {});

  const Options options_;
  bool has_reader_ = true;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_EVENT_LOG_H_
