#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_PASS_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_PASS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cli/messages/message_filter.h"
#include "cli/messages/message_reader.h"
#include "cli/messages/progress.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// The result of a command on messages: a text to print, even if the command failed.
struct MessagesResult {
  std::string text;
  absl::Status status = absl::OkStatus();  // kCancelled: interrupted by a signal
  bool is_raw = false;                     // the text is bytes, not for a terminal
};

// The messages that a command applies to.
struct MessageChoice {
  MessageFilter filter;
  std::optional<std::uint64_t> limit;  // at most this many matches; not set: all
};

// Reads a queue once and acts on the messages that match.
class MessagePass : private MessageVisitor {
 public:
  // `choice` must outlive it.
  explicit MessagePass(const MessageChoice& choice);
  ~MessagePass() override;

  // Returns the errors of MessageReader::Run. Call it once.
  absl::Status Run(MessageReader::Options options);

  // Whether the queue was found. Otherwise only the error is of interest.
  bool began() const { return reader_ && reader_->began(); }
  std::uint64_t total() const { return reader_ ? reader_->total() : 0; }
  bool cut_short() const { return reader_ && reader_->cut_short(); }
  bool others_hold() const { return reader_ && reader_->others_hold(); }
  std::uint32_t other_consumers() const { return reader_ ? reader_->other_consumers() : 0; }
  std::uint64_t matched() const { return matched_; }

 protected:
  // Whether a message can match at all, which is checked before the filter, and whether an
  // operation on a matching message is allowed. Otherwise the message stays in the queue.
  virtual bool IsCandidate(const amqp::Message& /*message*/) { return true; }
  virtual bool MayBeTaken(const amqp::Message& /*message*/) { return true; }

  // Called for each message that matches. Must settle it as described at MessageVisitor.
  virtual void OnMatch(amqp::MessagePtr message) = 0;
  // Called when the limit of matches is reached.
  virtual void OnLimit() { reader_->Stop(); }

  EventLoop& loop() { return loop_; }
  absl::Time now() const { return now_; }  // time of the start
  // Valid during Run.
  MessageReader& reader() { return *reader_; }

 private:
  void OnMessage(amqp::MessagePtr message) final;

  const MessageChoice& choice_;
  EventLoop loop_;
  const absl::Time now_;
  std::optional<Progress> progress_;
  std::optional<MessageReader> reader_;
  std::uint64_t matched_ = 0;
};

// The window of one consumer if bodies are not kept in memory: so large that a second consumer is
// rarely needed, and at most the number of wanted messages.
inline constexpr std::uint16_t kReadingWindow = 2000;
std::uint16_t ReadingWindow(const MessageChoice& choice);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_PASS_H_
