#include "support/proxy.h"

#include <event2/buffer.h>
#include <netinet/tcp.h>

#include <string_view>

namespace retryq::testing {
namespace {

constexpr std::size_t kProtocolHeaderSize = 8;
constexpr std::size_t kMaxFrame = std::size_t{16} << 20;

// Bytes leave when they are written.
void DoNotDelay(bufferevent* end) {
  const int yes = 1;
  setsockopt(bufferevent_getfd(end), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

std::uint16_t Number(std::string_view bytes, std::size_t at) {
  if (bytes.size() < at + 2) return 0;
  return static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[at]) << 8 |
                                    static_cast<unsigned char>(bytes[at + 1]));
}

Proxy::Phase PhaseOf(Proxy::Way way, const amqp::FrameView& frame) {
  Proxy::Phase phase{.way = way};
  switch (frame.type) {
    case amqp::FrameType::kHeader:
      phase.kind = Proxy::Phase::Kind::kHeader;
      break;
    case amqp::FrameType::kBody:
      phase.kind = Proxy::Phase::Kind::kBody;
      break;
    case amqp::FrameType::kMethod:
    case amqp::FrameType::kHeartbeat:  // has neither class nor method
      phase.class_id = Number(frame.payload, 0);
      phase.method_id = Number(frame.payload, 2);
      break;
  }
  return phase;
}

bool IsAt(const Proxy::Phase& wanted, const Proxy::Phase& here) {
  return wanted.way == here.way && wanted.kind == here.kind && wanted.class_id == here.class_id &&
         wanted.method_id == here.method_id;
}

}  // namespace

Proxy::Proxy(EventLoop& loop, std::uint16_t broker_port, std::optional<ReadAlong> read_along)
    : loop_(loop),
      broker_port_(broker_port),
      read_along_(read_along),
      listener_(loop, [this](int fd) { Accept(fd); }) {}

Proxy::~Proxy() { Cut(); }

void Proxy::Cut() {
  for (const auto& pair : pairs_) Close(*pair);
}

void Proxy::Freeze() {
  for (const auto& pair : pairs_) {
    if (pair->client == nullptr) continue;
    bufferevent_disable(pair->client, EV_READ | EV_WRITE);
    bufferevent_disable(pair->broker, EV_READ | EV_WRITE);
  }
}

void Proxy::SetFlow(Way way, Flow flow) {
  flows_[static_cast<std::size_t>(way)] = flow;
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    if (pairs_[i]->client != nullptr) ApplyFlow(pairs_[i]->lanes[static_cast<std::size_t>(way)]);
  }
}

void Proxy::Accept(evutil_socket_t fd) {
  Pair& pair = *pairs_.emplace_back(std::make_unique<Pair>());
  pair.proxy = this;
  pair.number = accepted() - 1;
  pair.client = bufferevent_socket_new(loop_.base(), fd, BEV_OPT_CLOSE_ON_FREE);
  pair.broker = bufferevent_socket_new(loop_.base(), -1, BEV_OPT_CLOSE_ON_FREE);
  pair.lanes = {Lane{&pair, Way::kToBroker, pair.client, pair.broker, evbuffer_new()},
                Lane{&pair, Way::kToClient, pair.broker, pair.client, evbuffer_new()}};
  const auto on_readable = [](bufferevent* from, void* arg) {
    Pair& both = *static_cast<Pair*>(arg);
    both.proxy->OnReadable(both.lanes[from == both.client ? 0 : 1]);
  };
  const auto on_written = [](bufferevent* to, void* arg) {
    Pair& both = *static_cast<Pair*>(arg);
    both.proxy->Write(both.lanes[to == both.broker ? 0 : 1]);
  };
  const auto on_event = [](bufferevent* end, short what, void* arg) {
    Pair& both = *static_cast<Pair*>(arg);
    if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) != 0) {
      both.proxy->Close(both);
    } else if ((what & BEV_EVENT_CONNECTED) != 0) {
      DoNotDelay(end);
    }
  };
  DoNotDelay(pair.client);
  for (bufferevent* end : {pair.client, pair.broker}) {
    bufferevent_setcb(end, on_readable, on_written, on_event, &pair);
    bufferevent_enable(end, EV_WRITE);
  }
  for (Lane& lane : pair.lanes) ApplyFlow(lane);
  sockaddr_in broker = Loopback(broker_port_);
  bufferevent_socket_connect(pair.broker, reinterpret_cast<sockaddr*>(&broker), sizeof(broker));
}

void Proxy::Close(Pair& pair) {
  if (pair.client == nullptr) return;
  for (bufferevent** end : {&pair.client, &pair.broker}) {
    bufferevent_free(*end);
    *end = nullptr;
  }
  for (const Lane& lane : pair.lanes) evbuffer_free(lane.ready);
  if (read_along_ && read_along_->listener != nullptr) read_along_->listener->OnClosed(pair.number);
}

void Proxy::ApplyFlow(Lane& lane) {
  if (flow(lane.way) == Flow::kHold) {
    bufferevent_disable(lane.from, EV_READ);
    return;
  }
  bufferevent_enable(lane.from, EV_READ);
  Write(lane);
}

void Proxy::OnReadable(Lane& lane) {
  Pair& pair = *lane.pair;
  if (!read_along_) {
    evbuffer_add_buffer(lane.ready, bufferevent_get_input(lane.from));
  } else {
    while (pair.client != nullptr && pair.last == nullptr && TakeFrame(lane)) continue;
  }
  if (pair.client != nullptr) Write(lane);
}

bool Proxy::TakeFrame(Lane& lane) {
  evbuffer* const input = bufferevent_get_input(lane.from);
  const std::size_t available = evbuffer_get_length(input);
  if (lane.way == Way::kToBroker && !lane.pair->greeted) {
    if (available < kProtocolHeaderSize) return false;
    lane.pair->greeted = true;
    return Take(lane, {.way = lane.way, .kind = Phase::Kind::kProtocolHeader}, kProtocolHeaderSize);
  }
  const std::string_view bytes(reinterpret_cast<const char*>(evbuffer_pullup(input, -1)),
                               available);
  const auto frame = amqp::NextFrame(bytes, kMaxFrame);
  if (!frame.ok()) {
    Close(*lane.pair);
    return false;
  }
  if (!frame->has_value()) return false;
  if (read_along_->listener != nullptr) {
    read_along_->listener->OnFrame(lane.pair->number, lane.way, **frame);
  }
  return Take(lane, PhaseOf(lane.way, **frame), (*frame)->frame_size());
}

bool Proxy::Take(Lane& lane, const Phase& here, std::size_t size) {
  evbuffer* const input = bufferevent_get_input(lane.from);
  if (!cut_at_.has_value() || !IsAt(*cut_at_, here)) {
    evbuffer_remove_buffer(input, lane.ready, size);
    return true;
  }
  const Phase::Cut cut = cut_at_->cut;
  cut_at_.reset();
  if (cut == Phase::Cut::kBefore && evbuffer_get_length(lane.ready) == 0 &&
      evbuffer_get_length(bufferevent_get_output(lane.to)) == 0) {
    Close(*lane.pair);
    return false;
  }
  const std::size_t passing = cut == Phase::Cut::kBefore   ? 0
                              : cut == Phase::Cut::kWithin ? size / 2
                                                           : size;
  evbuffer_remove_buffer(input, lane.ready, passing);
  lane.pair->last = &lane;
  for (const Lane& each : lane.pair->lanes) bufferevent_disable(each.from, EV_READ);
  return false;
}

void Proxy::Write(Lane& lane) {
  evbuffer* const output = bufferevent_get_output(lane.to);
  if (flow(lane.way) != Flow::kTrickle) {
    if (evbuffer_get_length(lane.ready) > 0) {
      bufferevent_write_buffer(lane.to, lane.ready);
      return;
    }
  } else if (evbuffer_get_length(output) == 0 && evbuffer_get_length(lane.ready) > 0) {
    char byte = 0;
    evbuffer_remove(lane.ready, &byte, 1);
    bufferevent_write(lane.to, &byte, 1);
    return;
  }
  if (lane.pair->last == &lane && evbuffer_get_length(lane.ready) == 0 &&
      evbuffer_get_length(output) == 0) {
    Close(*lane.pair);
  }
}

}  // namespace retryq::testing
