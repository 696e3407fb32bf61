// `retryq parked`: listing, replaying and dropping parked messages.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "integration/parked_run.h"
#include "integration/terminal_run.h"
#include "support/test.h"

namespace retryq::testing::command_parked_test {

using ::testing::UnorderedElementsAreArray;

class CommandParked : public ParkedQueueTest {
 protected:
  std::vector<std::string> Listed(const Arguments& flags = {}) {
    Arguments all = {"--json"};
    all.insert(all.end(), flags.begin(), flags.end());
    return IdsIn(Parked("list", all));
  }

  std::vector<std::string> Environment() const {
    return {"RETRYQ_URL=" + vhost_.Url(), "RETRYQ_MANAGEMENT_URL=" + ManagementUrl()};
  }

  // The output of the command on a terminal after this answer to its question.
  std::string Answered(Arguments arguments, const std::string& question,
                       const std::string& answer) {
    arguments.insert(arguments.begin(), {RETRYQ_COMMAND, "parked"});
    arguments.insert(arguments.end(), {"--queue", "orders"});
    TerminalRun run(arguments, Environment());
    EXPECT_TRUE(run.Shows(question));
    run.Press(answer);
    EXPECT_EQ(run.Wait(), 0);
    return run.output();
  }
};

INSTANTIATE_TEST_SUITE_P(Types, CommandParked, ::testing::Values("classic", "quorum"),
                         QueueTypeName);

TEST_P(CommandParked, ListsMessagesThatRetryqParked) {
  Publish("an order");
  CommandRun work = Work({"--max-attempts", "2"}, "echo out of paper >&2; exit 1");
  ASSERT_TRUE(work.Says("parked")) << work.Story();
  ASSERT_TRUE(work.Stop());
  const End table = Parked("list");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("parked (UTC)    attempt  id"), HasSubstr("exit 1: out of "),
                    HasSubstr("1 of 1 messages in orders.parked")));
  const auto lines = JsonLines(Parked("list", {"--json"}).out);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].at("attempt"), 2);
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

TEST_P(CommandParked, ListsMatchingMessages) {
  amqp::Table vip = ParkedPast("b", "UNAVAILABLE: Timeout of the printer", absl::Hours(3));
  vip.Set("customer", "7");
  vip.Set("vip", true);
  Park("1", ParkedPast("a", "INTERNAL: paper", absl::Hours(30)));
  Park("2", vip);
  Park("3", ParkedPast("c", "timeout", absl::Minutes(1)));
  EXPECT_THAT(Listed({"--limit", "2"}), ElementsAre("a", "b"));
  // Reading may put messages of a quorum queue behind the others.
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

TEST_P(CommandParked, ShowsMoreColumns) {
  amqp::Table headers = ParkedPast("a", "no");
  headers.Set("customer", std::int32_t{7});
  Park("1", headers, {.correlation_id = "c-1"});
  const Arguments columns = {"--column", "correlation-id", "--column", "customer", "--column", "x"};
  const End table = Parked("list", columns);
  EXPECT_THAT(table.out, HasSubstr("  id  correlation-id  customer  x  error\n"));
  EXPECT_THAT(table.out, HasSubstr("  a   c-1             7         -  no\n"));
  Arguments json = columns;
  json.emplace_back("--json");
  const nlohmann::json expected = {{"correlation-id", "c-1"}, {"customer", "7"}};
  EXPECT_EQ(JsonLines(Parked("list", json).out).at(0).at("columns"), expected);
}

TEST_P(CommandParked, ShowsOneCompleteMessage) {
  amqp::Table headers = ParkedPast("m-2", "UNAVAILABLE: no answer");
  headers.Set("customer", std::int32_t{7});
  Park("first", ParkedPast("m-1", "other"));
  Park(R"({"order":2,"price":1.10})", headers,
       {.content_type = "application/json", .message_id = "m-2"});
  const End end = Parked("show", {"--id", "m-2"});
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out,
              AllOf(HasSubstr("attempt           8\n"),
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

TEST_P(CommandParked, ShowsEveryBodyByteForByte) {
  std::string body;
  for (int i = 0; i < 300'000; ++i) body.push_back(static_cast<char>(i * 7));
  Park(body, ParkedPast("m-1", "no"));
  EXPECT_EQ(Parked("show", {"--body", "raw"}).out, body);
}

TEST_P(CommandParked, ListsMessagesParkedByAnotherSystem) {
  Park("theirs", {{"x-retry-count", "many"},
                  {"x-retry-queue", std::int64_t{1}},
                  {"x-retry-first-failure", std::int64_t{-5}},
                  {"x-retry-error", amqp::Table{{"code", 1}}}});
  peer_.Publish("", "orders.parked", "bare");
  const End end = Parked("list");
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out,
              AllOf(HasSubstr("-             -        -   -\n"), HasSubstr("2 of 2 messages")));
  EXPECT_THAT(Parked("show").out, HasSubstr("6 bytes, text\n\ntheirs\n"));
}

TEST_P(CommandParked, AWorkerRestartsTheAttemptsOfReplayedMessages) {
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

TEST_P(CommandParked, ReplaysOnlyMatchingMessages) {
  Park("1", ParkedPast("a", "paper"));
  Park("2", ParkedPast("b", "timeout"));
  Park("3", ParkedPast("c", "timeout"));
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

// Several consumers read them, on channels of their own.
TEST_P(CommandParked, ReplaysTheMatchingOnesOfManyMessagesInTheirOrder) {
  constexpr int kCount = 3000;
  std::vector<std::string> matching;
  std::vector<std::string> others;
  for (int i = 0; i < kCount; ++i) {
    const std::string id = absl::StrCat("m-", i);
    const bool matches = i % 5 == 4;
    (matches ? matching : others).push_back(id);
    const std::string headers = ParkedPast(id, matches ? "timeout" : "paper").Encode().value();
    peer_.Send("", "orders.parked", id, {.headers = amqp::TableView(headers), .delivery_mode = 2});
  }
  peer_.AwaitConfirms();
  constexpr int kFirst = 250;  // reached while messages of a consumer are still to be processed
  const End first = Parked("replay", {"--error", "timeout", "--limit", absl::StrCat(kFirst)});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_TRUE(Holds("orders", kFirst));
  EXPECT_TRUE(Holds("orders.parked", kCount - kFirst));
  const End rest = Parked("replay", {"--error", "timeout"});
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_TRUE(Holds("orders.parked", static_cast<std::uint32_t>(others.size())));
  std::vector<std::string> replayed;
  while (const amqp::MessagePtr message = peer_.Get("orders")) {
    replayed.emplace_back(message->body);
  }
  if (std::string_view(GetParam()) == "classic") {
    EXPECT_EQ(replayed, matching);
    EXPECT_EQ(Listed(), others);
  } else {
    EXPECT_THAT(replayed, UnorderedElementsAreArray(matching));
    EXPECT_THAT(Listed(), UnorderedElementsAreArray(others));
  }
}

// All acks precede the cancel: the broker would drop those that it holds back for a quorum queue.
TEST_P(CommandParked, ReplaysTheMatchingOnesOfLargeMessages) {
  constexpr int kSmall = 300;
  constexpr int kLarge = 140;  // 70 MiB
  for (int i = 0; i < kSmall; ++i) Park("small", ParkedPast(absl::StrCat("s-", i), "paper"));
  const std::string large(std::size_t{1} << 19, 'x');
  for (int i = 0; i < kLarge; ++i) {
    Park(large, ParkedPast(absl::StrCat("l-", i), i % 2 == 0 ? "timeout" : "paper"));
  }
  const End end = Parked("replay", {"--error", "timeout"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_TRUE(Holds("orders", kLarge / 2));
  EXPECT_TRUE(Holds("orders.parked", kSmall + kLarge / 2));
}

TEST_P(CommandParked, ReplaysElsewhere) {
  peer_.DeclareQueue("other");
  peer_.DeclareExchange("shop", "topic");
  peer_.Bind("other", "shop", "order.*");
  amqp::Table past = ParkedPast("a", "no");
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

TEST_P(CommandParked, KeepsAndReportsUnroutableMessages) {
  ParkMany(300);
  peer_.Delete("orders");
  const End end = Parked("replay");
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, AllOf(HasSubstr("300 stay in orders.parked: queue orders does not exist"),
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

TEST_P(CommandParked, KeepsAndReportsMessagesThatAFullQueueRefuses) {
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

TEST_P(CommandParked, KeepsAndReportsMessagesWithoutTheirOriginalQueue) {
  peer_.Publish("", "orders.parked", "theirs");
  Park("ours", ParkedPast("a", "no"));
  const End end = Parked("replay");
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, AllOf(HasSubstr("1 stay in orders.parked: retryq did not park them"),
                             HasSubstr("--foreign")));
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"ours", 1}}));
  const End foreign = Parked("replay", {"--foreign"});
  EXPECT_EQ(foreign.code, 69);
  EXPECT_THAT(foreign.err, AllOf(HasSubstr("1 stay in orders.parked: they do not name the queue"),
                                 HasSubstr("--to-queue")));
  EXPECT_EQ(Parked("replay", {"--foreign", "--to-queue", "orders"}).code, 0);
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"theirs", 1}}));
}

TEST_P(CommandParked, KeepsAndReportsMessagesThatClaimAnotherQueue) {
  peer_.DeclareQueue("vault");
  amqp::Table forged = ParkedPast("a", "no");
  forged.Set("x-retry-queue", "vault");
  forged.Set("x-retry-exchange", "");
  forged.Set("x-retry-routing-key", "vault");
  Park("forged", forged);
  Park("ours", ParkedPast("b", "no"));
  const End end = Parked("replay");
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, HasSubstr("1 stay in orders.parked: their headers name vault"));
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"ours", 1}}));
  EXPECT_EQ(peer_.Count("vault"), 0U);
  EXPECT_TRUE(Holds("orders.parked", 1));
}

// The broker delivers it in a frame above frame_max, and would not accept it in one.
TEST_P(CommandParked, ReplaysHeadersThatAreLargerThanFrameMax) {
  amqp::Table headers = ParkedPast("a", "no");
  headers.Set("large", std::string(9000, 'x'));
  Park("large", headers);
  Park("small", ParkedPast("b", "no"));
  CommandRun run(ParkedArguments("replay", {}), vhost_.Url("frame_max=8192"));
  EXPECT_EQ(run.Wait(), 0) << run.Story();
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"large", 1}, {"small", 1}}));
}

TEST_P(CommandParked, LeavesMessagesParkedMeanwhileForTheNextRun) {
  peer_.Bind("orders.parked", "amq.direct", "again");
  Park("round and round", ParkedPast("a", "no"));
  const End end = Parked("replay", {"--to-exchange", "amq.direct", "--routing-key", "again"});
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_TRUE(Holds("orders.parked", 1));
}

// As if an operator names a work queue as the parked queue.
TEST_P(CommandParked, DropsAndReplaysNothingThatRetryqDidNotPark) {
  const amqp::Table retried = {{"x-retry-count", std::int64_t{1}}, {"x-retry-queue", "orders"}};
  for (int i = 0; i < 2; ++i) Publish("live");
  const std::string headers = retried.Encode().value();
  peer_.Publish("", "orders", "retried", {.headers = amqp::TableView(headers)});
  for (const char* const command : {"drop", "replay"}) {
    const End end = Parked(command, {"--parked", "orders"});
    EXPECT_EQ(end.code, 69) << end.err;
    EXPECT_THAT(end.err, HasSubstr("3 stay in orders: retryq did not park them"));
    EXPECT_THAT(end.out, HasSubstr("0 of 3 messages in orders"));
    EXPECT_TRUE(Holds("orders", 3));
  }
  EXPECT_EQ(Parked("drop", {"--parked", "orders", "--foreign"}).code, 0);
  EXPECT_TRUE(Holds("orders", 0));
}

TEST_P(CommandParked, AsksBeforeItReplaysEverything) {
  ParkMany(3);
  const End blind = RunToEnd({"parked", "replay", "--queue", "orders"});
  EXPECT_EQ(blind.code, 64) << blind.err;
  EXPECT_THAT(blind.err, HasSubstr("--all is missing"));
  EXPECT_THAT(Answered({"replay"}, "Replay 3 of the 3 messages in orders.parked? [y/N] ", "n\n"),
              HasSubstr("nothing was replayed"));
  EXPECT_TRUE(Holds("orders.parked", 3));
  EXPECT_EQ(RunToEnd({"parked", "replay", "--queue", "orders", "--limit", "1"}).code, 0);
  EXPECT_THAT(Answered({"replay"}, "Replay 2 of the 2 messages in orders.parked? [y/N] ", "y\n"),
              HasSubstr("replayed 2 of 2 messages"));
  EXPECT_TRUE(Holds("orders", 3));
}

TEST_P(CommandParked, IgnoresKeysThatArePressedBeforeTheQuestion) {
  ParkMany(3);
  TerminalRun run({RETRYQ_COMMAND, "parked", "drop", "--queue", "orders"}, Environment());
  run.Press("y\ny\n");
  ASSERT_TRUE(run.Shows("Drop 3 of the 3 messages in orders.parked for good? [y/N] "));
  run.Press("n\n");
  EXPECT_TRUE(run.Shows("nothing was dropped"));
  EXPECT_EQ(run.Wait(), 0);
  EXPECT_TRUE(Holds("orders.parked", 3));
}

TEST_P(CommandParked, KeepsDroppedMessagesThatTheFileCannotContain) {
  amqp::Table headers = ParkedPast("m-1", "no");
  headers.Set("key", "\xff\xfe");
  Park("first", headers);
  Park("second", ParkedPast("m-2", "no"));
  const Arguments drop = {"parked", "drop", "--queue", "orders", "--yes", "--all"};
  Arguments saving = drop;
  saving.insert(saving.end(), {"--backup", files_.File("dropped")});
  const End kept = RunToEnd(saving);
  EXPECT_EQ(kept.code, 69);
  EXPECT_THAT(kept.out, HasSubstr("dropped 1 of 2 messages"));
  EXPECT_THAT(kept.err, HasSubstr("by --no-backup"));
  EXPECT_TRUE(Holds("orders.parked", 1));
  Arguments without = drop;
  without.push_back("--no-backup");
  EXPECT_EQ(RunToEnd(without).code, 0);
  EXPECT_TRUE(Holds("orders.parked", 0));
}

TEST_P(CommandParked, SavesDroppedMessagesInAFileThatSendReads) {
  amqp::Table headers = ParkedPast("m-1", "no");
  headers.Set("tenant", "blue");
  const std::string body = std::string("b\0\xff\n", 4);
  Park(body, headers, {.content_type = "text/x", .delivery_mode = 2, .priority = 3, .type = "t"});
  // Quorum queues of RabbitMQ 4 deliver by priority.
  Park("second", ParkedPast("m-2", "no"), {.delivery_mode = 2, .priority = 3});
  const std::string file = files_.File("dropped");
  const Arguments drop = {"parked", "drop",  "--queue",  "orders",
                          "--yes",  "--all", "--backup", file};
  const End end = RunToEnd(drop);
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, AllOf(HasSubstr("dropped 2 of 2 messages"), HasSubstr("saved in " + file)));
  EXPECT_TRUE(Holds("orders.parked", 0));
  Park("third", ParkedPast("m-3", "no"));
  const End again = RunToEnd(drop);
  EXPECT_EQ(again.code, 69) << "the file exists";
  EXPECT_THAT(again.err, HasSubstr("the backup file '" + file + "' cannot be created"));
  EXPECT_EQ(TakeAll("orders.parked"), (std::map<std::string, int>{{"third", 1}}));

  CommandRun send({"send", "--lines"}, vhost_.Url(), files_.Read("dropped"));
  ASSERT_EQ(send.Wait(), 0) << send.Story();
  const amqp::MessagePtr message = peer_.Get("orders.parked");
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->body, body);
  EXPECT_EQ(message->properties.content_type, "text/x");
  EXPECT_EQ(message->properties.delivery_mode, 2);
  EXPECT_EQ(message->properties.priority, 3);
  EXPECT_EQ(message->properties.type, "t");
  for (const auto& [name, value] : headers.fields()) {
    ASSERT_TRUE(message->properties.headers->Find(name)) << name;
    EXPECT_EQ(*message->properties.headers->Decode()->Find(name), value) << name;
  }
  EXPECT_EQ(TakeAll("orders.parked"), (std::map<std::string, int>{{"second", 1}}));
}

TEST_P(CommandParked, DropsNothingIfTheFileCannotBeWritten) {
  for (int i = 0; i < 3; ++i) Park(std::string(5000, 'b'), ParkedPast(absl::StrCat("m-", i), "no"));
  CommandRun drop({"-c", "ulimit -f 2; exec " RETRYQ_COMMAND
                         " parked drop --queue orders --yes --all --backup " +
                             File("dropped")},
                  vhost_.Url(), "", "/bin/sh");
  EXPECT_EQ(drop.Wait(), 69) << drop.Story();
  EXPECT_THAT(drop.err(), HasSubstr("cannot be written (File too large)"));
  // Nothing that could be published again although it is still parked.
  EXPECT_THAT(drop.out(), Not(HasSubstr("saved in")));
  EXPECT_FALSE(std::filesystem::exists(files_.File("dropped")));
  EXPECT_TRUE(Holds("orders.parked", 3));
}

TEST_P(CommandParked, RefusesADelayQueueAsTheParkedQueue) {
  peer_.DeclareQueue("retry.600000", {{"x-queue-type", GetParam()},
                                      {"x-message-ttl", 600'000},
                                      {"x-expires", 3'600'000},
                                      {"x-dead-letter-exchange", ""}});
  peer_.Publish("", "retry.600000", "waits");
  for (const char* command : {"list", "show", "replay", "drop"}) {
    const End end = Parked(command, {"--parked", "retry.600000"});
    EXPECT_EQ(end.code, 69) << command;
    EXPECT_THAT(end.err, HasSubstr("'retry.600000' is a delay queue")) << command;
  }
  EXPECT_TRUE(Holds("retry.600000", 1));
}

TEST_P(CommandParked, CutsALongBodyOnATerminal) {
  Park(std::string(5000, 'b') + "end", ParkedPast("m-1", "no"));
  TerminalRun cut({RETRYQ_COMMAND, "parked", "show", "--queue", "orders"}, Environment());
  EXPECT_TRUE(cut.Shows("The body is cut after 4096 bytes; --full shows all."));
  EXPECT_EQ(cut.Wait(), 0);
  TerminalRun full({RETRYQ_COMMAND, "parked", "show", "--queue", "orders", "--full"},
                   Environment());
  EXPECT_TRUE(full.Shows("bend"));
  EXPECT_EQ(full.Wait(), 0);
  EXPECT_THAT(Parked("show").out, HasSubstr("bend"));
}

TEST_P(CommandParked, PrintsReplayedAndDroppedMessagesAsJson) {
  ParkMany(2);
  const auto replayed = JsonLines(Parked("replay", {"--json", "--id", "m-1"}).out);
  ASSERT_EQ(replayed.size(), 1U);
  EXPECT_EQ(replayed[0].at("id"), "m-1");
  EXPECT_EQ(replayed[0].at("attempt"), 8);
  EXPECT_EQ(JsonLines(Parked("drop", {"--json", "--dry-run"}).out).at(0).at("id"), "m-0");
  EXPECT_TRUE(Holds("orders.parked", 1));
}

// script(1) gives it a terminal.
TEST_P(CommandParked, DrawsAProgressBarWhileItWorks) {
  ParkMany(40);
  const std::string command = RETRYQ_COMMAND " parked replay --queue orders --all --rate 20";
  CommandRun run({"-qec", command, "/dev/null"}, vhost_.Url(), "", "/usr/bin/script");
  EXPECT_EQ(run.Wait(), 0) << run.Story();
  // Part of them: those that wait for --rate are not done.
  EXPECT_THAT(run.out(), AllOf(ContainsRegex("\\[#+-+\\]"), HasSubstr(" of 40, "),
                               HasSubstr("s left"), HasSubstr("replayed 40 of 40 messages")));
}

class CommandParkedHeld : public ParkedTest {};

TEST_F(CommandParkedHeld, ReportsMessagesHeldByAnotherConsumer) {
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

}  // namespace retryq::testing::command_parked_test
