// The real code of retrying in a simulated world. Each history is made from one seed:
//
//   RETRYQ_HISTORIES=N   how many of each kind, 100 by default; 25 in the presets with sanitizers,
//                        which find their own kind of fault in the first ones
//   RETRYQ_SEED=N        that one alone

#include "simulation/lived_history.h"
#include "simulation/seeds.h"
#include "support/test.h"

namespace retryq::simulation::histories_test {

struct Kind {
  Trouble trouble;
  QueueType queue_type;
};

std::string NameOf(const ::testing::TestParamInfo<Kind>& info) {
  std::string name(NameOf(info.param.trouble));
  std::erase_if(name, [](char c) { return c == ' '; });
  return (info.param.queue_type == QueueType::kQuorum ? "quorum_" : "classic_") + name;
}

class Histories : public ::testing::TestWithParam<Kind> {};

TEST_P(Histories, LoseNothingAndRepeatNothingWithoutReason) {
  const std::uint64_t only = NumberFrom("RETRYQ_SEED", 0);
  const std::uint64_t first = only == 0 ? 1 : only;
  const std::uint64_t last = only == 0 ? NumberFrom("RETRYQ_HISTORIES", 100) : only;
  std::uint64_t messages = 0;
  std::uint64_t calls = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t forgiven = 0;
  std::uint64_t snoozes = 0;
  std::uint64_t openings = 0;
  absl::Duration length;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    History history(seed, GetParam().trouble, GetParam().queue_type);
    const std::vector<std::string> faults = history.Run();
    for (const std::string& fault : faults)
      ADD_FAILURE() << "RETRYQ_SEED=" << seed << ": " << fault;
    if (!faults.empty()) return;
    messages += history.ledger().size();
    calls += history.ledger().calls();
    duplicates += history.ledger().duplicates();
    forgiven += history.ledger().forgiven();
    snoozes += history.ledger().snoozes();
    openings += history.breaker_openings();
    length += history.length();
  }
  std::printf(
      "%lu histories, %.0f hours: %lu messages, %lu calls, %lu snoozes, %lu openings of a "
      "breaker, %lu duplicates, %lu forgiven\n",
      static_cast<unsigned long>(last - first + 1), absl::ToDoubleHours(length),
      static_cast<unsigned long>(messages), static_cast<unsigned long>(calls),
      static_cast<unsigned long>(snoozes), static_cast<unsigned long>(openings),
      static_cast<unsigned long>(duplicates), static_cast<unsigned long>(forgiven));
  EXPECT_GT(calls, messages);
  if (only != 0) return;
  EXPECT_GT(openings, 0U);
  EXPECT_TRUE(snoozes > 0 || GetParam().trouble == Trouble::kStale);
}

INSTANTIATE_TEST_SUITE_P(OfHours, Histories,
                         ::testing::Values(Kind{Trouble::kNone, QueueType::kClassic},
                                           Kind{Trouble::kNone, QueueType::kQuorum},
                                           Kind{Trouble::kNetwork, QueueType::kClassic},
                                           Kind{Trouble::kNetwork, QueueType::kQuorum},
                                           Kind{Trouble::kBroker, QueueType::kClassic},
                                           Kind{Trouble::kBroker, QueueType::kQuorum},
                                           Kind{Trouble::kOperator, QueueType::kClassic},
                                           Kind{Trouble::kOperator, QueueType::kQuorum},
                                           Kind{Trouble::kClock, QueueType::kClassic},
                                           Kind{Trouble::kStale, QueueType::kQuorum}),
                         NameOf);

}  // namespace retryq::simulation::histories_test
