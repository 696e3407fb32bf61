#ifndef RETRYQ_CLI_EVENT_LOG_H_
#define RETRYQ_CLI_EVENT_LOG_H_

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
    // Without it the text leaves out what happens all the time when all is well: acks and renewals.
    // The JSON leaves out nothing.
    bool verbose = false;
  };

  explicit EventLog(Options options) : options_(options) {}

  void OnEvent(const Event& event) override;

  // What the command itself has to say, as an event of that name, now.
  void Say(std::string_view name, std::string_view queue, std::string_view error,
           std::string_view id = {});

 private:
  void Write(std::string_view name, const Event& event);

  const Options options_;
  bool has_reader_ = true;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_EVENT_LOG_H_
