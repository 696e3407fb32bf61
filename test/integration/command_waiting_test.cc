// `retryq waiting`: listing, releasing, parking and dropping messages that wait in delay queues.

#include <nlohmann/json.hpp>
#include <thread>

#include "integration/terminal_run.h"
#include "integration/waiting_run.h"
#include "support/test.h"

namespace retryq::testing::command_waiting_test {

class CommandWaiting : public WaitingTest {
 protected:
  std::vector<std::string> Listed(const Arguments& flags = {}) {
    Arguments all = {"--json"};
    all.insert(all.end(), flags.begin(), flags.end());
    return IdsIn(Waiting("list", all));
  }

  // `retryq work` whose messages wait for ten minutes in queues of this kind.
  CommandRun Worker(const std::string& script) {
    Arguments arguments = {"work", "--json", "--queue", "orders", "--base", "10m", "--max", "10m"};
    if (!IsClassic()) {
      arguments.insert(arguments.end(), {"--queue-type", "quorum", "--outage", "10m"});
    }
    if (GetParam() == std::string("shared")) arguments.emplace_back("--share-delay-queues");
    arguments.insert(arguments.end(), {"--", "sh", "-c", script});
    return CommandRun(arguments, vhost_.Url());
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, CommandWaiting, ::testing::Values("classic", "quorum", "shared"),
                         QueueTypeName);

TEST_P(CommandWaiting, ListsAMessageDelayedByAWorkerAndReleasesItAsARetry) {
  Publish("an order");
  CommandRun work = Worker("echo \"$RETRYQ_ATTEMPT $RETRYQ_LAST_ERROR\" >>" + File("calls") +
                           "; test -e " + File("fixed") + " || { echo no paper >&2; exit 1; }");
  ASSERT_TRUE(work.Says("retried")) << work.Story();
  const auto lines = JsonLines(Waiting("list", {"--json"}).out);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].at("attempt"), 1);
  EXPECT_EQ(lines[0].at("error"), "exit 1: no paper");
  EXPECT_EQ(lines[0].at("delay_ms"), 600000);
  EXPECT_THAT(std::string(lines[0].at("delay_queue")), HasSubstr("retry.600000"));
  EXPECT_EQ(lines[0].at("queue"), "orders");
  EXPECT_EQ(lines[0].at("bytes"), 8);
  absl::Time due;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, std::string(lines[0].at("due")), &due, nullptr));
  EXPECT_GT(due, absl::Now() + absl::Minutes(8));
  EXPECT_LT(due, absl::Now() + absl::Minutes(10));

  files_.Write("fixed", "");
  const End end = Waiting("release");
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out,
              HasSubstr("released 1 of 1 messages that wait for orders\n  1 from retry.6"));
  ASSERT_TRUE(work.Says("acked")) << work.Story();
  EXPECT_EQ(work.events("acked")[0].at("attempt"), 1);
  EXPECT_EQ(work.events("acked")[0].at("id"), work.events("retried")[0].at("id"));
  EXPECT_EQ(files_.Read("calls"), "0 \n1 exit 1: no paper\n");
  for (const nlohmann::json& event : work.events()) {
    EXPECT_NE(event.at("event"), "overridden") << event;
    EXPECT_NE(event.at("event"), "forwarded") << event;
    EXPECT_NE(event.at("event"), "lease_broken") << event;
  }
  EXPECT_EQ(Listed().size(), 0U);
  ASSERT_TRUE(work.Stop());
}

TEST_P(CommandWaiting, ListsMessagesOfAllDelayQueuesByDueTime) {
  DeclareDelayQueue();
  DeclareDelayQueue(absl::Minutes(5));
  Wait("late");
  Wait("soon", {.error = "out of\tpaper", .attempts = 7, .ttl = absl::Minutes(5)});
  const End table = Waiting("list");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("due (UTC)       attempt  delay  id"), HasSubstr("out of\\u{9}paper"),
                    HasSubstr("  7        5m     soon  out of"),
                    HasSubstr("\n2 of 2 messages that wait for orders, in 2 delay queues"
                              "\n")));
  EXPECT_THAT(Listed(), ElementsAre("soon", "late"));
  EXPECT_EQ(JsonLines(Waiting("list", {"--json", "--column", "x-retry-count"}).out)
                .at(0)
                .at("columns")
                .at("x-retry-count"),
            "7");
  EXPECT_TRUE(Holds(DelayQueue(), 1));
  EXPECT_TRUE(Holds(DelayQueue(absl::Minutes(5)), 1));
}

// Which may be in a queue of longer delays.
TEST_P(CommandWaiting, ListsTheNextDueMessagesFirst) {
  DeclareDelayQueue();
  DeclareDelayQueue(absl::Seconds(500));
  amqp::Table next = PastOf("next", {});
  next.Set("x-retry-not-before", absl::ToUnixMillis(absl::Now() + absl::Seconds(100)));
  Wait("next", {}, next);
  for (const char* id : {"b", "c"}) Wait(id, {.ttl = absl::Seconds(500)});
  EXPECT_THAT(Waiting("list", {"--limit", "1"}).out, HasSubstr("1 of 3 messages"));
  EXPECT_THAT(Waiting("list", {"--limit", "2", "--json"}).out, HasSubstr("\"id\":\"next\""));
}

TEST_P(CommandWaiting, CountsByErrorAttemptAndDueTime) {
  DeclareDelayQueue();
  DeclareDelayQueue(absl::Seconds(50));
  Wait("a", {.error = "timeout", .attempts = 1});
  Wait("b", {.error = "timeout", .attempts = 2});
  Wait("c", {.error = "paper", .attempts = 2, .ttl = absl::Seconds(50)});
  EXPECT_THAT(Waiting("list", {"--by", "error"}).out,
              HasSubstr("   count  error\n       2  timeout\n       1  paper\n\n3 of 3"));
  EXPECT_THAT(Waiting("list", {"--by", "attempt"}).out,
              HasSubstr("   count  attempt\n       2  2\n       1  1\n"));
  EXPECT_EQ(Waiting("list", {"--by", "due", "--json"}).out,
            "{\"count\":2,\"due\":\"within 10m\"}\n{\"count\":1,\"due\":\"within 1m\"}\n");
}

// A message that is requeued in the wrong place comes due only with the messages before it. A
// message that comes due while it is read waits until reading ends.
TEST_P(CommandWaiting, ListingDoesNotChangeWhenMessagesAreDue) {
  constexpr absl::Duration kDelay = absl::Seconds(6);
  constexpr std::size_t kMessages = 5;
  DeclareDelayQueue(kDelay);
  std::vector<std::pair<std::string, absl::Time>> arrived;
  std::thread taker([this, &arrived] {
    Peer peer(vhost_.Url());
    const absl::Time end = absl::Now() + absl::Minutes(2);
    while (arrived.size() < kMessages && absl::Now() < end) {
      const amqp::MessagePtr message = peer.Get("orders");
      if (message != nullptr) {
        arrived.emplace_back(message->body, absl::Now());
      } else {
        absl::SleepFor(absl::Milliseconds(10));
      }
    }
  });
  std::vector<absl::Time> due;
  const auto not_due = [&due] {
    return static_cast<std::size_t>(
        std::count_if(due.begin(), due.end(), [](absl::Time at) { return at > absl::Now(); }));
  };
  std::vector<std::pair<absl::Time, absl::Time>> looks;  // from when to when
  const auto look = [&looks](const std::function<void()>& at_something) {
    const absl::Time begin = absl::Now();
    at_something();
    looks.emplace_back(begin, absl::Now());
  };
  for (std::size_t i = 0; i < kMessages; ++i) {
    Wait(absl::StrCat("m-", i), {.ttl = kDelay});
    due.push_back(absl::Now() + kDelay);
    const absl::Time next = absl::Now() + absl::Milliseconds(900);
    look([&] {
      const std::size_t listed = Listed().size();
      EXPECT_LE(listed, i + 1);
      EXPECT_GE(listed, not_due());
    });
    look([&] {
      const std::optional<int> shown = Waiting("show", {"--id", "m-0"}).code;
      if (absl::Now() < due[0]) {
        EXPECT_EQ(shown, 0);
      }
    });
    look([&] {
      const std::size_t listed = Listed({"--limit", "1"}).size();
      EXPECT_LE(listed, 1U);
      EXPECT_GE(listed, std::min<std::size_t>(not_due(), 1));
    });
    CommandRun::WaitUntil([&] { return absl::Now() >= next; }, absl::Seconds(5));
  }
  taker.join();
  ASSERT_EQ(arrived.size(), kMessages);
  for (std::size_t i = 0; i < kMessages; ++i) {
    const auto& [id, at] = arrived[i];
    EXPECT_EQ(id, absl::StrCat("m-", i));
    EXPECT_GT(at, due[i] - absl::Milliseconds(300)) << id;
    absl::Time free = due[i];
    for (const auto& [begin, end] : looks) {
      if (begin <= due[i] && due[i] <= end) free = end;
    }
    EXPECT_LT(at, free + absl::Milliseconds(700)) << id;
  }
}

// F3 and F4: also for quorum queues, whose lease nothing else renews.
TEST_P(CommandWaiting, ListingRenewsTheLease) {
  constexpr absl::Duration kLease = absl::Seconds(8);
  DeclareDelayQueue(kLong, kLease);
  Wait("m-1");
  const absl::Time declared = absl::Now();
  CommandRun::WaitUntil([&] { return absl::Now() > declared + absl::Seconds(5); }, kLease);
  EXPECT_THAT(Waiting("list").out, HasSubstr("1 of 1"));
  const absl::Time looked = absl::Now();
  const auto is_gone = [this] { return !vhost_.HasQueue(DelayQueue()); };
  EXPECT_FALSE(CommandRun::WaitUntil(is_gone, kLease - absl::Milliseconds(500)))
      << "after " << absl::Now() - looked;
  EXPECT_TRUE(CommandRun::WaitUntil(is_gone, absl::Seconds(30)));
}

TEST_P(CommandWaiting, ReleasesAnUnchangedCopyWithoutItsDelayHeaders) {
  DeclareDelayQueue();
  amqp::Table headers = PastOf("m-1", {.error = "no paper"});
  const amqp::Table own = {
      {"text", "t"}, {"byte", std::int8_t{-3}}, {"table", amqp::Table{{"a", amqp::Array{1, "b"}}}}};
  for (const auto& [name, value] : own.fields()) headers.Set(name, value);
  headers.Set("x-retry-remaining", std::int64_t{5000});
  Wait("body", {}, headers);
  ASSERT_EQ(Waiting("release").code, 0);
  const amqp::MessagePtr message = peer_.Get("orders");
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->body, "body");
  EXPECT_EQ(message->exchange, "");
  EXPECT_EQ(message->properties.delivery_mode, 2);
  const amqp::Table arrived = message->properties.headers->Decode().value();
  for (const auto& [name, value] : headers.fields()) {
    const bool is_delay =
        name == "x-retry-delay" || name == "x-retry-not-before" || name == "x-retry-remaining";
    if (is_delay) {
      EXPECT_EQ(arrived.Find(name), nullptr) << name;
    } else {
      ASSERT_NE(arrived.Find(name), nullptr) << name;
      EXPECT_EQ(*arrived.Find(name), value) << name;
    }
  }
}

TEST_P(CommandWaiting, IgnoresMessagesOfOtherQueues) {
  if (!IsShared()) GTEST_SKIP() << "each work queue has its own";
  peer_.DeclareQueue("invoices");
  DeclareDelayQueue();
  for (int i = 0; i < 3; ++i) {
    Wait(absl::StrCat("order-", i));
    Wait(absl::StrCat("invoice-", i), {.queue = "invoices"});
  }
  // Anyone can set this header: the message returns to the other queue.
  Wait("forged", {.queue = "invoices"}, PastOf("forged", {}));
  EXPECT_THAT(Listed(), ElementsAre("order-0", "order-1", "order-2"));
  EXPECT_EQ(Waiting("release", {"--id", "order-0"}).code, 0);
  EXPECT_EQ(Waiting("park", {"--id", "order-1"}).code, 0);
  EXPECT_EQ(Waiting("drop").code, 0);
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"order-0", 1}}));
  EXPECT_EQ(TakeAll("orders.parked"), (std::map<std::string, int>{{"order-1", 1}}));
  EXPECT_EQ(peer_.Count("invoices"), 0U);
  EXPECT_EQ(TakeAll(DelayQueue()),
            (std::map<std::string, int>{
                {"invoice-0", 1}, {"invoice-1", 1}, {"invoice-2", 1}, {"forged", 1}}));
}

TEST_P(CommandWaiting, ParksMessagesOfADeletedWorkQueue) {
  DeclareDelayQueue();
  WaitMany(3);
  peer_.Delete("orders");
  const End end = Waiting("release");
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, HasSubstr("there is no queue 'orders'"));
  EXPECT_EQ(Waiting("park").code, 0);
  EXPECT_TRUE(AllAreThere({"orders.parked", DelayQueue()}, 3, 0));
}

TEST_P(CommandWaiting, ParksAsAWorkerDoes) {
  DeclareDelayQueue();
  Wait("m-1", {.error = "no paper", .attempts = 4});
  const End end = Waiting("park");
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr("parked 1 of 1 messages that wait for orders\n"));
  EXPECT_EQ(vhost_.Queue("orders.parked")->at("type"), IsClassic() ? "classic" : "quorum");
  const auto listed = JsonLines(RunToEnd({"parked", "list", "--queue", "orders", "--json"}).out);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].at("id"), "m-1");
  EXPECT_EQ(listed[0].at("attempt"), 4);
  EXPECT_EQ(listed[0].at("error"), "no paper");
  EXPECT_TRUE(listed[0].contains("parked"));
  EXPECT_EQ(RunToEnd({"parked", "replay", "--queue", "orders", "--all"}).code, 0);
  const amqp::MessagePtr replayed = peer_.Get("orders");
  ASSERT_NE(replayed, nullptr);
  EXPECT_FALSE(replayed->properties.headers->Find("x-retry-count"));
  EXPECT_EQ(replayed->properties.headers->FindString("x-retry-id"), "m-1");
}

TEST_P(CommandWaiting, AsksBeforeItReleasesOrDrops) {
  DeclareDelayQueue();
  WaitMany(3);
  const std::vector<std::string> environment = {"RETRYQ_URL=" + vhost_.Url(),
                                                "RETRYQ_MANAGEMENT_URL=" + ManagementUrl()};
  TerminalRun no({RETRYQ_COMMAND, "waiting", "release", "--queue", "orders"}, environment);
  ASSERT_TRUE(no.Shows("Release 3 of the 3 messages that wait for orders? [y/N] "));
  no.Press("n\n");
  EXPECT_EQ(no.Wait(), 0);
  EXPECT_TRUE(Holds(DelayQueue(), 3));
  TerminalRun yes(
      {RETRYQ_COMMAND, "waiting", "drop", "--queue", "orders", "--id", "m-1", "--no-backup"},
      environment);
  ASSERT_TRUE(yes.Shows("Drop 1 of the 3 messages that wait for orders for good? [y/N] "));
  yes.Press("y\n");
  EXPECT_EQ(yes.Wait(), 0);
  EXPECT_TRUE(Holds(DelayQueue(), 2));
  EXPECT_EQ(peer_.Count("orders"), 0U);
}

// Before 4.3 a quorum queue counts reads; a message that exceeds the limit goes to the work queue
// early.
TEST_P(CommandWaiting, RepeatedListingLosesNothing) {
  DeclareDelayQueue();
  WaitMany(5);
  for (int i = 0; i < 25; ++i) ASSERT_EQ(Waiting("list").code, 0);
  EXPECT_TRUE(CommandRun::WaitUntil(
      [this] { return peer_.Count("orders") + peer_.Count(DelayQueue()) == 5; },
      absl::Seconds(20)));
  EXPECT_TRUE(AllAreThere({"orders", DelayQueue()}, 5, 0));
}

TEST_P(CommandWaiting, NamesTheMissingPermission) {
  DeclareDelayQueue();
  Wait("m-1");
  const std::string user = vhost_.AddUser(TestVhost::Rights{"^$", "^$", "^$"});
  const Arguments management = {"--management", ManagementUrl()};
  const End list = RunToEnd(WaitingArguments("list", management), vhost_.UrlAs(user, user));
  EXPECT_EQ(list.code, 77) << list.err;
  EXPECT_EQ(list.out, "");
  EXPECT_THAT(list.err, AllOf(HasSubstr("retryq waiting: "), ContainsRegex("remedy: .*read"),
                              HasSubstr(DelayQueue())));
  vhost_.SetRights(user, {"^$", "^$", ".*"});
  const End release = RunToEnd(WaitingArguments("release", management), vhost_.UrlAs(user, user));
  EXPECT_EQ(release.code, 77) << release.err;
  EXPECT_THAT(release.err,
              AllOf(HasSubstr("the right to write"), HasSubstr("1 stay in " + DelayQueue())));
  const End park = RunToEnd(WaitingArguments("park", management), vhost_.UrlAs(user, user));
  EXPECT_EQ(park.code, 77) << park.err;
  EXPECT_THAT(park.err, HasSubstr("configure 'orders.parked'"));
  EXPECT_TRUE(Holds(DelayQueue(), 1));
}

}  // namespace retryq::testing::command_waiting_test
