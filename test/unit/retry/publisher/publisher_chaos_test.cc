// A publisher on a broker that replies at random for a while, and then correctly: each publish that
// was not cancelled is sent or refused exactly once, and none remains. Each seed produces one
// history.

#include "retry/publisher/publisher.h"
#include "retry/retrier/shared_state.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/scripted_broker.h"
#include "support/test.h"

namespace retryq::publisher_chaos_test {

using Published = testing::ScriptedBroker::Published;

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : random_(seed) { broker_.on_declare = AnyAnswer(); }
  ~Chaos() { pending_.clear(); }

  void Run() {
    for (std::uint64_t steps = 5 + random_.Below(40); steps > 0; --steps) Step();
    Behave();
    EXPECT_TRUE(pending_.empty()) << pending_.size() << " pending publishes are stuck";
    EXPECT_EQ(shared_.publisher().size(), 0U);
  }

 private:
  // The contents of a message determine its possible results.
  class Item final : public PendingPublish {
   public:
    Item(Chaos& chaos, std::string body, std::optional<DelayRoute> route)
        : chaos_(chaos), body_(std::move(body)), route_(route) {}

    std::optional<DelayRoute> Route() const override { return route_; }
    bool Fill(PublishParams* params, absl::Time /*now*/) override {
      params->routing_key = "orders";
      params->body = body_;
      return !IsTooLarge(body_);
    }
    void OnSent(const SendResult& result) override { chaos_.OnSent(*this, result); }
    std::string_view Origin() const override { return "orders"; }
    std::string_view Id() const override { return body_; }

   private:
    Chaos& chaos_;
    const std::string body_;
    const std::optional<DelayRoute> route_;
  };

  static bool ClosesChannel(std::string_view body) { return body.front() == 'C'; }
  static bool IsTooLarge(std::string_view body) { return body.front() == 'L'; }

  void Step() {
    switch (random_.Below(16)) {
      case 0:
        if (connected_) {
          connected_ = false;
          broker_.Lose();
        }
        break;
      case 1:
        Connect();
        break;
      case 2:
        if (connected_) broker_.Block(random_.OneIn(2));
        break;
      case 3:
        if (!pending_.empty()) pending_.erase(AnyOf(pending_));
        break;
      case 4:
        time_.Advance(random_.Between(absl::ZeroDuration(), absl::Seconds(90)));
        break;
      case 5:
        if (Published* open = AnyOpen(); open != nullptr && !open->exchange.empty()) {
          broker_.CloseChannel(404,
                               "NOT_FOUND - no exchange '" + open->exchange + "' in vhost '/'");
        }
        break;
      case 6:
      case 7:
      case 8:
      case 9:
        SendOne();
        break;
      default:
        if (Published* open = AnyOpen(); open != nullptr) Answer(*open);
    }
    if (random_.OneIn(2)) time_.Advance(random_.Between({}, absl::Milliseconds(200)));
  }

  void SendOne() {
    const std::uint64_t kind = random_.Below(12);
    std::string body = (kind == 0 ? "C" : kind == 1 ? "L" : "I") + std::to_string(++last_body_);
    std::optional<DelayRoute> route;
    if (!random_.OneIn(3)) route = {.ttl = absl::Seconds(1) * (1 + random_.Below(2))};
    auto& pending = pending_[body];
    pending = std::make_unique<Item>(*this, body, route);
    shared_.publisher().Send(*pending);
  }

  void Connect() {
    if (std::exchange(connected_, true)) return;
    broker_.Ready();
  }

  Published* AnyOpen() {
    const std::vector<Published*> open = broker_.open();
    return open.empty() ? nullptr : open[random_.Below(open.size())];
  }

  template <typename Map>
  typename Map::iterator AnyOf(Map& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(random_.Below(map.size())));
  }

  // Some messages close the channel; the broker answers the others in any other way.
  void Answer(Published& published) {
    if (ClosesChannel(published.body)) {
      broker_.CloseChannel(406, "PRECONDITION_FAILED - message size");
      return;
    }
    switch (misbehaves_ ? random_.Below(5) : 4) {
      case 0:
        published.Return();
        return;
      case 1:
        published.Nack();
        return;
      default:
        confirmed_.insert(published.body);
        published.Confirm();
    }
  }

  std::function<absl::Status(const QueueDeclaration&)> AnyAnswer() {
    return [this](const QueueDeclaration&) -> absl::Status {
      switch (random_.Below(16)) {
        case 0:
          return absl::FailedPreconditionError("other arguments");
        case 1:
          return absl::NotFoundError("node down");
        case 2:
          return absl::PermissionDeniedError("no permission");
        default:
          return absl::OkStatus();
      }
    };
  }

  void OnSent(const Item& item, const SendResult& result) {
    const std::string body(item.Id());
    switch (result.kind) {
      case SendResult::Kind::kSent:
        EXPECT_EQ(confirmed_.count(body), 1U) << body;
        break;
      case SendResult::Kind::kReturned:
        EXPECT_FALSE(item.Route().has_value()) << body;
        EXPECT_TRUE(misbehaves_) << body;
        break;
      case SendResult::Kind::kRefused:
        EXPECT_TRUE(ClosesChannel(body)) << body;
        break;
      case SendResult::Kind::kTooLarge:
        EXPECT_TRUE(IsTooLarge(body)) << body;
        break;
    }
    EXPECT_EQ(pending_.erase(body), 1U) << body;
    if (misbehaves_ && random_.OneIn(4)) SendOne();
    if (random_.OneIn(4) && !pending_.empty()) pending_.erase(AnyOf(pending_));
  }

  // Confirms everything at once. From then on nothing takes longer than the longest pause plus one
  // confirm timeout.
  void Behave() {
    misbehaves_ = false;
    broker_.on_declare = nullptr;
    Connect();
    broker_.Block(false);
    const absl::Duration end = time_.SinceBoot() + absl::Minutes(1);
    while (!pending_.empty() && time_.SinceBoot() < end) {
      time_.RunReady();
      if (Published* open = AnyOpen(); open != nullptr) {
        Answer(*open);
      } else if (!time_.AdvanceToNextTimer()) {
        return;
      }
    }
  }

  testing::SimulatedTime time_;
  testing::SeededRandom random_;
  testing::ScriptedBroker broker_{time_};
  const std::shared_ptr<SharedState> owned_hub_ =
      SharedState::Create(broker_, testing::EnvironmentOf(time_, random_), {});
  SharedState& shared_ = *owned_hub_;
  std::map<std::string, std::unique_ptr<Item>> pending_;
  std::set<std::string> confirmed_;
  std::uint64_t last_body_ = 0;
  bool connected_ = false;
  bool misbehaves_ = true;
};

TEST(PublisherChaos, EndsEveryPublishAndRefusesOnlyTheCauses) {
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    Chaos(seed).Run();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace retryq::publisher_chaos_test
