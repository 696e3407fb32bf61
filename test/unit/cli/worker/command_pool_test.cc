#include "cli/worker/command_pool.h"

#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "cli/text/io.h"
#include "support/make_message.h"
#include "support/temporary_directory.h"
#include "support/test.h"
#include "unit/amqp/run_until.h"

namespace retryq::cli::command_pool_test {

using ::retryq::testing::MessageParts;
using ::retryq::testing::TemporaryDirectory;
using Kind = Outcome::Kind;

Delivery MakeDelivery(const MessageParts& parts = {}) {
  return {MakeMessage(parts),
          std::make_shared<const std::string>("orders"),
          {.exchange = "shop", .routing_key = "order.placed"}};
}

// Fails if a name occurs twice.
std::map<std::string, std::string> EnvironmentOf(const MessageFacts& message) {
  std::map<std::string, std::string> map;
  for (const std::string& variable : VariablesFor(message)) {
    EXPECT_LE(variable.size(), kMaxVariable + 64);
    const std::size_t equals = variable.find('=');
    EXPECT_TRUE(map.emplace(variable.substr(0, equals), variable.substr(equals + 1)).second)
        << variable;
  }
  return map;
}

TEST(Availability, IsTroubleAfterThreeRunsInARowThatHandleNothing) {
  Availability availability([](Availability::State, const std::string&) {});
  for (int run = 1; run <= 2; ++run) availability.EndedInVain("exit 1");
  EXPECT_EQ(availability.Trouble(), std::nullopt);
  availability.EndedInVain("exit 3");
  EXPECT_EQ(availability.Trouble(),
            "COMMAND has ended 3 times in a row without having handled a message: exit 3");
  availability.Worked();
  EXPECT_EQ(availability.Trouble(), std::nullopt);
}

// The fields of `work --lines`, of which LinesProtocol tests each.
TEST(VariablesFor, HasTheFieldsOfALine) {
  const Delivery delivery =
      MakeDelivery({.properties = {.content_type = "text/plain",
                                   .priority = 3,
                                   .message_id = "m-1",
                                   .timestamp = 1'700'000'000},
                    .headers = amqp::Table{{"traceparent", "00-1-2-01"}, {"tracestate", "a=b"}}});
  const auto environment = EnvironmentOf({.delivery = delivery, .id = "m-1", .max_attempts = 25});
  const nlohmann::json line = nlohmann::json::parse(LineFor(7, delivery, 25));
  for (const auto& [name, value] : line.items()) {
    if (name == "id" || name == "body") continue;
    std::string variable = absl::AsciiStrToUpper(name == "retry_id" ? "id" : name);
    if (!name.starts_with("trace")) variable.insert(0, "RETRYQ_");
    const std::string text = value.is_null()     ? ""
                             : value.is_string() ? value.get<std::string>()
                                                 : value.dump();
    EXPECT_EQ(environment.at(variable), text) << name;
  }
  const auto traced = EnvironmentOf({.delivery = delivery, .traceparent = "00-3-4-01"});
  EXPECT_EQ(traced.at("TRACEPARENT"), "00-3-4-01");
  EXPECT_EQ(traced.at("TRACESTATE"), "");  // it belongs to the other context
}

TEST(VariablesFor, HasLimitsAndNoNulBytes) {
  const std::string long_text(1 << 20, 'x');
  const Delivery delivery = MakeDelivery({.properties = {.message_id = std::string_view("a\0b", 3)},
                                          .headers = amqp::Table{{"long", long_text}}});
  const auto environment =
      EnvironmentOf({.delivery = delivery, .id = long_text, .last_error = long_text});
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
    // For the library, other codes are permanent.
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
  // The command runs until the file "go" exists.
  CommandPoolTest() {
    const std::string script =
        "echo started; until test -e '" + directory_.File("go") + "'; do sleep 0.01; done";
    pool_.emplace(loop_, Command({"sh", "-c", script}), /*jobs=*/1,
                  [](Availability::State, const std::string&) {});
  }

  // Returns whether its command has begun, as reported by Settlement::SetBegun.
  std::shared_ptr<std::atomic<bool>> Give(std::string_view body,
                                          const std::shared_ptr<Delivery::Source>& source) {
    auto begun = std::make_shared<std::atomic<bool>>(true);
    pool_->Handle(Delivery(MakeMessage({.body = body}), source,
                           {.failures = 2, .last_error = "before", .id = "id-1"}),
                  Settlement(
                      loop_.executor(), [](const Outcome&) {},
                      std::shared_ptr<const std::atomic<bool>>(source, &source->abandoned), begun));
    return begun;
  }

  std::optional<CommandPool> pool_;
};

TEST_F(CommandPoolTest, ReportsWhichMessagesHaveBegun) {
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

  std::vector<std::string> failures_;
  std::optional<ParkedHook> hook_;
};

TEST_F(ParkedHookTest, KeepsALimitedNumberOfMessagesAndStopsItsCommand) {
  MakeHook("echo started; sleep 600", /*most_waiting=*/1);
  for (const char* id : {"id-1", "id-2", "id-3"}) Park("body", id);
  EXPECT_EQ(hook_->unfinished(), 2U);
  EXPECT_THAT(failures_, ElementsAre("id-3: not run: too many parked messages wait for it"));
  Until([&] { return !Stdout().empty(); });
  hook_.reset();
}

}  // namespace retryq::cli::command_pool_test
