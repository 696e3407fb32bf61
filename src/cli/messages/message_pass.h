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

// What came of a command on messages: what there is to print even if it failed.
struct MessagesResult {
  std::string text;
  absl::Status status = absl::OkStatus();  // kCancelled: a signal ended it
  bool is_raw = false;                     // the text is bytes, not for a terminal
};

// Which messages a command is about.
struct MessageChoice {
  MessageFilter filter;
  std::optional<std::uint64_t> limit;  // at most so many of those that match; none = all
};

// One way through a queue, with an eye for the messages that are meant.
class MessagePass : private MessageVisitor {
 public:
  // `choice` must outlive it.
  explicit MessagePass(const MessageChoice& choice);
  ~MessagePass() override;

  // Errors as MessageReader::Run has them. Once.
  absl::Status Run(MessageReader::Options options);

  // Whether it has seen the queue: else there is nothing to tell but why not.
  bool began() const { return reader_ && reader_->began(); }
  std::uint64_t total() const { return reader_ ? reader_->total() : 0; }
  bool cut_short() const { return reader_ && reader_->cut_short(); }
  bool others_hold() const { return reader_ && reader_->others_hold(); }
  std::uint32_t other_consumers() const { return reader_ ? reader_->other_consumers() : 0; }
  std::uint64_t matched() const { return matched_; }

 protected:
  // Whether one can be meant at all, before the filter is asked, and whether one that matches may
  // be acted on. What is neither stays.
  virtual bool IsCandidate(const amqp::Message& /*message*/) { return true; }
  virtual bool MayBeTaken(const amqp::Message& /*message*/) { return true; }

  // One that is meant. It is to be answered as MessageVisitor says.
  virtual void OnMatch(amqp::MessagePtr message) = 0;
  // So many have matched as the limit allows.
  virtual void OnLimit() { reader_->Stop(); }

  EventLoop& loop() { return loop_; }
  absl::Time now() const { return now_; }  // of the start
  // While it runs.
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

// As many as one consumer may have where their bodies are not kept: so many that it is hardly ever
// followed by the next one, and no more than are meant.
inline constexpr std::uint16_t kReadingWindow = 2000;
std::uint16_t ReadingWindow(const MessageChoice& choice);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_PASS_H_
