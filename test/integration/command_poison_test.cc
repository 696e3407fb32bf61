// `retryq work` with a message that kills the worker itself.

#include <nlohmann/json.hpp>

#include "command_run.h"
#include "support/test.h"

namespace retryq::testing::command_poison_test {

// Its parent is the worker.
constexpr char kKillTheWorker[] = R"(grep -q poison && sleep 0.5 && kill -9 "$PPID"; exit 0)";

class CommandPoison : public CommandTest {
 protected:
  void SetUp() override {}

  // Starts workers, one after the other, until one survives and parks a message. Returns how many
  // died; 20 if none survived.
  int DeathsUntilParked(const Arguments& flags) {
    for (int deaths = 0; deaths < 20; ++deaths) {
      CommandRun worker = Work(flags, kKillTheWorker);
      const bool lives = CommandRun::WaitUntil(
          [&] { return !worker.events("parked").empty() || worker.Wait(absl::ZeroDuration()); },
          absl::Seconds(60));
      EXPECT_TRUE(lives) << worker.Story();
      if (!worker.events("parked").empty()) {
        EXPECT_TRUE(worker.Stop());
        return deaths;
      }
      EXPECT_EQ(worker.Wait(), -SIGKILL) << worker.Story();
    }
    return 20;
  }

  void ExpectItIsParked() {
    EXPECT_EQ(peer_.Count("orders"), 0U);
    ASSERT_EQ(peer_.Count("orders.parked"), 1U);
    const amqp::MessagePtr parked = peer_.Get("orders.parked");
    EXPECT_EQ(parked->body, "poison");
    EXPECT_EQ(parked->properties.headers->FindInt64("x-retry-count"), 3);
    EXPECT_NE(parked->properties.headers->FindString("x-retry-error")->find("died"),
              std::string_view::npos);
  }
};

TEST_F(CommandPoison, OnAQuorumQueueKillsNoMoreWorkersThanMaxAttempts) {
  peer_.DeclareQueue("orders", {{"x-queue-type", "quorum"}});
  Publish("poison");
  EXPECT_EQ(DeathsUntilParked({"--max-attempts", "3"}), 3);
  ExpectItIsParked();
}

TEST_F(CommandPoison, OnAClassicQueueKillsNoMoreWorkersIfRedeliveriesAlwaysCount) {
  peer_.DeclareQueue("orders");
  Publish("poison");
  EXPECT_EQ(DeathsUntilParked({"--max-attempts", "3", "--count-redeliveries", "always"}), 3);
  ExpectItIsParked();
}

}  // namespace retryq::testing::command_poison_test
