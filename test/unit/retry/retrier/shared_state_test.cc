#include "retry/retrier/shared_state.h"

#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/recorded_events.h"
#include "support/scripted_broker.h"
#include "support/test.h"

namespace retryq::testing::shared_state_test {

// Records which listeners are called, and removes itself or others during the calls.
class Leaver : public BrokerListener {
 public:
  Leaver(SharedState& shared, std::string name, std::vector<std::string>& told)
      : shared_(shared), name_(std::move(name)), told_(told), id_(shared.AddListener(this)) {}
  ~Leaver() override { shared_.RemoveListener(id_); }

  void OnReady() override {
    told_.push_back(name_);
    const std::vector<std::unique_ptr<Leaver>*> to_go = to_go_;
    for (std::unique_ptr<Leaver>* leaver : to_go) leaver->reset();
  }
  void OnLost(const absl::Status&) override {}
  void OnBlocked(bool, std::string_view) override {}

  std::vector<std::unique_ptr<Leaver>*> to_go_;

 private:
  SharedState& shared_;
  const std::string name_;
  std::vector<std::string>& told_;
  const SharedState::ListenerId id_;
};

TEST(SharedStateTest, ListenersMayLeaveDuringANotification) {
  SimulatedTime time;
  SeededRandom random(1);
  RecordedEvents events;
  ScriptedBroker broker(time);
  const auto shared = SharedState::Create(broker, EnvironmentOf(time, random, &events), {});
  std::vector<std::string> told;
  auto first = std::make_unique<Leaver>(*shared, "first", told);
  auto second = std::make_unique<Leaver>(*shared, "second", told);
  auto third = std::make_unique<Leaver>(*shared, "third", told);
  auto fourth = std::make_unique<Leaver>(*shared, "fourth", told);
  second->to_go_ = {&first, &third, &second};
  broker.Ready();
  EXPECT_THAT(told, ElementsAre("first", "second", "fourth"));
  EXPECT_EQ(second, nullptr);
}

// Its observer may destroy the owner of an event's texts.
TEST(SharedStateTest, TextsOfAnEventStayValidDuringTheCallIfTheirOwnersChange) {
  SimulatedTime time;
  SeededRandom random(1);
  ScriptedBroker broker(time);
  struct Destroyer : Observer {
    void OnEvent(const Event& event) override {
      for (std::string* text : owners) text->assign(text->size(), 'x');
      if (event.kind == EventKind::kFailed) {
        shared->Report({.kind = EventKind::kRetried, .time = {}, .queue = "inner"});
      }
      told.push_back(absl::StrCat(std::string(event.queue), "|", std::string(event.delay_queue),
                                  "|", std::string(event.id), "|", std::string(event.error), "|",
                                  std::string(event.cause)));
    }
    std::vector<std::string*> owners;
    SharedState* shared = nullptr;
    std::vector<std::string> told;
  } observer;
  const auto shared = SharedState::Create(broker, EnvironmentOf(time, random, &observer), {});
  observer.shared = shared.get();
  std::string queue = "orders";
  std::string delay_queue = "retry.1000";
  std::string id = "an id";
  std::string error = "why";
  std::string cause = "late";
  observer.owners = {&queue, &delay_queue, &id, &error, &cause};
  shared->Report({.kind = EventKind::kFailed,
                  .time = {},
                  .queue = queue,
                  .delay_queue = delay_queue,
                  .id = id,
                  .error = error,
                  .cause = cause});
  EXPECT_THAT(observer.told, ElementsAre("inner||||", "orders|retry.1000|an id|why|late"));
}

}  // namespace retryq::testing::shared_state_test
