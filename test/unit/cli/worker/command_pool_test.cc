#include "cli/worker/command_pool.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/text/io.h"
#include "support/make_message.h"
#include "support/temporary_directory.h"
#include "unit/amqp/run_until.h"

namespace retryq::cli {
namespace command_pool_test {

using ::retryq::testing::MakeMessage;
using ::retryq::testing::MessageParts;
using ::retryq::testing::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = Outcome::Kind;

Delivery MakeDelivery(const MessageParts& parts = {}) {
  return {MakeMessage(parts),
          std::make_shared<const std::string>("orders"),
          {.exchange = "shop", .routing_key = "order.placed"}};
}

// Fails if a name is there twice.
std::map<std::string, std::string> EnvironmentOf(const MessageFacts& message) {
  std::map<std::string, std::string> map;
  for (const std::string& variable : CommandEnvironment(message)) {
    EXPECT_LE(variable.size(), kMaxVariable + 64);
    const std::size_t equals = variable.find('=');
    EXPECT_TRUE(map.emplace(variable.substr(0, equals), variable.substr(equals + 1)).second)
        << variable;
  }
  return map;
}

TEST(CommandEnvironment, DescribesTheMessage) {
  const Delivery delivery =
      MakeDelivery({.properties = {.content_type = "text/plain",
                                   .content_encoding = "gzip",
                                   .priority = 3,
                                   .correlation_id = "c-1",
                                   .reply_to = "answers",
                                   .expiration = "30000",
                                   .message_id = "m-1",
                                   .timestamp = 1'700'000'000,
                                   .type = "order",
                                   .app_id = "shop"},
                    .headers = amqp::Table{{"traceparent", "00-1-2-01"}, {"tracestate", "a=b"}}});
  const auto environment = EnvironmentOf({.delivery = delivery,
                                          .id = "id-1",
                                          .failures = 2,
                                          .last_error = "exit 3: boom",
                                          .max_attempts = 25});
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"RETRYQ_ATTEMPT", "2"},
           {"RETRYQ_MAX_ATTEMPTS", "25"},
           {"RETRYQ_LAST_ERROR", "exit 3: boom"},
           {"RETRYQ_ID", "id-1"},
           {"RETRYQ_QUEUE", "orders"},
           {"RETRYQ_EXCHANGE", "shop"},
           {"RETRYQ_ROUTING_KEY", "order.placed"},
           {"RETRYQ_MESSAGE_ID", "m-1"},
           {"RETRYQ_CORRELATION_ID", "c-1"},
           {"RETRYQ_CONTENT_TYPE", "text/plain"},
           {"RETRYQ_CONTENT_ENCODING", "gzip"},
           {"RETRYQ_REPLY_TO", "answers"},
           {"RETRYQ_TYPE", "order"},
           {"RETRYQ_APP_ID", "shop"},
           {"RETRYQ_PRIORITY", "3"},
           {"RETRYQ_TIMESTAMP", "1700000000"},
           {"RETRYQ_EXPIRATION", "30000"},
           {"RETRYQ_REDELIVERED", "false"},
           {"TRACEPARENT", "00-1-2-01"},
           {"TRACESTATE", "a=b"},
           {"RETRYQ_HEADERS", R"({"traceparent":"00-1-2-01","tracestate":"a=b"})"}}) {
    EXPECT_EQ(environment.at(name), value) << name;
  }
}

TEST(CommandEnvironment, ReplacesInheritedVariablesAndHasLimits) {
  ::setenv("RETRYQ_TEST_OF_ENVIRONMENT", "kept", 1);
  ::setenv("RETRYQ_PRIORITY", "of an outer message", 1);
  const std::string long_text(1 << 20, 'x');
  const Delivery delivery = MakeDelivery({.properties = {.message_id = std::string_view("a\0b", 3)},
                                          .headers = amqp::Table{{"long", long_text}}});
  const auto environment =
      EnvironmentOf({.delivery = delivery, .id = long_text, .last_error = long_text});
  ::unsetenv("RETRYQ_PRIORITY");
  ::unsetenv("RETRYQ_TEST_OF_ENVIRONMENT");
  EXPECT_EQ(environment.at("RETRYQ_TEST_OF_ENVIRONMENT"), "kept");
  EXPECT_EQ(environment.at("RETRYQ_PRIORITY"), "");
  EXPECT_EQ(environment.at("RETRYQ_MESSAGE_ID"),
            "a\xEF\xBF\xBD"
            "b");
}

ProcessEnd Exit(int status, const std::string& errors = "") {
  return {.status = status << 8, .errors = errors};
}
ProcessEnd Killed(int signal, const std::string& errors = "") {
  return {.status = signal, .errors = errors};
}
ProcessEnd TimedOut(const std::string& errors = "") {
  return {.status = SIGTERM, .stopped = "timed out after 30s", .errors = errors};
}

TEST(OutcomeOf, FollowsTheExitStatusAndTheLastLineOfStderr) {
  struct Case {
    ProcessEnd end;
    Kind kind;
    std::string error;
    absl::Duration delay = absl::ZeroDuration();
  };
  const std::vector<Case> cases = {
      {Exit(0, "warning\nretry-after: 1s\n"), Kind::kByStatus, ""},
      {Exit(0, "snooze: 30s\n"), Kind::kByStatus, ""},
      {Exit(65, "no JSON\n"), Kind::kPark, "exit 65: no JSON"},
      {Exit(65, "retry-after: 30s"), Kind::kPark, "exit 65"},
      {Exit(65, "snooze: 30s"), Kind::kPark, "exit 65"},
      {Exit(1), Kind::kByStatus, "exit 1"},
      {Exit(255), Kind::kByStatus, "exit 255"},
      {Exit(3, "first\nlast\n\n"), Kind::kByStatus, "exit 3: last"},
      {Exit(3, "  no line break  "), Kind::kByStatus, "exit 3: no line break"},
      {Exit(3, "dos\r\n"), Kind::kByStatus, "exit 3: dos"},
      {Killed(SIGSEGV), Kind::kByStatus, "killed by SIGSEGV"},
      {Killed(SIGKILL, "oh"), Kind::kByStatus, "killed by SIGKILL: oh"},
      {Killed(SIGTERM, "snooze: 30s\n"), Kind::kByStatus, "killed by SIGTERM"},
      {TimedOut("busy\n"), Kind::kByStatus, "timed out after 30s: busy"},
      {TimedOut("snooze: 30s\n"), Kind::kByStatus, "timed out after 30s"},
      {Exit(75, "busy\nretry-after: 30s\n"), Kind::kRetryAfter, "exit 75: busy", absl::Seconds(30)},
      {Exit(75, "retry-after: 30s\ngone\n"), Kind::kByStatus, "exit 75: gone"},
      {Exit(75, "closed at night\nsnooze: 8h\n"), Kind::kSnooze, "closed at night",
       absl::Hours(8)}};
  for (const Case& each : cases) {
    const Outcome outcome = OutcomeOf(each.end);
    EXPECT_EQ(outcome.kind(), each.kind) << each.end.errors;
    EXPECT_EQ(outcome.status().message(), each.error);
    EXPECT_EQ(outcome.delay(), each.delay);
    // The library takes other codes for permanent.
    if (each.kind == Kind::kByStatus && !outcome.status().ok()) {
      EXPECT_TRUE(absl::IsUnknown(outcome.status()));
    }
  }
}

TEST(WhyNotRun, IsForCommandsThatDidNotStartToHandleTheMessage) {
  EXPECT_EQ(WhyNotRun({.start_error = ENOENT}), "cannot be started: No such file or directory");
  EXPECT_EQ(WhyNotRun(Exit(127, "sh: 1: x: not found\n")), "exit 127: sh: 1: x: not found");
  EXPECT_EQ(WhyNotRun(Exit(126)), "exit 126");
  for (const ProcessEnd& end : {Exit(125), Killed(126), TimedOut()}) {
    EXPECT_EQ(WhyNotRun(end), std::nullopt);
  }
}

class CommandTest : public ::testing::Test {
 protected:
  void SetUp() override { PrepareProcess(); }

  CommandOptions Command(std::vector<std::string> command) const {
    return {.command = std::move(command),
            .max_attempts = 9,
            .stdout_fd = stdout_.get(),
            .kill_grace = absl::Milliseconds(50)};
  }

  void Until(const std::function<bool()>& condition) { amqp::RunUntil(loop_, condition); }

  std::string Stdout() const { return directory_.Read("stdout"); }

  TemporaryDirectory directory_;
  FileDescriptor stdout_{
      ::open(directory_.File("stdout").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)};
  EventLoop loop_;
};

class CommandPoolTest : public CommandTest {
 protected:
  CommandPool& Start(std::vector<std::string> command, std::size_t jobs = 1) {
    pool_.emplace(loop_,
                  CommandPool::Options{.command = Command(std::move(command)),
                                       .jobs = jobs,
                                       .first_pause = absl::Milliseconds(1),
                                       .longest_pause = absl::Milliseconds(5)},
                  [this](Availability::State state, const std::string& why) {
                    if (state == Availability::State::kFails) failures_.push_back(why);
                    states_.push_back(state);
                  });
    return *pool_;
  }
  CommandPool& StartScript(const std::string& script, std::size_t jobs = 1) {
    return Start({"sh", "-c", script}, jobs);
  }
  // A command that runs until there is the file "go".
  CommandPool& StartWaiting() {
    return StartScript("echo started; until test -e '" + directory_.File("go") +
                       "'; do sleep 0.01; done");
  }

  void Give(std::string_view body) { Give(body, std::make_shared<Delivery::Source>("orders")); }
  // Returns whether its command has begun, as the settlement is told.
  std::shared_ptr<std::atomic<bool>> Give(std::string_view body,
                                          const std::shared_ptr<Delivery::Source>& source) {
    const std::string name(body);
    auto begun = std::make_shared<std::atomic<bool>>(true);
    pool_->Handle(Delivery(MakeMessage({.body = body}), source,
                           {.failures = 2, .last_error = "before", .id = "id-1"}),
                  Settlement(
                      loop_.executor(),
                      [this, name](const Outcome& outcome) {
                        order_.push_back(name);
                        outcomes_.emplace(name, outcome);
                      },
                      std::shared_ptr<const std::atomic<bool>>(source, &source->abandoned), begun));
    return begun;
  }

  void Settled(std::size_t count) {
    Until([&] { return order_.size() >= count; });
  }

  // "ok", "requeued" or the error.
  std::string Result(const std::string& name) const {
    const Outcome& outcome = outcomes_.at(name);
    if (outcome.kind() == Kind::kRequeue) return "requeued";
    return outcome.status().ok() ? "ok" : std::string(outcome.status().message());
  }

  std::vector<std::string> failures_;
  std::vector<Availability::State> states_;
  std::vector<std::string> order_;  // in which they were settled
  std::map<std::string, Outcome> outcomes_;
  std::optional<CommandPool> pool_;
};

TEST_F(CommandPoolTest, ReportsWhichMessagesHaveBegun) {
  StartWaiting();
  const auto gone = std::make_shared<Delivery::Source>("orders");
  const auto here = std::make_shared<Delivery::Source>("orders");
  EXPECT_TRUE(*Give("hangs", gone));
  EXPECT_FALSE(*Give("waits", gone));
  // Both are redelivered while the command for the first still runs.
  gone->abandoned = true;
  EXPECT_TRUE(*Give("hangs", here));
  const auto waits = Give("waits", here);
  EXPECT_FALSE(*waits);
  directory_.Write("go", "");
  Until([&] { return waits->load(); });
}

TEST_F(CommandPoolTest, MeasuresTheTimeOfTheCommandWithoutTheWaitForIt) {
  StartScript("sleep 0.2");
  for (const char* name : {"a", "b", "c", "d"}) Give(name);
  Settled(4);
  for (const auto& [name, outcome] : outcomes_) {
    EXPECT_GE(outcome.took().value(), absl::Milliseconds(200));
  }
  EXPECT_LT(*outcomes_.at("d").took(), absl::Milliseconds(600));
}

constexpr char kPoison[] = "if [ $(cat) = poison ]; then exit 127; fi";

TEST_F(CommandPoolTest, TriesOtherMessagesToFindOutWhetherTheCommandWorks) {
  StartScript(kPoison);
  Give("poison");
  Until([&] { return failures_.size() >= 3; });
  for (const char* name : {"a", "b"}) Give(name);
  Settled(3);
  EXPECT_EQ(Result("poison"), "exit 127");
  EXPECT_EQ(Result("a"), "ok");
  EXPECT_EQ(Result("b"), "ok");
  EXPECT_EQ(states_.back(), Availability::State::kWorks);
}

TEST_F(CommandPoolTest, StopsNowAndSettlesNothing) {
  CommandPool& pool = StartScript("echo started; sleep 600");
  Give("runs");
  Give("waits");
  Until([&] { return !Stdout().empty(); });
  const std::vector<Job> unsettled = pool.StopNow();
  EXPECT_EQ(unsettled.size(), 2U);
  pool_.reset();
  EXPECT_THAT(order_, IsEmpty());
}

class ParkedHookTest : public CommandTest {
 protected:
  void MakeHook(const std::string& line, std::size_t most_waiting = 10) {
    hook_.emplace(
        loop_, Command({"/bin/sh", "-c", line}),
        [this](const Delivery&, const std::string& id, const std::string& error) {
          failures_.push_back(id + ": " + error);
        },
        most_waiting);
  }

  void Park(std::string_view body, std::string_view id) {
    const Delivery delivery(MakeMessage({.body = body}),
                            std::make_shared<const std::string>("orders"),
                            {.failures = 2, .last_error = "earlier"});
    hook_->OnParked({.kind = EventKind::kParked,
                     .time = absl::UnixEpoch(),
                     .id = id,
                     .error = "gave up",
                     .delivery = &delivery});
  }

  void UntilIdle() {
    bool idle = false;
    hook_->WhenIdle([&idle] { idle = true; });
    Until([&] { return idle; });
    EXPECT_EQ(hook_->unfinished(), 0U);
  }

  std::vector<std::string> failures_;
  std::optional<ParkedHook> hook_;
};

TEST_F(ParkedHookTest, RunsTheLineForEachMessage) {
  MakeHook("cat; echo \" $RETRYQ_ID $RETRYQ_ATTEMPT/$RETRYQ_MAX_ATTEMPTS $RETRYQ_LAST_ERROR\"");
  Park("one", "id-1");
  Park("two", "id-2");
  UntilIdle();
  EXPECT_EQ(Stdout(), "one id-1 3/9 gave up\ntwo id-2 3/9 gave up\n");
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(ParkedHookTest, KeepsALimitedNumberOfMessagesAndStopsItsCommand) {
  MakeHook("echo started; sleep 600", /*most_waiting=*/1);
  for (const char* id : {"id-1", "id-2", "id-3"}) Park("body", id);
  EXPECT_EQ(hook_->unfinished(), 2U);
  EXPECT_THAT(failures_, ElementsAre("id-3: not run: too many parked messages wait for it"));
  Until([&] { return !Stdout().empty(); });
  hook_.reset();
}

}  // namespace command_pool_test
}  // namespace retryq::cli
