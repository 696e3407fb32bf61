// Refuses every request of a client in every possible way, with real connections and simulated
// time. See README.md in this folder.
//
//   RETRYQ_REFUSALS=full       run all trials of each way for minutes, and print a table. Without
//                              it, reply codes take turns in the trials
//   RETRYQ_REFUSALS_WAY=WAY    only one way, such as "connection 541"
//   RETRYQ_REFUSALS_EVENTS=1   print all events, with their times

#include <cstdio>
#include <ostream>

#include "refusals/trial.h"
#include "support/test.h"

namespace retryq::refusals::refusals_test {

// Less than the grace period, 25 s.
constexpr absl::Duration kLongestStop = absl::Seconds(23);

// A minute has 24 messages, and 15 are prefetched. Each causes a log line when it fails, and
// another one when it is settled or cannot be.
constexpr int kMostLines = 360;

// Requests for a single message have their own pauses. The number of all other requests does not
// depend on the number of messages that wait for them.
int MostAttempts(Request request) {
  const bool by_message = request == Request::kCopy || request == Request::kPublish;
  if (by_message) return 180;
  return request == Request::kChannel ? 120 : 60;  // there are several channels
}

// The least number of requests per minute that succeed although others are refused: acks of 12
// messages of the other queue, and 12 publishes of the program. It is 0 if the server refuses all
// connections, channels or publishes. If a refusal closes the connection, other requests are lost
// too, most often copies of other messages, which need a delay queue and a confirm. Two messages
// arrive in the pause before the next connection and are acked after it, maybe in the next minute.
// Every second message is acked 20 s after its arrival.
struct Least {
  int acks = 6;
  int publishes = 6;
};
Least LeastOther(Request request, const Way& way) {
  const bool is_of_all =
      request == Request::kOpen || request == Request::kChannel || request == Request::kConfirm;
  if (is_of_all) return {.acks = 0, .publishes = 0};
  const bool by_message = request == Request::kCopy || request == Request::kPublish;
  return by_message && TakesConnection(way) ? Least{.acks = 0, .publishes = 3} : Least();
}

bool IsFull() {
  const char* const text = std::getenv("RETRYQ_REFUSALS");  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr && std::string_view(text) == "full";
}

bool IsWanted(const Way& way) {
  const char* const wanted = std::getenv("RETRYQ_REFUSALS_WAY");  // NOLINT(concurrency-mt-unsafe)
  return wanted == nullptr || NameOf(way) == wanted;
}

struct Row {
  Request request;
  Beginning beginning = Beginning::kLater;
};

std::string NameOf(const Row& row) {
  return absl::StrCat(NameOf(row.request), row.beginning == Beginning::kAtStart ? "_at_start" : "");
}
void PrintTo(const Row& row, std::ostream* out) { *out << NameOf(row); }

std::string Seconds(absl::Duration time) {
  return time == absl::InfiniteDuration()
             ? "never"
             : absl::StrCat(absl::ToDoubleSeconds(absl::Ceil(time, absl::Milliseconds(100))), " s");
}

class Refusals : public ::testing::TestWithParam<Row> {};

TEST_P(Refusals, CauseFewAttemptsAndEndInTime) {
  const auto [request, beginning] = GetParam();
  int turn = 0;
  for (const Way& way : AllWays()) {
    if (!Applies(request, way) || !IsWanted(way)) continue;
    SCOPED_TRACE(NameOf(way));
    // Each reply code has one of the three trials, in turn.
    const bool all = IsFull() || way.code == 0;
    const int third = turn++ % 3;
    if (all || third == 0) {
      const Figures figures = TryTo(request, way, beginning, IsFull() ? 3 : 1);
      EXPECT_TRUE(figures.failure.ok() || beginning == Beginning::kAtStart) << figures.failure;
      EXPECT_LE(figures.attempts, MostAttempts(request));
      EXPECT_LE(figures.lines, kMostLines);
      if (figures.failure.ok()) {
        EXPECT_LE(figures.recovery, kLongestRecovery);
        EXPECT_GE(figures.other_acks, LeastOther(request, way).acks);
        EXPECT_GE(figures.other_publishes, LeastOther(request, way).publishes);
        EXPECT_LE(figures.stop, kLongestStop);
      }
      if (IsFull()) {
        std::printf("| %s | %s | %d | %d | %s | %s | %d | %d |", NameOf(GetParam()).c_str(),
                    NameOf(way).c_str(), figures.attempts, figures.lines,
                    Seconds(figures.stop).c_str(),
                    figures.failure.ok() ? Seconds(figures.recovery).c_str() : "ends",
                    figures.other_acks, figures.other_publishes);
      }
    }
    absl::Duration longest;
    if (all || third == 1) longest = TimeOfStop(request, way, beginning, absl::Milliseconds(50));
    if (all || third == 2) {
      longest = std::max(longest, TimeOfStop(request, way, beginning, absl::Seconds(40)));
    }
    EXPECT_LE(longest, kLongestStop);
    if (IsFull()) std::printf(" %s |\n", Seconds(longest).c_str());
  }
}

INSTANTIATE_TEST_SUITE_P(
    , Refusals,
    ::testing::Values(Row{Request::kOpen}, Row{Request::kOpen, Beginning::kAtStart},
                      Row{Request::kChannel}, Row{Request::kConfirm},
                      Row{Request::kLook, Beginning::kAtStart}, Row{Request::kDeclare},
                      Row{Request::kExchange}, Row{Request::kBind}, Row{Request::kQos},
                      Row{Request::kConsume}, Row{Request::kConsume, Beginning::kAtStart},
                      Row{Request::kCopy}, Row{Request::kPublish}, Row{Request::kAck},
                      Row{Request::kCancel}, Row{Request::kClose}),
    [](const auto& row) { return NameOf(row.param); });

}  // namespace retryq::refusals::refusals_test
