#ifndef RETRYQ_TEST_FAULT_IN_FLIGHT_H_
#define RETRYQ_TEST_FAULT_IN_FLIGHT_H_

#include "fault/wire_methods.h"
#include "support/proxy.h"
#include "support/standard.h"

namespace retryq::fault {

// Counts the publishes that are on their way to one destination, from the frames that pass a proxy:
// those that the broker has neither confirmed nor refused. Used on the proxy's loop.
class InFlight final : public testing::ProxyListener {
 public:
  // Starts counting publishes to this exchange, or with the default exchange ("") to this queue:
  // those that are open, and those that follow.
  void Begin(std::string destination) {
    destination_ = std::move(destination);
    met_ = 0;
    for (const auto& [name, channel] : channels_) {
      for (const auto& [number, open_destination] : channel.open) {
        if (open_destination == destination_) ++met_;
      }
    }
  }
  // All counted publishes until now.
  std::uint64_t End() const { return met_; }

  // Publishes that the broker has answered so far, and deliveries that workers have settled.
  std::uint64_t confirms() const { return confirms_; }
  std::uint64_t acks() const { return acks_; }

  void OnFrame(int connection, Way way, const amqp::FrameView& frame) override {
    if (frame.type != amqp::FrameType::kMethod) return;
    Reader reader(frame.payload);
    const auto class_id = static_cast<std::uint16_t>(reader.Number(2));
    const Method method{class_id, static_cast<std::uint16_t>(reader.Number(2))};
    const std::pair<int, std::uint16_t> channel{connection, frame.channel};
    if (way == Way::kToBroker && method == kChannelOpen) {
      channels_.erase(channel);
    } else if (way == Way::kToBroker && method == kBasicPublish) {
      reader.Number(2);  // reserved
      const std::string exchange = reader.ShortString();
      const std::string routing_key = reader.ShortString();
      OnPublish(channels_[channel], exchange.empty() ? routing_key : exchange);
    } else if (way == Way::kToBroker && method == kBasicAck) {
      ++acks_;
    } else if (way == Way::kToClient && (method == kBasicAck || method == kBasicNack)) {
      const std::uint64_t number = reader.Number(8);
      OnAnswer(channels_[channel], number, (reader.Number(1) & 1) != 0);
    }
  }
  void OnClosed(int connection) override {
    std::erase_if(channels_, [&](const auto& entry) { return entry.first.first == connection; });
  }

 private:
  // Reads the fields of a well-formed payload in order.
  class Reader {
   public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    std::uint64_t Number(std::size_t size) {
      std::uint64_t number = 0;
      for (const char byte : Take(size)) number = number << 8 | static_cast<unsigned char>(byte);
      return number;
    }
    std::string ShortString() { return std::string(Take(Number(1))); }

   private:
    std::string_view Take(std::size_t size) {
      const std::string_view taken = rest_.substr(0, size);
      rest_.remove_prefix(taken.size());
      return taken;
    }

    std::string_view rest_;
  };

  struct Channel {
    std::uint64_t published = 0;
    std::map<std::uint64_t, std::string> open;  // by number: the destination
  };

  void OnPublish(Channel& channel, std::string destination) {
    if (destination == destination_) ++met_;
    channel.open.emplace(++channel.published, std::move(destination));
  }
  void OnAnswer(Channel& channel, std::uint64_t number, bool multiple) {
    ++confirms_;
    if (multiple) {
      channel.open.erase(channel.open.begin(), channel.open.upper_bound(number));
    } else {
      channel.open.erase(number);
    }
  }

  std::map<std::pair<int, std::uint16_t>, Channel> channels_;
  std::string destination_;
  std::uint64_t met_ = 0;
  std::uint64_t confirms_ = 0;
  std::uint64_t acks_ = 0;
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_IN_FLIGHT_H_
