#ifndef RETRYQ_TEST_SUPPORT_SCRIPTED_TEST_H_
#define RETRYQ_TEST_SUPPORT_SCRIPTED_TEST_H_

#include "retryq/client.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_time.h"
#include "support/make_message.h"
#include "support/recorded_events.h"
#include "support/scripted_broker.h"
#include "support/test.h"

namespace retryq::testing {

// A client in simulated time, on a broker that the test controls.
class ScriptedTest : public ::testing::Test {
 protected:
  // Delivers to the consumer that subscribed last, with the next tag.
  void Deliver(MessageParts parts = {}) {
    parts.delivery_tag = {.generation = 1, .tag = ++tag_};
    broker_.subscriber->OnDelivery(MakeMessage(parts));
    time_.RunReady();
  }

  static Outcome Handles(const Delivery&) { return Outcome::Ok(); }
  static Outcome Fails(const Delivery&) { return absl::UnavailableError("down"); }

  SimulatedTime time_;
  SeededRandom random_;
  ScriptedBroker broker_{time_};
  RecordedEvents events_;
  std::vector<absl::Status> fatal_;
  std::optional<Client> client_{std::in_place, EnvironmentOf(time_, random_, &events_), broker_,
                                ClientOptions(),
                                [this](const absl::Status& error) { fatal_.push_back(error); }};
  std::uint64_t tag_ = 0;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_SCRIPTED_TEST_H_
