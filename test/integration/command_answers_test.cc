// A subcommand that cannot work exits soon, with one sentence, a remedy and an exit status that
// stands for the reason. The table has a line for each subcommand.

#include <iostream>

#include "integration/command_run.h"
#include "support/test.h"

namespace retryq::testing::command_answers_test {

// The time in which a subcommand that cannot work should exit.
constexpr absl::Duration kPromised = absl::Seconds(2);
constexpr absl::Duration kDeadline = absl::Seconds(10);

enum Situation : std::size_t {
  kDeadBroker,
  kWrongPassword,
  kMissingVhost,
  kMissingQueue,
  kMissingRights,
};

// The remedies for each, as the subcommands word them.
constexpr std::array kRemedies = {
    "remedy: start the broker|rabbitmq-plugins enable|check that the broker runs",
    "check user and password|name a user and password",
    "create it|the end of --url",
    "declare it|retryq declare|--parked",
    "grant the user|rabbitmqctl set_",
};

// No answer: it waits, and reports that.
constexpr int kWaits = -1;
// This subcommand needs no existing object.
constexpr std::nullopt_t kNothing = std::nullopt;

struct Subcommand {
  std::vector<std::string> arguments;
  std::array<std::optional<int>, 5> exits;  // by situation
  // Lines that each other one on stderr goes with.
  bool has_log = false;
  bool asks_management = false;
  const char* input = R"({"body":"b"})";
};

const Subcommand kSubcommands[] = {
    {{"work", "--queue", "QUEUE", "--", "true"}, {kWaits, 77, 69, 69, 77}, /*has_log=*/true},
    {{"work", "--declare", "--queue", "new", "--", "true"},
     {kWaits, 77, 69, kNothing, 77},
     /*has_log=*/true},
    {{"send", "--queue", "QUEUE", "body"}, {69, 77, 69, 69, 77}},
    {{"send", "--queue", "QUEUE", "--delay", "10m", "body"}, {69, 77, 69, 69, 77}},
    {{"send", "--queue", "new", "--declare", "body"}, {69, 77, 69, kNothing, 77}},
    // The result of a line is its reply.
    {{"send", "--lines", "--queue", "QUEUE"}, {69, 77, 69, 69, 69}},
    {{"send", "--lines", "--queue", "QUEUE"},
     {69, 77, 69, 69, kNothing},  // see CommandSendLines
     false,
     false,
     R"({"body":"b","delay":"10m"})"},
    {{"declare", "--queue", "new"}, {69, 77, 69, kNothing, 77}},
    {{"queues"}, {69, 77, 69, kNothing, 77}, false, /*asks_management=*/true},
    {{"doctor", "--queue", "QUEUE"}, {69, 77, 69, 69, 77}, false, /*asks_management=*/true},
    {{"doctor", "--json", "--queue", "QUEUE"},
     {69, 77, 69, 69, 77},
     false,
     /*asks_management=*/true},
    {{"parked", "list", "--queue", "QUEUE"}, {69, 77, 69, 69, 77}},
    {{"parked", "show", "--queue", "QUEUE"}, {69, 77, 69, 69, 77}},
    {{"parked", "replay", "--all", "--queue", "QUEUE"}, {69, 77, 69, 69, 77}},
    {{"parked", "drop", "--all", "--yes", "--queue", "QUEUE"}, {69, 77, 69, 69, 77}},
    {{"parked", "edit", "--id", "x", "--queue", "QUEUE"}, {69, 77, 69, 69, 77}},
    {{"waiting", "list", "--queue", "QUEUE"},
     {69, 77, 69, 69, 77},
     false,
     /*asks_management=*/true},
    {{"waiting", "show", "--id", "x", "--queue", "QUEUE"},
     {69, 77, 69, 69, 77},
     false,
     /*asks_management=*/true},
    {{"waiting", "release", "--all", "--queue", "QUEUE"},
     {69, 77, 69, 69, 77},
     false,
     /*asks_management=*/true},
    {{"waiting", "park", "--all", "--queue", "QUEUE"},
     {69, 77, 69, 69, 77},
     false,
     /*asks_management=*/true},
    {{"waiting", "drop", "--all", "--yes", "--queue", "QUEUE"},
     {69, 77, 69, 69, 77},
     false,
     /*asks_management=*/true},
};

class CommandAnswers : public CommandTest, public ::testing::WithParamInterface<Situation> {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    peer_.DeclareQueue("orders.parked");
    peer_.Publish("", "orders.parked", "a message, which nobody without rights can read");
    no_rights_ = vhost_.AddUser(TestVhost::Rights{"^$", "^$", "^$"});
  }

  std::string Url() const {
    switch (GetParam()) {
      case kDeadBroker:
        return "amqp://guest:guest@127.0.0.1:1/";  // an unused port
      case kWrongPassword:
        return vhost_.UrlAs("guest", "hunter2");
      case kMissingVhost:
        return vhost_.Url() + "-that-is-not-there";
      case kMissingQueue:
        return vhost_.Url();
      case kMissingRights:
        return vhost_.UrlAs(no_rights_, no_rights_);
    }
    return "";
  }

  // Texts that a reply must contain.
  std::string Culprit() const {
    switch (GetParam()) {
      case kDeadBroker:
        return "127.0.0.1:1";
      case kWrongPassword:
        return "'guest'";
      case kMissingVhost:
        return "-that-is-not-there";
      case kMissingQueue:
        return "odrers";
      case kMissingRights:
        return no_rights_;
    }
    return "";
  }

  // The management API of the same broker, as the same user.
  std::string Management() const {
    if (GetParam() == kDeadBroker) return "http://127.0.0.1:1";
    const std::string user = GetParam() == kMissingRights ? no_rights_ : "guest";
    const std::string password = GetParam() == kWrongPassword   ? "hunter2"
                                 : GetParam() == kMissingRights ? no_rights_
                                                                : "guest";
    std::string url = ManagementUrl();
    const std::size_t begin = url.find("//") + 2;
    const std::size_t at = url.find('@');
    return url.replace(begin, at == std::string::npos ? 0 : at + 1 - begin,
                       user + ":" + password + "@");
  }

  Arguments ArgumentsOf(const Subcommand& subcommand) const {
    Arguments arguments = subcommand.arguments;
    for (std::string& argument : arguments) {
      if (argument == "QUEUE") argument = GetParam() == kMissingQueue ? "odrers" : "orders";
    }
    if (subcommand.asks_management) {
      arguments.insert(arguments.end(), {"--management", Management()});
    }
    return arguments;
  }

  // A machine under load is slower, so an answer that comes too late is reported, not a failure.
  static void ReportIfSlow(const Subcommand& subcommand, absl::Duration took) {
    if (took <= kPromised) return;
    std::cerr << "slow: " << ::testing::PrintToString(subcommand.arguments) << " took " << took
              << '\n';
  }

  // It waits for a broker that cannot be reached, and reports why.
  static void ExpectThatItWaits(const Subcommand& subcommand, CommandRun& run, absl::Time begin) {
    EXPECT_TRUE(
        run.Until([&run] { return run.err().find("Connection refused") != std::string::npos; }));
    ReportIfSlow(subcommand, absl::Now() - begin);
    EXPECT_TRUE(run.Stop());
  }

  void ExpectAnAnswer(const Subcommand& subcommand, CommandRun& run, absl::Time begin,
                      int code) const {
    EXPECT_EQ(run.Wait(kDeadline), code) << run.Story();
    ReportIfSlow(subcommand, absl::Now() - begin);
    const std::string all = run.out() + run.err();
    EXPECT_THAT(all, ContainsRegex(kRemedies[GetParam()]));
    EXPECT_THAT(all, HasSubstr(Culprit()));
    EXPECT_THAT(all, Not(HasSubstr("hunter2")));
    if (subcommand.arguments.front() == "doctor") return;  // which reports a line for each check
    if (GetParam() < kMissingQueue) {
      EXPECT_EQ(run.out(), "");
    }
    // Exactly one line.
    const std::string err = run.err();
    ASSERT_FALSE(err.empty());
    const std::size_t begin_of_last = err.rfind('\n', err.size() - 2) + 1;
    EXPECT_EQ(err.back(), '\n') << err;
    if (!subcommand.has_log) {
      EXPECT_EQ(begin_of_last, 0U) << err;
    }
    EXPECT_THAT(err.substr(begin_of_last),
                ::testing::StartsWith("retryq " + subcommand.arguments.front() + ": "));
  }

  std::string no_rights_;
};

TEST_P(CommandAnswers, ReportsPromptlyInOneSentenceWithARemedyAndAnExitStatus) {
  for (const Subcommand& subcommand : kSubcommands) {
    const std::optional<int> code = subcommand.exits[GetParam()];
    if (!code) continue;
    const Arguments arguments = ArgumentsOf(subcommand);
    SCOPED_TRACE(::testing::PrintToString(arguments));
    const absl::Time begin = absl::Now();
    CommandRun run(arguments, Url(), std::string(subcommand.input) + "\n");
    if (*code == kWaits) {
      ExpectThatItWaits(subcommand, run, begin);
    } else {
      ExpectAnAnswer(subcommand, run, begin, *code);
    }
  }
  EXPECT_EQ(peer_.Count("orders"), 0U);
  EXPECT_EQ(peer_.Count("orders.parked"), 1U);
}

std::string NameOf(const ::testing::TestParamInfo<Situation>& situation) {
  constexpr std::array kNames = {"TheBrokerIsDead", "ThePasswordIsWrong", "TheVhostIsMissing",
                                 "TheQueueIsMissing", "RightsAreMissing"};
  return kNames[situation.param];
}

INSTANTIATE_TEST_SUITE_P(Where, CommandAnswers,
                         ::testing::Values(kDeadBroker, kWrongPassword, kMissingVhost,
                                           kMissingQueue, kMissingRights),
                         NameOf);

}  // namespace retryq::testing::command_answers_test
