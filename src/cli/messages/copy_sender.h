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

// "queue orders", "exchange shop with routing key order.placed"; safe for a terminal.
std::string Describe(const CopyTarget& target);

// Takes messages off a queue that a reader shows, no faster than allowed: each once its copy is
// confirmed and was not returned. Whatever else happens to a copy, its message is kept, and counted
// with the reason.
class CopySender {
 public:
  struct Options {
    double rate = 0;             // a second; 0 = no limit
    std::uint16_t window = 256;  // copies that are unconfirmed at a time
    std::string again;           // what to do once there is room: "replay again"
    std::string elsewhere;       // what to do where the target is not there
    // Hears of each that was taken, if set.
    std::function<void(const amqp::Message&)> on_taken;
  };

  // `loop` must outlive it.
  CopySender(EventLoop& loop, Options options)
      : loop_(loop), options_(std::move(options)), pacer_(options_.rate) {}

  // `reader` must outlive it, or what it shows. `copy.message` is one that it has shown, or what
  // shall be published in its place, with its delivery tag.
  void Send(MessageReader& reader, CopyPublisher::Copy copy);

  // Takes one without a copy: for good.
  void Discard(MessageReader& reader, amqp::MessagePtr message);

  // Nothing more is begun: what waits for its turn is kept.
  void Abandon();

  // Bodies that wait for their turn.
  std::size_t waiting_bytes() const { return waiting_bytes_; }

  std::uint64_t taken() const { return taken_; }
  const std::map<CopyTarget, std::uint64_t>& targets() const { return targets_; }
  // How many were kept, by the reason with the remedy.
  const std::map<std::string, std::uint64_t>& kept() const { return kept_; }
  // How many were kept, or are still open, and may have arrived.
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
  std::unique_ptr<Timer> again_;  // while the pace holds up the first that waits
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
