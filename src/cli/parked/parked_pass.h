#ifndef RETRYQ_CLI_PARKED_PARKED_PASS_H_
#define RETRYQ_CLI_PARKED_PARKED_PASS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/parked/parked_options.h"
#include "cli/parked/parked_reader.h"
#include "cli/parked/progress.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// What came of a command on parked messages: what there is to print even if it failed.
struct ParkedResult {
  std::string text;
  absl::Status status = absl::OkStatus();  // kCancelled: a signal ended it
};

// One way through a parked queue, with an eye for the messages that the options mean.
class ParkedPass : private ParkedVisitor {
 public:
  // The options must outlive it.
  ParkedPass(const ParkedOptions& options, std::uint16_t window);

  ~ParkedPass() override;

  // Errors as ParkedReader::Run has them, and kFailedPrecondition, with nothing touched, for a
  // queue that would drop what is looked at. Once.
  absl::Status Run();

  // Whether it has seen the queue: else there is nothing to tell but why not.
  bool began() const { return reader_ && reader_->began(); }
  std::uint64_t total() const { return reader_ ? reader_->total() : 0; }
  std::uint64_t matched() const { return matched_; }
  // Those that would be meant, to be replayed or dropped, if retryq had parked them. They stay.
  std::uint64_t foreign() const { return foreign_; }
  std::string WhyForeignStay() const;

 protected:
  // One that is meant. It is to be answered as ParkedVisitor says.
  virtual void OnMatch(amqp::MessagePtr message) = 0;

  EventLoop& loop() { return loop_; }
  // While it runs.
  ParkedReader& reader() { return *reader_; }

 private:
  void OnMessage(amqp::MessagePtr message) final;

  const ParkedOptions& options_;
  const std::uint16_t window_;
  const bool ours_only_;
  EventLoop loop_;
  const absl::Time now_;
  std::optional<Progress> progress_;
  std::optional<ParkedReader> reader_;
  std::uint64_t matched_ = 0;
  std::uint64_t foreign_ = 0;
};

// As many as one consumer may have where their bodies are not kept: so many that it is hardly ever
// followed by the next one, and no more than are meant.
std::uint16_t ReadingWindow(const ParkedOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PARKED_PARKED_PASS_H_
