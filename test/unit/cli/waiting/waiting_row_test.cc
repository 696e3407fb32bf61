#include "cli/waiting/waiting_row.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/text/json_line.h"
#include "support/make_message.h"

namespace retryq::cli {
namespace waiting_row_test {

using retryq::testing::MakeMessage;

const absl::Time kNow = absl::FromUnixMillis(1'700'000'000'000);

amqp::MessagePtr DueAt(absl::Time due) {
  return MakeMessage({.body = "12345",
                      .headers = testing::Copied({{"x-retry-count", std::int64_t{2}},
                                                  {"x-retry-not-before", absl::ToUnixMillis(due)},
                                                  {"x-retry-error", "no\tpaper"},
                                                  {"x-retry-id", "5f0c"}})});
}

const WaitingQueue& Queue() {
  static const WaitingQueue queue{.name = "retry.1000", .ttl = absl::Seconds(1)};
  return queue;
}

TEST(WaitingRow, IsALineForPeople) {
  EXPECT_EQ(WaitingTableRow(*DueAt(kNow), Queue(), {}),
            "2023-11-14T22:13:20Z         2  retry.1000                "
            "5f0c                              no\\u{9}paper");
  EXPECT_EQ(WaitingTableHead({}).find("error"),
            WaitingTableRow(*MakeMessage(), Queue(), {}).size() - 1);
  EXPECT_EQ(WaitingTableHead({"type"}).find("type"), WaitingTableHead({}).find("error"));
}

TEST(WaitingRow, IsAnObjectForPrograms) {
  EXPECT_EQ(JsonLine(WaitingJsonRow(*DueAt(kNow), Queue(), {})),
            R"({"id":"5f0c","attempts":2,"error":"no\tpaper","queue":"orders","exchange":"",)"
            R"("routing_key":"orders","bytes":5,)"
            R"("attempt":2,"due":"2023-11-14T22:13:20.000Z","delay_ms":1000,)"
            R"("delay_queue":"retry.1000"})");
  EXPECT_EQ(JsonLine(WaitingJsonRow(*MakeMessage({.body = ""}), Queue(), {})),
            R"({"bytes":0,"delay_ms":1000,"delay_queue":"retry.1000"})");
}

TEST(WaitingRow, IsDueAtAboutATime) {
  EXPECT_EQ(DueText(*DueAt(kNow - absl::Milliseconds(1)), kNow), "overdue");
  EXPECT_EQ(DueText(*DueAt(kNow), kNow), "within 1m");
  EXPECT_EQ(DueText(*DueAt(kNow + absl::Minutes(10)), kNow), "within 10m");
  EXPECT_EQ(DueText(*DueAt(kNow + absl::Minutes(11)), kNow), "within 1h");
  EXPECT_EQ(DueText(*DueAt(kNow + absl::Hours(24)), kNow), "within 1d");
  EXPECT_EQ(DueText(*DueAt(kNow + absl::Hours(25)), kNow), "later");
  EXPECT_EQ(DueText(*MakeMessage(), kNow), "");
}

}  // namespace waiting_row_test
}  // namespace retryq::cli
