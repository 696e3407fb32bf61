#include "amqp/broker/topology.h"

#include <utility>

namespace retryq::amqp {
namespace {

constexpr std::size_t kMostIdle = 8;

}  // namespace

class Topology::Lane final : public ChannelListener {
 public:
  explicit Lane(Topology& topology)
      : topology_(topology), channel_(topology.connection_.OpenChannel(this)) {}

  Channel& channel() { return *channel_; }

 private:
  // Its declare has been answered, which released the lane or will do so in a moment.
  void OnChannelClosed(const ChannelError&) override {
    topology_.idle_.remove_if([this](const Lane& lane) { return &lane == this; });
  }

  Topology& topology_;
  std::unique_ptr<Channel> channel_;
};

Topology::Topology(Connection& connection) : connection_(connection) {}
Topology::~Topology() = default;

void Topology::Forget() { busy_.clear(); }

Topology::Lanes::iterator Topology::Take() {
  if (idle_.empty()) idle_.emplace_back(*this);
  busy_.splice(busy_.end(), idle_, std::prev(idle_.end()));
  return std::prev(busy_.end());
}

void Topology::Release(Lanes::iterator lane) {
  if (lane->channel().is_open() && idle_.size() < kMostIdle) {
    idle_.splice(idle_.end(), busy_, lane);
  } else {
    busy_.erase(lane);
  }
}

void Topology::Declare(const DeclareParams& params, Broker::DeclareCallback done) {
  const auto lane = Take();
  lane->channel().DeclareQueue(
      params.queue, [this, lane, params, done = std::move(done)](absl::StatusOr<DeclareOk> ok) {
        if (ok.ok() && params.exchange) return DeclareExchange(lane, params, *ok, done);
        Release(lane);
        done(std::move(ok));
      });
}

void Topology::DeclareExchange(Lanes::iterator lane, const DeclareParams& params, DeclareOk ok,
                               Broker::DeclareCallback done) {
  const auto finish = [this, lane, ok, done = std::move(done)](const absl::Status& status) {
    Release(lane);
    if (!status.ok()) return done(status);
    done(ok);
  };
  lane->channel().DeclareExchange(
      *params.exchange, [lane, finish, queue = params.queue.name, exchange = params.exchange->name,
                         key = params.binding_key](const absl::Status& status) {
        if (!status.ok()) return finish(status);
        lane->channel().BindQueue(queue, exchange, key, Table(), finish);
      });
}

void Topology::CheckExchange(const std::string& name, std::function<void(absl::Status)> done) {
  const auto lane = Take();
  lane->channel().CheckExchange(name, [this, lane, done = std::move(done)](absl::Status status) {
    Release(lane);
    done(std::move(status));
  });
}

}  // namespace retryq::amqp
