#include "cli/worker/command_handler.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cli/text/io.h"
#include "support/make_message.h"
#include "support/temporary_directory.h"

namespace retryq::cli {
namespace {

using ::retryq::testing::MakeMessage;
using ::retryq::testing::TemporaryDirectory;

class CommandHandlerTest : public ::testing::Test {
 protected:
  void SetUp() override { PrepareProcess(); }

  CommandHandler MakeHandler(std::vector<std::string> command,
                             CommandHandler::OnAvailability on_availability = {}) {
    return CommandHandler(
        children_,
        {.command = std::move(command), .max_attempts = 9, .recheck = absl::Milliseconds(1)},
        std::move(on_availability));
  }

  static Delivery MakeDelivery() {
    return Delivery(MakeMessage({.body = "the body"}),
                    std::make_shared<const std::string>("orders"),
                    {.failures = 2, .last_error = "before", .id = "id-1"});
  }

  std::string Stdout() const { return directory_.Read("stdout"); }

  TemporaryDirectory directory_;
  FileDescriptor stdout_{
      ::open(directory_.File("stdout").c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600)};
  FileDescriptor null_{::open("/dev/null", O_WRONLY | O_CLOEXEC)};
  ChildRunner children_{
      {.stdout_fd = stdout_.get(), .stderr_fd = null_.get(), .kill_grace = absl::Milliseconds(50)}};
};

TEST_F(CommandHandlerTest, GivesTheCommandTheMessage) {
  CommandHandler handler = MakeHandler(
      {"sh", "-c",
       "cat; echo \" $RETRYQ_ATTEMPT $RETRYQ_MAX_ATTEMPTS $RETRYQ_LAST_ERROR $RETRYQ_ID $1\"", "sh",
       "an argument"});
  EXPECT_TRUE(handler.Handle(MakeDelivery()).status().ok());
  EXPECT_EQ(Stdout(), "the body 2 9 before id-1 an argument\n");
}

TEST_F(CommandHandlerTest, KeepsAMessageUntilItsCommandIsThere) {
  const std::string command = directory_.File("command");
  std::vector<std::optional<std::string>> said;
  CommandHandler handler = MakeHandler({command}, [&](std::optional<std::string> why_not) {
    if (why_not) directory_.Write("command", "#!/bin/sh\ncat", /*executable=*/true);
    said.push_back(std::move(why_not));
  });
  EXPECT_TRUE(handler.Handle(MakeDelivery()).status().ok());
  EXPECT_EQ(Stdout(), "the body");
  ASSERT_EQ(said.size(), 2U);
  EXPECT_EQ(said[0], "cannot be started: No such file or directory");
  EXPECT_EQ(said[1], std::nullopt);
}

TEST_F(CommandHandlerTest, TakesAShellsWordThatThereIsNoCommand) {
  std::vector<std::optional<std::string>> said;
  CommandHandler handler =
      MakeHandler({"sh", "-c", directory_.File("inner")}, [&](std::optional<std::string> why_not) {
        if (why_not) directory_.Write("inner", "#!/bin/sh\nexit 3", /*executable=*/true);
        said.push_back(std::move(why_not));
      });
  EXPECT_EQ(handler.Handle(MakeDelivery()).status().message(), "exit 3");
  ASSERT_EQ(said.size(), 2U);
  EXPECT_TRUE(said[0]->starts_with("exit 127")) << *said[0];
}

TEST_F(CommandHandlerTest, GivesTheMessageBackWhenAllIsToEndBeforeThereIsACommand) {
  CommandHandler handler =
      MakeHandler({directory_.File("never")}, [&](std::optional<std::string> why) {
        if (why) children_.EndAll();
      });
  EXPECT_EQ(handler.Handle(MakeDelivery()).kind(), Outcome::Kind::kRequeue);
}

TEST_F(CommandHandlerTest, GivesTheMessageBackWhenNothingIsToStartBeforeThereIsACommand) {
  std::atomic<bool> without_command = false;
  CommandHandler handler = MakeHandler({directory_.File("never")},
                                       [&](const auto& why) { without_command = why.has_value(); });
  std::thread thread(
      [&] { EXPECT_EQ(handler.Handle(MakeDelivery()).kind(), Outcome::Kind::kRequeue); });
  while (!without_command) std::this_thread::yield();
  handler.StartNoMore();
  thread.join();
}

TEST_F(CommandHandlerTest, StartsNothingOnceToldSo) {
  CommandHandler handler = MakeHandler({"sh", "-c", "echo started"});
  handler.StartNoMore();
  EXPECT_EQ(handler.Handle(MakeDelivery()).kind(), Outcome::Kind::kRequeue);
  EXPECT_EQ(Stdout(), "");
}

TEST_F(CommandHandlerTest, GivesBackTheMessageWhoseCommandWasEnded) {
  CommandHandler handler = MakeHandler({"sh", "-c", "echo started; sleep 600"});
  std::thread thread(
      [&] { EXPECT_EQ(handler.Handle(MakeDelivery()).kind(), Outcome::Kind::kRequeue); });
  while (Stdout().empty()) std::this_thread::yield();
  children_.EndAll();
  thread.join();
}

}  // namespace
}  // namespace retryq::cli
