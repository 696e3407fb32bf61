#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "cli/text/io.h"
#include "cli/worker/command_pool.h"
#include "support/make_message.h"
#include "support/temporary_directory.h"
#include "support/test.h"
#include "unit/amqp/run_until.h"

namespace retryq::cli::lines_pool_test {

using retryq::testing::TemporaryDirectory;

// Programs are shells that read line after line; `$line` is the line, and `$id` its id.
std::string ForEach(const std::string& script) {
  return "while IFS= read -r line; do id=${line#*:}; id=${id%%,*}; " + script + "; done";
}
constexpr char kOk[] = "echo \"{\\\"id\\\":$id,\\\"ok\\\":true}\"";

class LinesPoolTest : public ::testing::Test {
 protected:
  void SetUp() override { PrepareProcess(); }
  void TearDown() override {
    pool_.reset();
    // No zombie is left.
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
  }

  LinesPool& Start(
      const std::string& script,
      const std::function<void(LinesPool::Options&)>& change = [](LinesPool::Options&) {}) {
    LinesPool::Options options;
    options.command = {
        .command = {"sh", "-c", script}, .max_attempts = 9, .kill_grace = absl::Milliseconds(50)};
    options.first_pause = absl::Milliseconds(1);
    options.longest_pause = absl::Milliseconds(5);
    options.proof = absl::Milliseconds(5);
    change(options);
    pool_.emplace(loop_, std::move(options),
                  LinesPool::Callbacks{
                      .on_state = [](Availability::State, const std::string&) {},
                      .program_ended = [this](const std::string& why) { ends_.push_back(why); },
                      .no_answer = [this](const std::string& why) { silences_.push_back(why); },
                      .odd_answer = [](const std::string&) {}});
    pool_->Start();
    return *pool_;
  }

  // The script runs once another one has answered a message, "first", and has ended.
  LinesPool& StartAndAnswer(
      const std::string& script,
      const std::function<void(LinesPool::Options&)>& change = [](LinesPool::Options&) {}) {
    LinesPool& pool =
        Start("if test -e " + File("answered") + "; then " + script + "; else echo > " +
                  File("answered") + "; IFS= read -r line; id=1; " + kOk + "; fi",
              change);
    Give("first");
    Until([&] { return !ends_.empty(); });
    return pool;
  }

  void Give(std::string_view body) {
    const std::string name(body.substr(0, 20));
    pool_->Handle(
        Delivery(MakeMessage({.body = body}), std::make_shared<const std::string>("orders"), {}),
        Settlement(loop_.executor(), [this, name](const Outcome& outcome) {
          order_.push_back(name);
          outcomes_.emplace(name, outcome);
        }));
  }

  // Waits until this number of messages is settled.
  void Settled(std::size_t count) {
    Until([&] { return order_.size() >= count; });
  }
  void Until(const std::function<bool()>& condition) { amqp::RunUntil(loop_, condition); }

  std::string Error(const std::string& name) {
    return std::string(outcomes_.at(name).status().message());
  }
  bool Ok(const std::string& name) {
    return outcomes_.at(name).kind() == Outcome::Kind::kByStatus &&
           outcomes_.at(name).status().ok();
  }
  std::string File(const std::string& name) const { return "'" + files_.File(name) + "'"; }

  EventLoop loop_;
  TemporaryDirectory files_;
  std::optional<LinesPool> pool_;
  std::vector<std::string> ends_;
  std::vector<std::string> silences_;
  std::vector<std::string> order_;  // in which they were settled
  std::map<std::string, Outcome> outcomes_;
};

TEST_F(LinesPoolTest, DoesNotWaitForAProgramThatDoesNotRead) {
  Start("until test -e " + File("go") + "; do sleep 0.01; done; " + ForEach(kOk),
        [](LinesPool::Options& options) { options.in_flight = 4; });
  const std::string large(200'000, 'x');
  for (const char* name : {"a", "b", "c"}) Give(name + large);
  bool turned = false;
  const auto timer = loop_.After(absl::Milliseconds(20), [&] { turned = true; });
  Until([&] { return turned; });
  EXPECT_THAT(order_, IsEmpty());
  files_.Write("go", "");
  Settled(3);
}

TEST_F(LinesPoolTest, PausesLongerAndLongerIfTheProgramEndsAtOnce) {
  Start("echo >> " + File("starts") + "; exit 1", [](LinesPool::Options& options) {
    options.first_pause = absl::Milliseconds(10);
    options.longest_pause = absl::Hours(1);
  });
  const absl::Duration begun = loop_.clock().SinceBoot();
  Until([&] { return ends_.size() == 6; });
  EXPECT_GE(loop_.clock().SinceBoot() - begun, absl::Milliseconds(10 + 20 + 40 + 80 + 160) / 2);
}

// The program answers a first message, so that it counts as working. Then it misbehaves.
TEST_F(LinesPoolTest, StopsAProgramThatBreaksTheProtocol) {
  const std::pair<std::string, std::string> cases[] = {
      {ForEach("echo hello; " + std::string(kOk) + "; sleep 600"),
       "wrote 'hello', which is not an answer: it is not JSON; write only answers to stdout, and "
       "other output to stderr"},
      {ForEach("echo '{\"id\":99,\"ok\":true}'"),
       "wrote '{\"id\":99,\"ok\":true}', which is not an answer: this program has received no "
       "message with that \"id\"; answer with the \"id\" of the line that was read"},
      {"read -r line; yes | tr -d '\\n'", "wrote a line of more than 1 MiB"},
      {"read -r line; exec >&-; sleep 600", "closed its stdout and did not exit"},
      {"read -r line; exit 0", "exit 0"}};
  int settled = 0;
  for (const auto& [script, error] : cases) {
    ends_.clear();
    outcomes_.clear();
    ::unlink(files_.File("answered").c_str());
    StartAndAnswer(script);
    Give("a");
    settled += 2;
    Settled(static_cast<std::size_t>(settled));
    EXPECT_EQ(Error("a"), error);
    pool_.reset();
  }
  ends_.clear();
  ::unlink(files_.File("answered").c_str());
  StartAndAnswer(ForEach(std::string(kOk) + "; echo '{\"id\":1,\"ok\":true}'"));
  Give("a");
  Give("b");
  Until([&] { return ends_.size() >= 2; });
  EXPECT_THAT(ends_[1], HasSubstr("the message with that \"id\" has been answered"));
}

TEST_F(LinesPoolTest, DoesNotBelieveAnAnswerToAMessageThatWasNotRead) {
  StartAndAnswer("until test -e " + File("go") +
                 "; do sleep 0.01; done; echo '{\"id\":1,\"ok\":true}'; sleep 600");
  Give("a");
  bool turned = false;
  const auto timer = loop_.After(absl::Milliseconds(20), [&] { turned = true; });
  Until([&] { return turned; });
  files_.Write("go", "");
  Until([&] { return ends_.size() >= 2; });
  EXPECT_THAT(ends_[1], HasSubstr("has not read the message with that \"id\""));
  EXPECT_THAT(order_, SizeIs(1));
}

TEST_F(LinesPoolTest, LimitsTheTimeOfEachMessageByItself) {
  Start(ForEach("sleep 0.3; " + std::string(kOk)), [](LinesPool::Options& options) {
    options.command.timeout = absl::Seconds(2);
    options.in_flight = 10;
  });
  for (int i = 0; i < 10; ++i) Give(absl::StrCat("m", i));
  Settled(10);
  for (const auto& [name, outcome] : outcomes_) EXPECT_TRUE(Ok(name)) << Error(name);
}

TEST_F(LinesPoolTest, FailsAMessageAfterSeveralProgramsThatNeverAnswered) {
  Start("read -r line; exit 1");
  Give("a");
  Settled(1);
  EXPECT_EQ(Error("a"), "exit 1");
  EXPECT_THAT(ends_, SizeIs(LinesPool::kCrashesThatCount));
}

TEST_F(LinesPoolTest, ReportsTheOldestMessage) {
  Start(ForEach("case $line in *slow*) sleep 600;; esac; " + std::string(kOk)),
        [](LinesPool::Options& options) { options.programs = 2; });
  EXPECT_FALSE(pool_->Oldest().has_value());
  Give("slow");
  Give("quick");
  Settled(1);
  EXPECT_EQ(pool_->Oldest()->delivery.body(), "slow");
  EXPECT_LT(pool_->Oldest()->begun, loop_.clock().SinceBoot());
}

TEST_F(LinesPoolTest, ReportsThatThereIsNoAnswerAndTheRemedy) {
  Start("cat > /dev/null", [](LinesPool::Options& options) {
    options.silence = absl::Milliseconds(10);
    options.report_silence_every = absl::Milliseconds(20);
  });
  Give("a");
  Until([&] { return silences_.size() == 2; });
  EXPECT_THAT(silences_[0], HasSubstr("flush stdout after each line"));
}

TEST_F(LinesPoolTest, MeasuresTheTimeOfTheProgramWithoutTheWaitForIt) {
  for (const std::size_t in_flight : {std::size_t{1}, std::size_t{10}}) {
    order_.clear();
    outcomes_.clear();
    Start(ForEach("sleep 0.2; " + std::string(kOk)),
          [&](LinesPool::Options& options) { options.in_flight = in_flight; });
    for (int i = 0; i < 4; ++i) Give(absl::StrCat("m", i));
    Settled(4);
    // It has waited for three others.
    ASSERT_TRUE(outcomes_.at("m3").took().has_value());
    EXPECT_GE(*outcomes_.at("m3").took(), absl::Milliseconds(150));
    EXPECT_LT(*outcomes_.at("m3").took(), absl::Milliseconds(600));
    pool_.reset();
  }
}

}  // namespace retryq::cli::lines_pool_test
