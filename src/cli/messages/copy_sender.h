#ifndef RETRYQ_CLI_MESSAGES_COPY_SENDER_H_
#define RETRYQ_CLI_MESSAGES_COPY_SENDER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "cli/messages/copy_publisher.h"
#include "cli/messages/message_reader.h"
#include "cli/messages/pacer.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// An exchange and a routing key; "" is the default exchange, and the key names a queue.
using CopyTarget = std::pair<std::string, std::string>;

// "queue orders" or "exchange shop with routing key order.placed"; safe for a terminal.
std::string Describe(const CopyTarget& target);

// Removes messages from a queue that a reader reads, at a limited rate. A message is removed once
// its copy is confirmed and was not returned. Otherwise it is kept, and counted with the reason.
class CopySender {
 public:
  struct Options {
    double rate = 0;             // per second; 0: unlimited
    std::uint16_t window = 256;  // copies that are unconfirmed at a time
    std::string again;           // remedy once the target has room: "replay again"
    std::string elsewhere;       // remedy if the target does not exist
    // Receives each removed message. May be null.
    std::function<void(const amqp::Message&)> on_taken;
  };

  // `loop` must outlive it.
  CopySender(EventLoop& loop, Options options)
      : loop_(loop), options_(std::move(options)), pacer_(options_.rate) {}

  // `reader` must outlive this object. `copy.message` is a message that it has shown, or a
  // replacement with the same delivery tag.
  void Send(MessageReader& reader, CopyPublisher::Copy copy);

  // Permanently removes a message, without a copy.
  void Discard(MessageReader& reader, amqp::MessagePtr message);

  // Starts no more copies; waiting messages are kept.
  void Abandon();

  // The total size of the waiting bodies.
  std::size_t waiting_bytes() const { return waiting_bytes_; }

  std::uint64_t taken() const { return taken_; }
  const std::map<CopyTarget, std::uint64_t>& targets() const { return targets_; }
  // The number of kept messages by reason, which includes the remedy.
  const std::map<std::string, std::uint64_t>& kept() const { return kept_; }
  // The number of kept or open messages whose copy may have arrived.
  std::uint64_t in_doubt() const { return in_doubt_ + open_; }

 private:
  struct Turn {
    CopyPublisher::Copy copy;
    bool is_published = true;
  };

  void Enqueue(MessageReader& reader, Turn turn);
  void Advance();
  void Take(const amqp::MessagePtr& message);
  void Publish(CopyPublisher::Copy copy);
  void OnPublished(const amqp::MessagePtr& message, const CopyTarget& target,
                   const PublishResult& result);
  void NoteFailure(const CopyTarget& target, const PublishResult& result);

  EventLoop& loop_;
  const Options options_;
  Pacer pacer_;
  MessageReader* reader_ = nullptr;
  std::unique_ptr<Timer> again_;  // while the rate delays the first waiting message
  std::deque<Turn> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t open_ = 0;  // copies under way
  bool abandoned_ = false;

  std::uint64_t taken_ = 0;
  std::uint64_t in_doubt_ = 0;
  std::map<CopyTarget, std::uint64_t> targets_;
  std::map<std::string, std::uint64_t> kept_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_COPY_SENDER_H_
