#include "retryq/testing/simulated_broker.h"

#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "testing/node.h"
#include "testing/simulated_content.h"
#include "testing/simulated_wire.h"

namespace retryq::testing {
namespace {

constexpr absl::Duration kReconnectEvery = absl::Seconds(1);
constexpr std::size_t kMaxHeaderSize = 131072 - 8;

absl::Status Lost() { return absl::UnavailableError("the connection was lost"); }

}  // namespace

// The client's ends of both connections. Data on its way keeps this object alive.
class SimulatedBroker::Impl final : public std::enable_shared_from_this<Impl> {
 public:
  explicit Impl(SimulatedRabbitMq& rabbit) : node_(*rabbit.node()) {}

  void Connect();
  void End();

  // The connection that publishes and declares.
  void SetListener(BrokerListener* listener);
  void Declare(DeclareParams params, DeclareCallback done);
  void CheckExchange(std::string name, std::function<void(absl::Status)> done);
  void Publish(const PublishParams& params, PublishCallback done);

  // The connection that consumes.
  class Consuming;
  std::unique_ptr<Subscription> Consume(ConsumeParams params, SubscriptionListener* listener);
  void Settle(amqp::DeliveryTag tag, std::function<void(Node&)> how);

  void Reconnect(const absl::Status& why);
  void Close(std::function<void()> closed);
  void SetLatency(std::function<absl::Duration()> latency) { latency_ = std::move(latency); }
  void SetReachable(bool reachable) { reachable_ = reachable; }
  const std::shared_ptr<Wire>& publishing() const { return publishing_; }
  const std::shared_ptr<Wire>& consuming() const { return consuming_; }
  Node& node() { return node_; }

 private:
  using Answer = std::function<void(absl::StatusOr<DeclareOk>)>;
  // The channel that publishes. Once the broker has closed the channel, all data that arrives on it
  // is ignored.
  struct PublishChannel {
    bool closed_by_broker = false;
  };

  std::shared_ptr<Wire> MakeWire(void (Impl::*client_lost)(), std::function<void(bool)> alarm);
  void ConnectPublishing(absl::Duration after);
  void ConnectConsuming(absl::Duration after);
  void OnPublishingLost() { LosePublishing(Lost()); }
  void LosePublishing(const absl::Status& why);
  void OnConsumingLost();
  void ForEachSubscription(void (Consuming::*call)());
  void Ask(std::function<absl::StatusOr<DeclareOk>(Node&)> question, Answer done);
  void OnAnswer(std::uint64_t number, const absl::StatusOr<DeclareOk>& answer);
  void OnResult(std::uint64_t number, const PublishResult& result);
  void OnChannelClosed(std::uint16_t code, std::string_view text);
  void FailPublishes(std::uint16_t code, std::string_view text);

  Node& node_;  // outlives this; its end destroys data on its way
  std::function<absl::Duration()> latency_ = [] { return absl::Milliseconds(1); };
  bool reachable_ = true;
  bool ended_ = false;

  std::shared_ptr<Wire> publishing_;
  BrokerListener* listener_ = nullptr;
  std::shared_ptr<PublishChannel> channel_;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, PublishCallback> publishes_;
  std::map<std::uint64_t, Answer> questions_;

  std::shared_ptr<Wire> consuming_;
  std::set<Consuming*> subscriptions_;
};

// The client's side of a subscription.
class SimulatedBroker::Impl::Consuming final : public Subscription {
 public:
  Consuming(std::shared_ptr<Impl> impl, ConsumeParams params, SubscriptionListener* listener)
      : impl_(std::move(impl)), params_(std::move(params)), listener_(listener) {
    impl_->subscriptions_.insert(this);
    if (impl_->consuming_ != nullptr) Subscribe();
  }
  ~Consuming() override {
    impl_->subscriptions_.erase(this);
    if (channel_ != nullptr) CloseChannel([] {});
  }

  bool Has(ChannelId id) const { return channel_ != nullptr && channel_->id == id; }
  void Subscribe();
  void OnWireLost();

  void Cancel(std::function<void()> cancelled) override;
  void Resume(std::uint16_t prefetch) override;
  void Close(std::function<void()> closed) override;

 private:
  // The broker's answers reach the subscription through this object. They are ignored if the
  // subscription is destroyed, or uses another channel.
  struct Link {
    ChannelId id;
    Consuming* subscription;
  };
  // The consumer at the broker's end: sends what the node reports to the client.
  class Remote final : public Channel {
   public:
    Remote(std::shared_ptr<Link> link, std::shared_ptr<Wire> wire)
        : link_(std::move(link)), wire_(std::move(wire)) {}
    void Deliver(std::uint64_t tag, bool redelivered, ContentPtr content) override {
      wire_->ToClient([link = link_, tag, redelivered, content = std::move(content)] {
        if (link->subscription != nullptr) {
          link->subscription->OnDelivery(MakeDelivery(content, {link->id, tag}, redelivered));
        }
      });
    }
    void Cancelled() override {
      wire_->ToClient([link = link_] {
        if (link->subscription == nullptr) return;
        link->subscription->Interrupt(absl::AbortedError("the broker cancelled the consumer"));
      });
    }
    void Closed(const absl::Status& why) override {
      wire_->ToClient([link = link_, why] {
        if (link->subscription != nullptr) link->subscription->Interrupt(why);
      });
    }

   private:
    const std::shared_ptr<Link> link_;
    const std::shared_ptr<Wire> wire_;
  };

  void OnDelivery(amqp::MessagePtr message) {
    if (listener_ != nullptr) listener_->OnDelivery(std::move(message));
  }
  void Interrupt(const absl::Status& why);
  void OnAnswer(const absl::Status& answer);
  void CloseChannel(std::function<void()> closed);
  void Finish();

  const std::shared_ptr<Impl> impl_;
  ConsumeParams params_;
  SubscriptionListener* listener_;              // nullptr if closed
  std::shared_ptr<Link> channel_;               // nullptr if there is none
  bool wanted_ = true;                          // false once cancelled
  std::vector<std::function<void()>> waiting_;  // for an answer, or the end of the connection
  std::unique_ptr<Timer> again_;
};

void SimulatedBroker::Impl::Consuming::Subscribe() {
  again_.reset();
  if (!wanted_ || listener_ == nullptr) return;
  channel_ = std::make_shared<Link>(Link{impl_->node_.NewChannel(), this});
  const std::shared_ptr<Wire> wire = impl_->consuming_;
  wire->ToBroker([&node = impl_->node_, wire, link = channel_, params = params_] {
    wire->AtBrokerEnd([&node, link] { node.CloseChannel(link->id); });
    const absl::Status answer =
        node.Consume(link->id, std::make_shared<Remote>(link, wire), params);
    wire->ToClient([link, answer] {
      if (link->subscription != nullptr) link->subscription->OnAnswer(answer);
    });
  });
}

void SimulatedBroker::Impl::Consuming::OnAnswer(const absl::Status& answer) {
  if (!answer.ok()) {
    Interrupt(answer);
  } else if (listener_ != nullptr) {
    listener_->OnSubscribed();
  }
}

// Drops the channel, and opens another one later.
void SimulatedBroker::Impl::Consuming::Interrupt(const absl::Status& why) {
  CloseChannel([] {});
  again_ = impl_->node_.time().After(kReconnectEvery, [this] {
    if (impl_->consuming_ != nullptr) Subscribe();
  });
  const std::vector<std::function<void()>> waiting = std::exchange(waiting_, {});
  if (listener_ != nullptr) listener_->OnInterrupted(why);  // may destroy it
  for (const auto& done : waiting) done();
}

void SimulatedBroker::Impl::Consuming::OnWireLost() {
  again_.reset();
  const bool had_channel = channel_ != nullptr;
  if (had_channel) channel_->subscription = nullptr;
  channel_.reset();
  std::vector<std::function<void()>> waiting = std::exchange(waiting_, {});
  SubscriptionListener* const listener = listener_;
  if (had_channel && listener != nullptr) listener->OnInterrupted(Lost());
  for (const auto& done : waiting) done();
}

void SimulatedBroker::Impl::Consuming::CloseChannel(std::function<void()> closed) {
  const std::shared_ptr<Link> link = std::exchange(channel_, nullptr);
  link->subscription = nullptr;
  const std::shared_ptr<Wire>& wire = impl_->consuming_;
  if (wire == nullptr) return;
  wire->ToBroker([&node = impl_->node_, wire, link, closed = std::move(closed)] {
    node.CloseChannel(link->id, /*given_back=*/true);
    wire->ToClient(closed);
  });
}

void SimulatedBroker::Impl::Consuming::Cancel(std::function<void()> cancelled) {
  wanted_ = false;
  if (channel_ == nullptr) {
    impl_->node_.mail().After(absl::ZeroDuration(), std::move(cancelled));
    return;
  }
  waiting_.push_back(std::move(cancelled));
  const std::shared_ptr<Wire> wire = impl_->consuming_;
  wire->ToBroker([&node = impl_->node_, wire, link = channel_] {
    node.StopConsuming(link->id, [wire, link] {
      wire->ToClient([link] {
        if (link->subscription != nullptr) link->subscription->Finish();
      });
    });
  });
}

void SimulatedBroker::Impl::Consuming::Finish() {
  for (const auto& done : std::exchange(waiting_, {})) done();
}

void SimulatedBroker::Impl::Consuming::Resume(std::uint16_t prefetch) {
  params_.prefetch = prefetch;
  if (std::exchange(wanted_, true)) return;
  if (channel_ == nullptr) {
    if (impl_->consuming_ != nullptr) Subscribe();
    return;
  }
  impl_->consuming_->ToBroker([&node = impl_->node_, link = channel_, prefetch] {
    node.ResumeConsuming(link->id, prefetch);
  });
}

void SimulatedBroker::Impl::Consuming::Close(std::function<void()> closed) {
  listener_ = nullptr;
  again_.reset();
  if (channel_ == nullptr) {
    impl_->node_.mail().After(absl::ZeroDuration(), std::move(closed));
    return;
  }
  const auto once = std::make_shared<std::function<void()>>(std::move(closed));
  const auto call = [once] {
    if (const auto done = std::exchange(*once, nullptr)) done();
  };
  waiting_.emplace_back(call);
  CloseChannel(call);
}

// Connections

void SimulatedBroker::Impl::Connect() {
  ConnectPublishing(absl::ZeroDuration());
  ConnectConsuming(absl::ZeroDuration());
}

std::shared_ptr<Wire> SimulatedBroker::Impl::MakeWire(void (Impl::*client_lost)(),
                                                      std::function<void(bool)> alarm) {
  const std::weak_ptr<Impl> weak = weak_from_this();
  return Wire::Make(node_, {.latency =
                                [weak] {
                                  const std::shared_ptr<Impl> impl = weak.lock();
                                  return impl == nullptr ? absl::ZeroDuration() : impl->latency_();
                                },
                            .client_lost =
                                [weak, client_lost] {
                                  if (const auto impl = weak.lock()) (impl.get()->*client_lost)();
                                },
                            .alarm = std::move(alarm)});
}

void SimulatedBroker::Impl::ConnectPublishing(absl::Duration after) {
  node_.mail().After(after, [self = shared_from_this()] {
    if (self->ended_) return;
    if (!self->reachable_ || !self->node_.up()) return self->ConnectPublishing(kReconnectEvery);
    self->publishing_ =
        self->MakeWire(&Impl::OnPublishingLost, [weak = std::weak_ptr<Impl>(self)](bool alarm) {
          const std::shared_ptr<Impl> impl = weak.lock();
          if (impl != nullptr && impl->listener_ != nullptr) {
            impl->listener_->OnBlocked(alarm, alarm ? "low on memory" : "");
          }
        });
    self->channel_ = std::make_shared<PublishChannel>();
    if (self->listener_ != nullptr) self->listener_->OnReady();
  });
}

void SimulatedBroker::Impl::LosePublishing(const absl::Status& why) {
  publishing_.reset();
  channel_.reset();
  if (listener_ != nullptr) listener_->OnLost(why);
  FailPublishes(0, "");
  for (const auto& [number, done] : std::exchange(questions_, {})) done(Lost());
  ConnectPublishing(kReconnectEvery);
}

void SimulatedBroker::Impl::ConnectConsuming(absl::Duration after) {
  node_.mail().After(after, [self = shared_from_this()] {
    if (self->ended_) return;
    if (!self->reachable_ || !self->node_.up()) return self->ConnectConsuming(kReconnectEvery);
    self->consuming_ = self->MakeWire(&Impl::OnConsumingLost, nullptr);
    self->ForEachSubscription(&Consuming::Subscribe);
  });
}

void SimulatedBroker::Impl::OnConsumingLost() {
  consuming_.reset();
  ForEachSubscription(&Consuming::OnWireLost);
  ConnectConsuming(kReconnectEvery);
}

// Subscriptions may be added and removed during the calls.
void SimulatedBroker::Impl::ForEachSubscription(void (Consuming::*call)()) {
  for (Consuming* const subscription : std::set<Consuming*>(subscriptions_)) {
    if (subscriptions_.contains(subscription)) (subscription->*call)();
  }
}

// Data on its way still arrives.
void SimulatedBroker::Impl::Reconnect(const absl::Status& why) {
  if (publishing_ == nullptr) return;
  node_.mail().After(absl::ZeroDuration(), [self = shared_from_this(), wire = publishing_, why] {
    if (self->publishing_ != wire) return;
    wire->Kill();
    self->LosePublishing(why);
  });
}

void SimulatedBroker::Impl::End() {
  ended_ = true;
  SetListener(nullptr);
  if (publishing_ != nullptr) std::exchange(publishing_, nullptr)->Kill();
  if (consuming_ != nullptr) std::exchange(consuming_, nullptr)->Kill();
}

void SimulatedBroker::Impl::Close(std::function<void()> closed) {
  ended_ = true;
  listener_ = nullptr;
  const auto open = std::make_shared<int>(2);
  const auto one_closed = [open, closed = std::move(closed)] {
    if (--*open == 0) closed();
  };
  for (std::shared_ptr<Wire>* end : {&publishing_, &consuming_}) {
    const std::shared_ptr<Wire> wire = std::exchange(*end, nullptr);
    if (wire == nullptr) {
      node_.mail().After(absl::ZeroDuration(), one_closed);
      continue;
    }
    // The broker has processed all earlier requests.
    wire->ToBroker([wire, one_closed] {
      wire->CloseAtBroker();
      wire->ToClient(one_closed);
    });
  }
}

// Declaring and publishing

void SimulatedBroker::Impl::SetListener(BrokerListener* listener) {
  listener_ = listener;
  if (listener != nullptr) return;
  publishes_.clear();
  questions_.clear();
}

void SimulatedBroker::Impl::Ask(std::function<absl::StatusOr<DeclareOk>(Node&)> question,
                                Answer done) {
  const std::uint64_t number = ++last_number_;
  questions_.emplace(number, std::move(done));
  const auto answer_with = [weak = weak_from_this(),
                            number](const absl::StatusOr<DeclareOk>& answer) {
    if (const auto impl = weak.lock()) impl->OnAnswer(number, answer);
  };
  if (publishing_ == nullptr) {
    node_.mail().After(absl::ZeroDuration(), [answer_with] { answer_with(Lost()); });
    return;
  }
  publishing_->ToBroker(
      [&node = node_, wire = publishing_, question = std::move(question), answer_with] {
        wire->ToClient([answer_with, answer = question(node)] { answer_with(answer); });
      });
}

void SimulatedBroker::Impl::OnAnswer(std::uint64_t number,
                                     const absl::StatusOr<DeclareOk>& answer) {
  const auto asked = questions_.extract(number);
  if (!asked.empty()) asked.mapped()(answer);
}

void SimulatedBroker::Impl::Declare(DeclareParams params, DeclareCallback done) {
  Ask([params = std::move(params)](Node& node) { return node.Declare(params); }, std::move(done));
}

void SimulatedBroker::Impl::CheckExchange(std::string name,
                                          std::function<void(absl::Status)> done) {
  Ask(
      [name = std::move(name)](Node& node) -> absl::StatusOr<DeclareOk> {
        absl::Status status = node.CheckExchange(name);
        if (!status.ok()) return status;
        return DeclareOk{};
      },
      [done = std::move(done)](const absl::StatusOr<DeclareOk>& answer) { done(answer.status()); });
}

void SimulatedBroker::Impl::Publish(const PublishParams& params, PublishCallback done) {
  const std::uint64_t number = ++last_number_;
  publishes_.emplace(number, std::move(done));
  if (publishing_ == nullptr) {
    node_.mail().After(absl::ZeroDuration(), [weak = weak_from_this(), number] {
      if (const auto impl = weak.lock()) impl->OnResult(number, {});
    });
    return;
  }
  auto content = std::make_shared<const Content>(params.exchange, params.routing_key,
                                                 params.properties, params.body);
  publishing_->ToBroker([weak = weak_from_this(), &node = node_, wire = publishing_,
                         channel = channel_, number, content = std::move(content),
                         mandatory = params.mandatory] {
    if (channel->closed_by_broker) return;
    const Node::Published published = node.Publish(content);
    const auto answer = [weak, wire, number](const PublishResult& result) {
      wire->ToClient([weak, number, result] {
        if (const auto impl = weak.lock()) impl->OnResult(number, result);
      });
    };
    using Verdict = Node::Published::Verdict;
    if (published.verdict == Verdict::kNoExchange) {
      channel->closed_by_broker = true;
      const std::string text =
          absl::StrCat("NOT_FOUND - no exchange '", content->exchange(), "' in vhost '/'");
      wire->ToClient([weak, text] {
        if (const auto impl = weak.lock()) impl->OnChannelClosed(404, text);
      });
    } else if (published.verdict == Verdict::kRefused) {
      answer({.outcome = PublishOutcome::kNacked});
    } else if (published.verdict == Verdict::kUnroutable && mandatory) {
      answer({.outcome = PublishOutcome::kReturned, .code = 312, .text = "NO_ROUTE"});
    } else {
      node.mail().After(published.on_disk_at - node.time().SinceBoot(),
                        [answer] { answer({.outcome = PublishOutcome::kConfirmed}); });
    }
  });
}

void SimulatedBroker::Impl::OnResult(std::uint64_t number, const PublishResult& result) {
  const auto published = publishes_.extract(number);
  if (!published.empty()) published.mapped()(result);
}

// Opens another channel at once.
void SimulatedBroker::Impl::OnChannelClosed(std::uint16_t code, std::string_view text) {
  if (publishing_ == nullptr) return;
  channel_ = std::make_shared<PublishChannel>();
  FailPublishes(code, text);
}

void SimulatedBroker::Impl::FailPublishes(std::uint16_t code, std::string_view text) {
  for (const auto& [number, done] : std::exchange(publishes_, {})) {
    done({.outcome = PublishOutcome::kUnknown, .code = code, .text = text});
  }
}

// Consuming

std::unique_ptr<Subscription> SimulatedBroker::Impl::Consume(ConsumeParams params,
                                                             SubscriptionListener* listener) {
  return std::make_unique<Consuming>(shared_from_this(), std::move(params), listener);
}

void SimulatedBroker::Impl::Settle(amqp::DeliveryTag tag, std::function<void(Node&)> how) {
  for (const Consuming* subscription : subscriptions_) {
    if (!subscription->Has(tag.generation)) continue;
    consuming_->ToBroker([&node = node_, how = std::move(how)] { how(node); });
    return;
  }
}

SimulatedBroker::SimulatedBroker(SimulatedRabbitMq& rabbit)
    : impl_(std::make_shared<Impl>(rabbit)) {
  impl_->Connect();
}
SimulatedBroker::~SimulatedBroker() { impl_->End(); }

void SimulatedBroker::SetLatency(std::function<absl::Duration()> latency) {
  impl_->SetLatency(std::move(latency));
}
void SimulatedBroker::CutPublishing(const CutParams& cut) {
  if (impl_->publishing() != nullptr) {
    impl_->publishing()->Cut(cut.may_arrive, cut.client_notices, cut.broker_notices);
  }
}
void SimulatedBroker::CutConsuming(const CutParams& cut) {
  if (impl_->consuming() != nullptr) {
    impl_->consuming()->Cut(cut.may_arrive, cut.client_notices, cut.broker_notices);
  }
}
void SimulatedBroker::SetReachable(bool reachable) { impl_->SetReachable(reachable); }

void SimulatedBroker::SetListener(BrokerListener* listener) { impl_->SetListener(listener); }
void SimulatedBroker::Declare(DeclareParams params, DeclareCallback done) {
  impl_->Declare(std::move(params), std::move(done));
}
void SimulatedBroker::CheckExchange(std::string name, std::function<void(absl::Status)> done) {
  impl_->CheckExchange(std::move(name), std::move(done));
}
void SimulatedBroker::Publish(const PublishParams& params, PublishCallback done) {
  impl_->Publish(params, std::move(done));
}
std::unique_ptr<Subscription> SimulatedBroker::Consume(ConsumeParams params,
                                                       SubscriptionListener* listener) {
  return impl_->Consume(std::move(params), listener);
}
void SimulatedBroker::Ack(amqp::DeliveryTag tag) {
  impl_->Settle(tag, [tag](Node& node) { node.Ack(tag.generation, tag.tag); });
}
void SimulatedBroker::Reject(amqp::DeliveryTag tag, bool requeue) {
  impl_->Settle(tag, [tag, requeue](Node& node) { node.Reject(tag.generation, tag.tag, requeue); });
}
void SimulatedBroker::Reconnect(const absl::Status& why) { impl_->Reconnect(why); }
void SimulatedBroker::Close(std::function<void()> closed) { impl_->Close(std::move(closed)); }
std::size_t SimulatedBroker::max_header_size() const { return kMaxHeaderSize; }
std::string SimulatedBroker::server_version() const { return impl_->node().version(); }

}  // namespace retryq::testing
