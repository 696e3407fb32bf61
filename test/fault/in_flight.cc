#include "fault/in_flight.h"

#include <string_view>

#include "fault/wire_methods.h"

namespace retryq::fault {
namespace {

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

}  // namespace

void InFlight::Begin(std::string destination) {
  destination_ = std::move(destination);
  met_ = 0;
  for (const auto& [name, channel] : channels_) {
    for (const auto& [number, open_destination] : channel.open) {
      if (open_destination == destination_) ++met_;
    }
  }
}

void InFlight::OnFrame(int connection, Way way, const amqp::FrameView& frame) {
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

void InFlight::OnClosed(int connection) {
  std::erase_if(channels_, [&](const auto& entry) { return entry.first.first == connection; });
}

void InFlight::OnPublish(Channel& channel, std::string destination) {
  if (destination == destination_) ++met_;
  channel.open.emplace(++channel.published, std::move(destination));
}

void InFlight::OnAnswer(Channel& channel, std::uint64_t number, bool multiple) {
  ++confirms_;
  if (multiple) {
    channel.open.erase(channel.open.begin(), channel.open.upper_bound(number));
  } else {
    channel.open.erase(number);
  }
}

}  // namespace retryq::fault
