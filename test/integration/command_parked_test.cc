// `retryq parked`: looking at what is parked, replaying and dropping it.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "integration/parked_run.h"

namespace retryq::testing {
namespace command_parked_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class CommandParked : public ParkedQueueTest {
 protected:
  std::vector<std::string> Listed(const Arguments& flags = {}) {
    Arguments all = {"--json"};
    all.insert(all.end(), flags.begin(), flags.end());
    return IdsIn(Parked("list", all));
  }
};

INSTANTIATE_TEST_SUITE_P(Types, CommandParked, ::testing::Values("classic", "quorum"),
                         QueueTypeName);

TEST_P(CommandParked, ListsWhatRetryqHasParked) {
  Publish("an order");
  CommandRun work = Work({"--max-attempts", "2"}, "echo out of paper >&2; exit 1");
  ASSERT_TRUE(work.Says("parked")) << work.Story();
  ASSERT_TRUE(work.Stop());
  const End table = Parked("list");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, AllOf(HasSubstr("parked                first failed"),
                               HasSubstr("       2  orders "), HasSubstr("exit 1: out of paper"),
                               HasSubstr("1 of 1 messages in orders.parked")));
  const auto lines = JsonLines(Parked("list", {"--json"}).out);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].at("attempts"), 2);
  EXPECT_EQ(lines[0].at("queue"), "orders");
  EXPECT_EQ(lines[0].at("exchange"), "");
  EXPECT_EQ(lines[0].at("routing_key"), "orders");
  EXPECT_EQ(lines[0].at("bytes"), 8);
  absl::Time first_failure;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full, std::string(lines[0].at("first_failure")),
                              &first_failure, nullptr));
  EXPECT_LT(absl::Now() - first_failure, absl::Minutes(5));
  absl::Time parked;
  ASSERT_TRUE(
      absl::ParseTime(absl::RFC3339_full, std::string(lines[0].at("parked")), &parked, nullptr));
  EXPECT_GT(parked, first_failure);  // a retry lies between
  EXPECT_LT(parked, absl::Now());
  EXPECT_TRUE(Holds("orders.parked", 1));
}

TEST_P(CommandParked, ListsThoseThatAreMeant) {
  amqp::Table vip = PastOf("b", "UNAVAILABLE: Timeout of the printer", absl::Hours(3));
  vip.Set("customer", "7");
  vip.Set("vip", true);
  Park("1", PastOf("a", "INTERNAL: paper", absl::Hours(30)));
  Park("2", vip);
  Park("3", PastOf("c", "timeout", absl::Minutes(1)));
  EXPECT_THAT(Listed({"--limit", "2"}), ElementsAre("a", "b"));
  // A look may put messages of a quorum queue behind the others.
  EXPECT_THAT(Listed({}), UnorderedElementsAre("a", "b", "c"));
  EXPECT_THAT(Listed({"--error", "TIMEOUT"}), UnorderedElementsAre("b", "c"));
  EXPECT_THAT(Listed({"--older-than", "2h"}), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(Listed({"--newer-than", "1d"}), UnorderedElementsAre("b", "c"));
  EXPECT_THAT(Listed({"--header", "customer=7"}), ElementsAre("b"));
  EXPECT_THAT(Listed({"--header", "vip=true", "--header", "x-retry-count=8"}), ElementsAre("b"));
  EXPECT_THAT(Listed({"--id", "c", "--id", "a"}), UnorderedElementsAre("a", "c"));
  EXPECT_THAT(Listed({"--error", "nothing of the kind"}), ElementsAre());
  EXPECT_TRUE(Holds("orders.parked", 3));
}

// A new quorum queue, whose delivery limit is not known yet, has its messages moved.
TEST_P(CommandParked, LeavesAllReady) {
  ParkMany(3);
  for (int i = 0; i < 15; ++i) {
    SCOPED_TRACE(i);
    EXPECT_THAT(Listed(), UnorderedElementsAre("m-0", "m-1", "m-2"));
    EXPECT_EQ(peer_.Count("orders.parked"), 3U);
  }
}

TEST_P(CommandParked, CountsByError) {
  Park("1", PastOf("a", "timeout"));
  Park("2", PastOf("b", "out of\tpaper"));
  Park("3", PastOf("c", "timeout"));
  peer_.Publish("", "orders.parked", "theirs");
  EXPECT_EQ(Parked("list", {"--by", "error"}).out,
            "   count  error\n       2  timeout\n       1  -\n       1  out of\\u{9}paper\n\n"
            "4 of 4 messages in orders.parked\n");
  EXPECT_EQ(Parked("list", {"--by", "error", "--json", "--error", "time"}).out,
            "{\"count\":2,\"error\":\"timeout\"}\n");
  EXPECT_EQ(JsonLines(Parked("list", {"--by", "error", "--json"}).out).size(), 3U);
  EXPECT_TRUE(Holds("orders.parked", 4));
}

TEST_P(CommandParked, ShowsMoreColumns) {
  amqp::Table headers = PastOf("a", "no");
  headers.Set("customer", std::int32_t{7});
  Park("1", headers, {.correlation_id = "c-1"});
  const Arguments columns = {"--column", "correlation-id", "--column", "customer", "--column", "x"};
  const End table = Parked("list", columns);
  EXPECT_THAT(table.out,
              HasSubstr("correlation-id        customer              x                     "
                        "error\n"));
  EXPECT_THAT(table.out,
              HasSubstr("c-1                   7                     -                     "
                        "no\n"));
  Arguments json = columns;
  json.emplace_back("--json");
  const nlohmann::json expected = {{"correlation-id", "c-1"}, {"customer", "7"}};
  EXPECT_EQ(JsonLines(Parked("list", json).out).at(0).at("columns"), expected);
}

TEST_P(CommandParked, LooksIntoAParkedQueueOfAnotherName) {
  peer_.DeclareQueue("given-up", {{"x-queue-type", GetParam()}});
  const std::string headers = PastOf("a", "no").Encode().value();
  peer_.Publish("", "given-up", "1", {.headers = amqp::TableView(headers)});
  EXPECT_THAT(Parked("list", {"--parked", "given-up"}).out,
              HasSubstr("1 of 1 messages in given-up"));
  EXPECT_EQ(Parked("replay", {"--parked", "given-up"}).code, 0);
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"1", 1}}));
}

TEST_P(CommandParked, ListsEachOfManyOnce) {
  constexpr int kCount = 5000;  // more than one consumer gets
  ParkMany(kCount);
  const std::vector<std::string> ids = Listed({});
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(kCount));
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), static_cast<std::size_t>(kCount));
  EXPECT_TRUE(Holds("orders.parked", kCount));
}

TEST_P(CommandParked, ShowsOneWhole) {
  amqp::Table headers = PastOf("m-2", "UNAVAILABLE: no answer");
  headers.Set("customer", std::int32_t{7});
  Park("first", PastOf("m-1", "other"));
  Park(R"({"order":2,"price":1.10})", headers,
       {.content_type = "application/json", .message_id = "m-2"});
  const End end = Parked("show", {"--id", "m-2"});
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out,
              AllOf(HasSubstr("attempts          8\n"),
                    HasSubstr("error             UNAVAILABLE: no answer\n"),
                    HasSubstr("failed in         queue orders\n"),
                    HasSubstr("content-type      application/json\n"),
                    HasSubstr("headers           {\"customer\":7}\n"),
                    HasSubstr("24 bytes, JSON\n\n{\n  \"order\": 2,\n  \"price\": 1.10\n}\n")));
  EXPECT_THAT(Parked("show", {"--id", "m-2", "--body", "hex"}).out,
              HasSubstr("00000000  7b 22 6f 72"));
  const nlohmann::json json = nlohmann::json::parse(Parked("show", {"--id", "m-2", "--json"}).out);
  EXPECT_EQ(json.at("body"), R"({"order":2,"price":1.10})");
  EXPECT_EQ(json.at("headers").at("customer"), 7);
  EXPECT_EQ(json.at("properties").at("message-id"), "m-2");
  EXPECT_EQ(Parked("show", {"--body", "raw"}).out, "first");
  EXPECT_TRUE(Holds("orders.parked", 2));
}

TEST_P(CommandParked, ShowsAnyBodyToTheByte) {
  std::string body;
  for (int i = 0; i < 300'000; ++i) body.push_back(static_cast<char>(i * 7));
  Park(body, PastOf("m-1", "no"));
  EXPECT_EQ(Parked("show", {"--body", "raw"}).out, body);
}

TEST_P(CommandParked, SaysWhereNothingIsMeant) {
  Park("first", PastOf("m-1", "other"));
  const End end = Parked("show", {"--id", "m-2"});
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, HasSubstr("none of the 1 messages in orders.parked"));
}

TEST_P(CommandParked, ShowsNothingThatCouldHarmATerminal) {
  Park("\x1b[2J", PastOf("id\r\n", "a\x1b]0;title\x07 \xff \xe2\x80\xae"));
  const End list = Parked("list");
  EXPECT_THAT(list.out, AllOf(HasSubstr(R"(a\u{1B}]0;title\u{7} \xFF \u{202E})"),
                              HasSubstr(R"(id\u{D}\u{A})"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(Parked("show", {"--body", "text"}).out,
              AllOf(HasSubstr(R"(\u{1B}[2J)"), Not(HasSubstr("\x1b"))));
  EXPECT_EQ(JsonLines(Parked("list", {"--json"}).out).size(), 1U);
}

TEST_P(CommandParked, ListsWhatAnotherSystemHasParked) {
  Park("theirs", {{"x-retry-count", "many"},
                  {"x-retry-queue", std::int64_t{1}},
                  {"x-retry-first-failure", std::int64_t{-5}},
                  {"x-retry-error", amqp::Table{{"code", 1}}}});
  peer_.Publish("", "orders.parked", "bare");
  const End end = Parked("list");
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out,
              AllOf(HasSubstr("-                            -  -"), HasSubstr("2 of 2 messages")));
  EXPECT_THAT(Parked("show").out, HasSubstr("6 bytes, text\n\ntheirs\n"));
}

TEST_P(CommandParked, ReplaysToTheQueueThatFailedAsItWas) {
  amqp::Table headers = PastOf("m-1", "no");
  const amqp::Table own = {{"text", "t"},
                           {"byte", std::int8_t{-3}},
                           {"unsigned", std::uint16_t{7}},
                           {"real", 2.5},
                           {"yes", true},
                           {"time", amqp::Timestamp{1700000000}},
                           {"table", amqp::Table{{"a", amqp::Array{1, "b"}}}}};
  for (const auto& [name, value] : own.fields()) headers.Set(name, value);
  headers.Set("x-first-death-queue", "elsewhere");
  headers.Set("x-delivery-count", std::int64_t{3});
  Park(std::string("b\0dy", 4), headers,
       {.content_type = "text/x", .priority = 3, .correlation_id = "c", .type = "t"});
  const End end = Parked("replay");
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, "replayed 1 of 1 messages in orders.parked\n  1 to queue orders\n");
  const amqp::MessagePtr message = peer_.Get("orders");
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->body, std::string_view("b\0dy", 4));
  EXPECT_EQ(message->properties.content_type, "text/x");
  EXPECT_EQ(message->properties.priority, 3);
  EXPECT_EQ(message->properties.correlation_id, "c");
  EXPECT_EQ(message->properties.type, "t");
  EXPECT_EQ(message->properties.delivery_mode, 2);
  EXPECT_EQ(message->exchange, "");
  const amqp::Table arrived = message->properties.headers->Decode().value();
  EXPECT_EQ(arrived.fields().size(), own.fields().size() + 1);
  for (const auto& [name, value] : own.fields()) {
    ASSERT_NE(arrived.Find(name), nullptr) << name;
    EXPECT_EQ(*arrived.Find(name), value) << name;
  }
  EXPECT_EQ(message->properties.headers->FindString("x-retry-id"), "m-1");
  EXPECT_TRUE(Holds("orders.parked", 0));
}

TEST_P(CommandParked, AWorkerBeginsAnewWithWhatWasReplayed) {
  Publish("an order");
  CommandRun work = Work({"--max-attempts", "1"}, "test -e " + File("mended"));
  ASSERT_TRUE(work.Says("parked")) << work.Story();
  files_.Write("mended", "");
  ASSERT_EQ(Parked("replay").code, 0);
  ASSERT_TRUE(work.Says("acked")) << work.Story();
  EXPECT_EQ(work.events("acked")[0].at("attempt"), 0);
  EXPECT_EQ(work.events("acked")[0].at("id"), work.events("parked")[0].at("id"));
  ASSERT_TRUE(work.Stop());
}

TEST_P(CommandParked, ReplaysThoseThatAreMeantAndNoOthers) {
  Park("1", PastOf("a", "paper"));
  Park("2", PastOf("b", "timeout"));
  Park("3", PastOf("c", "timeout"));
  const End dry = Parked("replay", {"--error", "timeout", "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.out,
              HasSubstr("would replay 2 of 3 messages in orders.parked\n  2 to queue orders"));
  EXPECT_EQ(peer_.Count("orders"), 0U);
  EXPECT_EQ(Parked("replay", {"--error", "timeout", "--limit", "1"}).code, 0);
  EXPECT_TRUE(Holds("orders", 1));
  EXPECT_EQ(Parked("replay", {"--error", "timeout"}).code, 0);
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"2", 1}, {"3", 1}}));
  EXPECT_EQ(TakeAll("orders.parked"), (std::map<std::string, int>{{"1", 1}}));
}

TEST_P(CommandParked, ReplaysElsewhere) {
  peer_.DeclareQueue("other");
  peer_.DeclareExchange("shop", "topic");
  peer_.Bind("other", "shop", "order.*");
  amqp::Table past = PastOf("a", "no");
  past.Set("x-retry-routing-key", "order.placed");
  Park("1", past);
  Park("2", past);
  Park("3", past);
  EXPECT_EQ(Parked("replay", {"--to-queue", "other", "--limit", "1"}).code, 0);
  EXPECT_EQ(
      Parked("replay", {"--to-exchange", "shop", "--trust-routing-keys", "--limit", "1"}).code, 0);
  EXPECT_EQ(
      Parked("replay", {"--to-exchange", "shop", "--routing-key", "order.lost", "--limit", "1"})
          .code,
      0);
  std::set<std::string> keys;
  while (const amqp::MessagePtr message = peer_.Get("other")) {
    keys.insert(std::string(message->routing_key));
  }
  EXPECT_THAT(keys, ElementsAre("order.lost", "order.placed", "other"));
  EXPECT_EQ(peer_.Count("orders"), 0U);
}

TEST_P(CommandParked, WhatNoQueueTakesStaysAndIsSaid) {
  ParkMany(300);
  peer_.Delete("orders");
  const End end = Parked("replay");
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, AllOf(HasSubstr("300 stay in orders.parked: queue orders is not there"),
                             HasSubstr("--to-queue")));
  EXPECT_EQ(end.out, "replayed 0 of 300 messages in orders.parked\n");
  EXPECT_TRUE(Holds("orders.parked", 300));
}

TEST_P(CommandParked, AMissingExchangeLosesNothing) {
  ParkMany(300);
  const End end = Parked("replay", {"--to-exchange", "nope", "--routing-key", "order"});
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, HasSubstr("no exchange 'nope'"));
  EXPECT_TRUE(Holds("orders.parked", 300));
}

TEST_P(CommandParked, WhatAFullQueueRefusesStaysAndIsSaid) {
  peer_.Delete("orders");
  peer_.DeclareQueue("orders", {{"x-max-length", 10}, {"x-overflow", "reject-publish"}});
  ParkMany(100);
  const End end = Parked("replay");
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, HasSubstr("stay in orders.parked: queue orders refuses them"));
  const std::map<std::string, int> there = TakeAll("orders");
  const std::map<std::string, int> parked = TakeAll("orders.parked");
  EXPECT_GE(there.size(), 10U);
  EXPECT_GT(parked.size(), 0U);
  EXPECT_EQ(there.size() + parked.size(), 100U);
  for (const auto& [body, count] : there)
    EXPECT_EQ(count + static_cast<int>(parked.count(body)), 1);
}

TEST_P(CommandParked, WhatDoesNotSayWhereItFailedStaysAndIsSaid) {
  peer_.Publish("", "orders.parked", "theirs");
  Park("ours", PastOf("a", "no"));
  const End end = Parked("replay");
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, AllOf(HasSubstr("1 stay in orders.parked: retryq did not park them"),
                             HasSubstr("--foreign")));
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"ours", 1}}));
  const End foreign = Parked("replay", {"--foreign"});
  EXPECT_EQ(foreign.code, 69);
  EXPECT_THAT(foreign.err, AllOf(HasSubstr("1 stay in orders.parked: they do not say which queue"),
                                 HasSubstr("--to-queue")));
  EXPECT_EQ(Parked("replay", {"--foreign", "--to-queue", "orders"}).code, 0);
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"theirs", 1}}));
}

TEST_P(CommandParked, WhatClaimsToHaveFailedInAnotherQueueStaysAndIsSaid) {
  peer_.DeclareQueue("vault");
  amqp::Table forged = PastOf("a", "no");
  forged.Set("x-retry-queue", "vault");
  forged.Set("x-retry-exchange", "");
  forged.Set("x-retry-routing-key", "vault");
  Park("forged", forged);
  Park("ours", PastOf("b", "no"));
  const End end = Parked("replay");
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, HasSubstr("1 stay in orders.parked: they claim to have failed in vault"));
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"ours", 1}}));
  EXPECT_EQ(peer_.Count("vault"), 0U);
  EXPECT_TRUE(Holds("orders.parked", 1));
}

TEST_P(CommandParked, WhatDoesNotFitIntoAFrameStaysAndIsSaid) {
  amqp::Table headers = PastOf("a", "no");
  headers.Set("large", std::string(9000, 'x'));
  Park("large", headers);
  Park("small", PastOf("b", "no"));
  CommandRun run(ParkedArguments("replay", {}), vhost_.Url("frame_max=8192"));
  EXPECT_EQ(run.Wait(), 69) << run.Story();
  EXPECT_THAT(run.err(), HasSubstr("1 stay in orders.parked: their headers do not fit"));
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"small", 1}}));
  EXPECT_EQ(Parked("replay").code, 0);
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"large", 1}}));
}

TEST_P(CommandParked, ReplaysNoFasterThanItIsTold) {
  ParkMany(11);
  const absl::Time before = absl::Now();
  ASSERT_EQ(Parked("replay", {"--rate", "20"}).code, 0);
  EXPECT_GE(absl::Now() - before, absl::Milliseconds(500 - 50));
  EXPECT_TRUE(Holds("orders", 11));
}

TEST_P(CommandParked, LeavesToTheNextRunWhatIsParkedMeanwhile) {
  peer_.Bind("orders.parked", "amq.direct", "again");
  Park("round and round", PastOf("a", "no"));
  const End end = Parked("replay", {"--to-exchange", "amq.direct", "--routing-key", "again"});
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_TRUE(Holds("orders.parked", 1));
}

TEST_P(CommandParked, DropsThoseThatAreMeant) {
  Park("1", PastOf("a", "paper"));
  Park("2", PastOf("b", "timeout"));
  const End asked = Parked("drop");
  EXPECT_EQ(asked.code, 64);
  EXPECT_THAT(asked.err, HasSubstr("--yes"));
  const End end = Parked("drop", {"--error", "paper", "--yes"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, "dropped 1 of 2 messages in orders.parked\n");
  EXPECT_EQ(TakeAll("orders.parked"), (std::map<std::string, int>{{"2", 1}}));
  EXPECT_EQ(peer_.Count("orders"), 0U);
}

// As when someone names a work queue for the parked one.
TEST_P(CommandParked, DropsAndReplaysNothingThatRetryqDidNotPark) {
  const amqp::Table retried = {{"x-retry-count", std::int64_t{1}}, {"x-retry-queue", "orders"}};
  for (int i = 0; i < 2; ++i) Publish("live");
  const std::string headers = retried.Encode().value();
  peer_.Publish("", "orders", "retried", {.headers = amqp::TableView(headers)});
  for (const char* const command : {"drop", "replay"}) {
    Arguments flags = {"--parked", "orders"};
    if (command == std::string("drop")) flags.emplace_back("--yes");
    const End end = Parked(command, flags);
    EXPECT_EQ(end.code, 69) << end.err;
    EXPECT_THAT(end.err, HasSubstr("3 stay in orders: retryq did not park them"));
    EXPECT_THAT(end.out, HasSubstr("0 of 3 messages in orders"));
    EXPECT_TRUE(Holds("orders", 3));
  }
  EXPECT_EQ(Parked("drop", {"--parked", "orders", "--yes", "--foreign"}).code, 0);
  EXPECT_TRUE(Holds("orders", 0));
}

// script(1) gives it a terminal.
TEST_P(CommandParked, AsksBeforeItReplaysEverything) {
  ParkMany(3);
  CommandRun blind({"parked", "replay", "--queue", "orders"}, vhost_.Url());
  EXPECT_EQ(blind.Wait(), 64) << blind.Story();
  EXPECT_THAT(blind.err(), HasSubstr("--all is missing"));
  const auto replay = [this](const std::string& answer) {
    const std::string command = RETRYQ_COMMAND " parked replay --queue orders";
    CommandRun run({"-qec", command, "/dev/null"}, vhost_.Url(), answer, "/usr/bin/script");
    EXPECT_EQ(run.Wait(), 0) << run.Story();
    return run.out();
  };
  EXPECT_THAT(replay("n\n"), AllOf(HasSubstr("Replay 3 of the 3 messages in orders.parked?"),
                                   HasSubstr("nothing was replayed")));
  EXPECT_TRUE(Holds("orders.parked", 3));
  CommandRun some({"parked", "replay", "--queue", "orders", "--limit", "1"}, vhost_.Url());
  EXPECT_EQ(some.Wait(), 0) << some.Story();
  EXPECT_THAT(replay("y\n"), HasSubstr("replayed 2 of 2 messages"));
  EXPECT_TRUE(Holds("orders", 3));
}

// script(1) gives it a terminal.
TEST_P(CommandParked, AsksBeforeItDrops) {
  ParkMany(3);
  const auto drop = [this](const std::string& answer) {
    const std::string command = RETRYQ_COMMAND " parked drop --queue orders --limit 2";
    CommandRun run({"-qec", command, "/dev/null"}, vhost_.Url(), answer, "/usr/bin/script");
    EXPECT_EQ(run.Wait(), 0) << run.Story();
    return run.out();
  };
  EXPECT_THAT(drop("n\n"), AllOf(HasSubstr("Drop 2 of the 3 messages in orders.parked"),
                                 HasSubstr("nothing was dropped")));
  EXPECT_TRUE(Holds("orders.parked", 3));
  EXPECT_THAT(drop("y\n"), HasSubstr("dropped 2 of 3 messages"));
  EXPECT_TRUE(Holds("orders.parked", 1));
}

// script(1) gives it a terminal.
TEST_P(CommandParked, DrawsABarWhileItIsAtWork) {
  ParkMany(40);
  const std::string command =
      RETRYQ_COMMAND " parked replay --queue orders --all --rate 20 --window 1";
  CommandRun run({"-qec", command, "/dev/null"}, vhost_.Url(), "", "/usr/bin/script");
  EXPECT_EQ(run.Wait(), 0) << run.Story();
  EXPECT_THAT(run.out(), AllOf(HasSubstr("[#"), HasSubstr(" of 40, "), HasSubstr("s left"),
                               HasSubstr("replayed 40 of 40 messages")));
}

class CommandParkedErrors : public ParkedTest {};

TEST_F(CommandParkedErrors, SaysWhichQueueIsNotThere) {
  const End end = Parked("list");
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, HasSubstr("there is no queue 'orders.parked'"));
}

TEST_F(CommandParkedErrors, SaysWhatIsRefused) {
  peer_.DeclareQueue("orders.parked");
  const std::string user = vhost_.AddUser(TestVhost::Rights{});
  CommandRun run(ParkedArguments("list", {}), vhost_.UrlAs(user, user));
  peer_.Publish("", "orders.parked", "x");
  EXPECT_EQ(run.Wait(), 77) << run.Story();
  EXPECT_THAT(run.err(), HasSubstr("orders.parked"));
  CommandRun wrong(ParkedArguments("list", {}), vhost_.UrlAs(user, "wrong-secret"));
  EXPECT_EQ(wrong.Wait(), 77) << wrong.Story();
  EXPECT_THAT(wrong.err(), Not(HasSubstr("wrong-secret")));
}

TEST_F(CommandParkedErrors, SaysThatNobodyAnswers) {
  CommandRun run(ParkedArguments("list", {}), "amqp://guest:guest@127.0.0.1:1/");
  EXPECT_EQ(run.Wait(), 69) << run.Story();
  EXPECT_THAT(run.err(), HasSubstr("127.0.0.1:1"));
}

class CommandParkedHeld : public ParkedTest {};

TEST_F(CommandParkedHeld, ReportsWhatAnotherConsumerHas) {
  peer_.DeclareQueue("orders.parked");
  ParkMany(3);
  CommandRun holder({"work", "--json", "--queue", "orders.parked", "--", "sleep", "1000"},
                    vhost_.Url());
  ASSERT_TRUE(holder.Says("delivered"));
  ASSERT_TRUE(Holds("orders.parked", 0));
  const End end = Parked("list");
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, ::testing::HasSubstr("with another consumer"));
}

}  // namespace command_parked_test
}  // namespace retryq::testing
