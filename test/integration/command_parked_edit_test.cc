// `retryq parked edit` and `parked replay --body`: one message is corrected and replayed.

#include <fstream>
#include <nlohmann/json.hpp>

#include "integration/parked_run.h"
#include "support/test.h"

namespace retryq::testing::command_parked_edit_test {

class CommandParkedEdit : public ParkedQueueTest {
 protected:
  void SetUp() override {
    ParkedQueueTest::SetUp();
    ::setenv("TMPDIR", files_.File(".").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("VISUAL");
    ::unsetenv("EDITOR");
    ::unsetenv("TMPDIR");
    ParkedQueueTest::TearDown();
  }

  // `edit` with this script for an editor; the file is "$1".
  End Edit(const std::string& script, const Arguments& more = {}) {
    files_.Write("editor", script);
    ::unsetenv("VISUAL");
    ::setenv("EDITOR", ("sh " + files_.File("editor")).c_str(), 1);
    Arguments flags = {"--id", "m-1"};
    flags.insert(flags.end(), more.begin(), more.end());
    return Parked("edit", flags);
  }

  // The contents of the kept file that the error names.
  static std::string KeptBy(const End& end) {
    constexpr std::string_view kSays = "the edited text is in ";
    const std::size_t at = end.err.find(kSays);
    if (at == std::string::npos) return "nothing was kept: " + end.err;
    const std::string path = end.err.substr(at + kSays.size());
    std::ifstream file(path.substr(0, path.find('\n')));
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void ParkOne() {
    amqp::Table headers = ParkedPast("m-1", "no");
    headers.Set("tenant", "blue");
    headers.Set("small", std::int16_t{7});
    Park("street 1", headers, {.content_type = "text/plain", .message_id = "m-1"});
  }
};

INSTANTIATE_TEST_SUITE_P(Types, CommandParkedEdit, ::testing::Values("classic", "quorum"),
                         QueueTypeName);

TEST_P(CommandParkedEdit, ReplaysTheEditedMessage) {
  Park("other", ParkedPast("m-0", "no"));
  ParkOne();
  const End end = Edit("sed -i 's/street 1/street 2/; s/blue/red/' \"$1\"");
  ASSERT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, "replayed 1 of 2 messages in orders.parked\n  1 to queue orders\n");
  const amqp::MessagePtr message = peer_.Get("orders");
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->body, "street 2");
  EXPECT_EQ(message->properties.content_type, "text/plain");
  const amqp::Table headers = message->properties.headers->Decode().value();
  EXPECT_EQ(*headers.Find("tenant"), amqp::Value("red"));
  EXPECT_EQ(*headers.Find("small"), amqp::Value(std::int16_t{7}));
  EXPECT_EQ(*headers.Find("x-retry-id"), amqp::Value("m-1"));
  EXPECT_EQ(headers.Find("x-retry-count"), nullptr);
  const auto edited = message->properties.headers->FindInt64("x-retry-edited");
  ASSERT_TRUE(edited);
  EXPECT_LT(absl::Now() - absl::FromUnixMillis(*edited), absl::Minutes(1));
  EXPECT_EQ(TakeAll("orders.parked"), (std::map<std::string, int>{{"other", 1}}));
}

TEST_P(CommandParkedEdit, HidesTheEditMarkFromHandlersAndKeepsItThroughRetries) {
  ParkOne();
  ASSERT_EQ(Edit("sed -i 's/street 1/street 2/' \"$1\"").code, 0);
  CommandRun work =
      Work({"--max-attempts", "2"}, "echo \"$RETRYQ_HEADERS\" >>" + File("headers") + "; exit 1");
  ASSERT_TRUE(work.Says("parked")) << work.Story();
  ASSERT_TRUE(work.Stop());
  EXPECT_EQ(files_.Read("headers"),
            "{\"small\":7,\"tenant\":\"blue\"}\n{\"small\":7,\"tenant\":\"blue\"}\n");
  EXPECT_THAT(Parked("show").out, HasSubstr("\nedited            20"));
}

TEST_P(CommandParkedEdit, AnUnchangedFileReplaysNothing) {
  ParkOne();
  const End end = Edit("true");
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, "the file was not changed: nothing was replayed\n");
  EXPECT_TRUE(Holds("orders.parked", 1));
  EXPECT_EQ(peer_.Count("orders"), 0U);
}

TEST_P(CommandParkedEdit, AnEditorThatFailsReplaysNothing) {
  ParkOne();
  const End end = Edit("sed -i 's/street 1/street 2/' \"$1\"; exit 3");
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, HasSubstr("failed with exit status 3: nothing was replayed"));
  EXPECT_THAT(KeptBy(end), HasSubstr("street 2"));
  EXPECT_TRUE(Holds("orders.parked", 1));
  EXPECT_EQ(peer_.Count("orders"), 0U);
  ::unsetenv("EDITOR");
  EXPECT_THAT(Parked("edit", {"--id", "m-1"}).err, HasSubstr("set VISUAL or EDITOR"));
}

TEST_P(CommandParkedEdit, KeepsAnEditedFileThatCannotBeRead) {
  ParkOne();
  const End end = Edit("echo broken >\"$1\"");
  EXPECT_EQ(end.code, 64);
  EXPECT_THAT(end.err, HasSubstr("the line '--- body ---'"));
  EXPECT_EQ(KeptBy(end), "broken\n");
  EXPECT_EQ(Edit("rm \"$1\"; mkfifo \"$1\"").code, 64);
  EXPECT_TRUE(Holds("orders.parked", 1));
}

// While the editor is open, the message is ready in the queue.
TEST_P(CommandParkedEdit, DoesNotReplayMessagesThatAreGone) {
  ParkOne();
  const std::string replay = std::string("RETRYQ_URL='") + vhost_.Url() + "' " + RETRYQ_COMMAND +
                             " parked replay --queue orders --all --management '" +
                             ManagementUrl() + "'";
  const End end = Edit("sed -i 's/street 1/street 2/' \"$1\"; " + replay);
  EXPECT_EQ(end.code, 69);
  EXPECT_THAT(end.err, HasSubstr("the message is not in orders.parked any more"));
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"street 1", 1}}));
}

TEST_P(CommandParkedEdit, ReplaysWithTheBodyOfAFile) {
  ParkOne();
  files_.Write("body", std::string("\0new\xff", 5));
  const Arguments flags = {"--id", "m-1", "--body", files_.File("body")};
  ASSERT_EQ(Parked("replay", flags).code, 0);
  const amqp::MessagePtr message = peer_.Get("orders");
  ASSERT_NE(message, nullptr);
  EXPECT_EQ(message->body, std::string_view("\0new\xff", 5));
  EXPECT_EQ(message->properties.headers->FindString("tenant"), "blue");
  EXPECT_TRUE(message->properties.headers->FindInt64("x-retry-edited"));
  const End none = Parked("replay", flags);
  EXPECT_EQ(none.code, 69);
  EXPECT_THAT(none.err, HasSubstr("no messages in orders.parked match"));
  EXPECT_EQ(Parked("replay", {"--id", "m-1", "--body", "/nowhere"}).code, 64);
}

TEST_P(CommandParkedEdit, ReplaysWithTheBodyOnStdin) {
  ParkOne();
  CommandRun run({"parked", "replay", "--queue", "orders", "--id", "m-1", "--body", "-"},
                 vhost_.Url(), "from stdin");
  EXPECT_EQ(run.Wait(), 0) << run.Story();
  EXPECT_EQ(TakeAll("orders"), (std::map<std::string, int>{{"from stdin", 1}}));
}

}  // namespace retryq::testing::command_parked_edit_test
