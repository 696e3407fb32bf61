#include "cli/worker/work_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace retryq::cli {
namespace work_metrics_test {

using ::testing::HasSubstr;

TEST(WorkMetrics, SaysThatItIsStoppingWhateverComesAfterwards) {
  WorkMetrics metrics;
  metrics.OnEvent({.kind = EventKind::kConsuming, .time = {}, .queue = "orders"});
  EXPECT_EQ(metrics.Trouble(), std::nullopt);
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_consuming{queue=\"orders\"} 1"));
  metrics.BeginStop("orders");
  metrics.OnEvent({.kind = EventKind::kConsuming, .time = {}, .queue = "orders"});
  EXPECT_EQ(metrics.Trouble(), "stopping");
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_consuming{queue=\"orders\"} 0"));
}

TEST(WorkMetrics, HaveTheLabelsOfTheirBroker) {
  WorkMetrics metrics({{"broker", "rabbit:5672"}, {"vhost", "shop \"1\""}});
  metrics.OnEvent({.kind = EventKind::kConsuming, .time = {}, .queue = "orders"});
  for (const char* line :
       {"retryq_consuming{queue=\"orders\",broker=\"rabbit:5672\",vhost=\"shop \\\"1\\\"\"} 1",
        "retryq_connected{broker=\"rabbit:5672\",vhost=\"shop \\\"1\\\"\"} 0"}) {
    EXPECT_THAT(metrics.Text(), HasSubstr(line));
  }
}

TEST(WorkMetrics, ShowWhyCopiesCannotReturnAndHowManyWait) {
  WorkMetrics metrics;
  metrics.OnReturns("orders", ReturnTrouble{.kind = ReturnTrouble::Kind::kFull, .undelivered = 3});
  EXPECT_THAT(metrics.Text(),
              HasSubstr("retryq_returns_blocked{queue=\"orders\",reason=\"full\"} 1"));
  EXPECT_THAT(metrics.Text(),
              HasSubstr("retryq_returns_blocked{queue=\"orders\",reason=\"gone\"} 0"));
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_undelivered_copies{queue=\"orders\"} 3"));
  metrics.OnReturns("orders", std::nullopt);
  EXPECT_THAT(metrics.Text(),
              HasSubstr("retryq_returns_blocked{queue=\"orders\",reason=\"full\"} 0"));
  EXPECT_THAT(metrics.Text(), HasSubstr("retryq_undelivered_copies{queue=\"orders\"} 0"));
}

}  // namespace work_metrics_test
}  // namespace retryq::cli
