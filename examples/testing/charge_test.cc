// Tests a handler and its retries on a RabbitMQ in memory, in simulated time. Hours take
// milliseconds, and no broker is needed. Link retryq::retryq, retryq::testing and GoogleTest.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "retryq/retryq.h"
#include "retryq/testing/delivery.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"

namespace {

// The handler under test: charges orders at a bank that may be down.
class Charger {
 public:
  retryq::Outcome operator()(const retryq::Delivery& delivery) {
    if (delivery.body().empty()) return absl::InvalidArgumentError("an order without a number");
    if (bank_is_down) return absl::UnavailableError("the bank is down");
    charged.emplace_back(delivery.body());
    return absl::OkStatus();
  }

  bool bank_is_down = false;
  std::vector<std::string> charged;
};

// Without a broker.
TEST(Charger, RefusesAnOrderWithoutANumber) {
  Charger charger;
  const retryq::Outcome outcome = charger(retryq::testing::MakeDelivery({.body = ""}));
  EXPECT_EQ(outcome.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(charger(retryq::testing::MakeDelivery({.body = "order 42"})).status().ok());
}

class ChargeTest : public ::testing::Test {
 protected:
  ChargeTest() {
    rabbit_.DeclareQueue("orders");
    auto consumer =
        client_.Consume({.queue = "orders",
                         .retry = {.backoff = {.base = absl::Minutes(1), .max = absl::Hours(1)},
                                   .max_attempts = 6}},
                        [this](const retryq::Delivery& delivery) { return charger_(delivery); });
    EXPECT_TRUE(consumer.ok()) << consumer.status();
    consumer_.emplace(*std::move(consumer));
    time_.Advance(absl::Seconds(1));  // to connect
  }

  void Send(const char* order) { ASSERT_TRUE(rabbit_.Publish("", "orders", {}, order)); }

  Charger charger_;
  retryq::testing::SimulatedTime time_;
  retryq::testing::SeededRandom random_;
  retryq::testing::SimulatedRabbitMq rabbit_{time_, random_};
  retryq::testing::SimulatedBroker broker_{rabbit_};
  retryq::Client client_{
      retryq::testing::EnvironmentOf(time_, random_), broker_, {}, [](const absl::Status& fatal) {
        ADD_FAILURE() << fatal;
      }};
  std::optional<retryq::Consumer> consumer_;
};

TEST_F(ChargeTest, ChargesAnOrderOnceTheBankIsBack) {
  charger_.bank_is_down = true;
  Send("order 42");
  time_.Advance(absl::Minutes(10));
  charger_.bank_is_down = false;
  time_.Advance(absl::Hours(1));
  EXPECT_EQ(charger_.charged, std::vector<std::string>{"order 42"});
  EXPECT_EQ(rabbit_.Count("orders.parked"), 0U);
}

TEST_F(ChargeTest, ParksAnInvalidOrderAtOnce) {
  Send("");
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(rabbit_.Count("orders.parked"), 1U);
}

TEST_F(ChargeTest, ParksAnOrderAfterSixCallsWhileTheBankStaysDown) {
  charger_.bank_is_down = true;
  Send("order 42");
  time_.Advance(absl::Minutes(1 + 2 + 4 + 8 + 16) - absl::Seconds(1));
  EXPECT_EQ(rabbit_.Count("orders.parked"), 0U);
  time_.Advance(absl::Seconds(2));
  ASSERT_EQ(rabbit_.Count("orders.parked"), 1U);
  EXPECT_EQ(rabbit_.Messages("orders.parked")[0]->body, "order 42");
}

TEST_F(ChargeTest, ChargesAfterACrashOfTheBroker) {
  charger_.bank_is_down = true;
  Send("order 42");
  time_.Advance(absl::Seconds(30));
  rabbit_.Crash();
  charger_.bank_is_down = false;
  time_.Advance(absl::Minutes(5));
  rabbit_.Start();
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(charger_.charged, std::vector<std::string>{"order 42"});
}

TEST_F(ChargeTest, LeavesNoDelayQueueBehind) {
  charger_.bank_is_down = true;
  Send("order 42");
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(rabbit_.HasQueue("retry.60000"));
  charger_.bank_is_down = false;
  time_.Advance(absl::Hours(1));
  EXPECT_EQ(rabbit_.queues(), (std::vector<std::string>{"orders", "orders.parked"}));
}

}  // namespace
