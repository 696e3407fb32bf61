#include "cli/text/io.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "retryq/testing/simulated_time.h"
#include "support/test.h"

namespace retryq::cli::io_test {

class OutletTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PrepareProcess();
    std::array<int, 2> ends;
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read_end_ = FileDescriptor(ends[0]);
    write_end_ = FileDescriptor(ends[1]);
  }

  Outlet::Options Options() {
    return {.fd = write_end_.get(),
            .most = 1000,
            .gap = [](std::uint64_t lines) { return absl::StrCat("missing ", lines, "\n"); },
            .on_trouble = [this](int error) { troubles_.push_back(error); }};
  }

  std::string ReadUntil(const std::string& end) {
    std::string text;
    char next = 0;
    while (!text.ends_with(end) && ::read(read_end_.get(), &next, 1) == 1) text.push_back(next);
    return text;
  }

  // Leaves no space in the pipe.
  void FillPipe() {
    ASSERT_EQ(::fcntl(write_end_.get(), F_SETFL, O_NONBLOCK), 0);
    const std::string line(999, 'x');
    while (::write(write_end_.get(), (line + "\n").data(), 1000) > 0) {
    }
    while (::write(write_end_.get(), "\n", 1) > 0) {
    }
    ASSERT_EQ(::fcntl(write_end_.get(), F_SETFL, 0), 0);
  }

  FileDescriptor read_end_;
  FileDescriptor write_end_;
  std::vector<int> troubles_;
};

TEST_F(OutletTest, WritesEverythingInOrderBeforeItIsDestroyed) {
  std::string wanted;
  {
    Outlet outlet(Options());
    for (int i = 0; i < 50; ++i) {
      const std::string line = absl::StrCat("line ", i, "\n");
      outlet.Write(line);
      wanted.append(line);
    }
  }
  write_end_.Close();
  EXPECT_EQ(ReadAll(read_end_.get()).value(), wanted);
  EXPECT_TRUE(troubles_.empty());
}

TEST_F(OutletTest, DropsLinesOfASlowReaderAndReportsTheirNumber) {
  Outlet outlet(Options());
  FillPipe();
  const std::string line = std::string(99, 'y') + "\n";
  for (int i = 0; i < 100; ++i) outlet.Write(line);
  EXPECT_FALSE(outlet.Flush(absl::ZeroDuration()));
  const std::uint64_t dropped = outlet.dropped();
  EXPECT_GT(dropped, 50U);
  EXPECT_EQ(troubles_, std::vector<int>{0});
  const std::string gap = absl::StrCat("missing ", dropped, "\n");
  const std::string read = ReadUntil(gap);
  std::size_t kept = 0;
  for (std::size_t at = read.find(line); at != std::string::npos; at = read.find(line, at + 1)) {
    ++kept;
  }
  EXPECT_EQ(kept + dropped, 100U);
  outlet.Write("and on\n");
  EXPECT_EQ(ReadUntil("on\n"), "and on\n");
  EXPECT_EQ(outlet.dropped(), 0U);
}

TEST_F(OutletTest, IsDestroyedInTimeEvenIfNothingIsRead) {
  FillPipe();
  const absl::Time begin = absl::Now();
  std::optional<Outlet> outlet(std::in_place, Options());
  outlet->Write("never read\n");
  outlet.reset();
  EXPECT_LT(absl::Now() - begin, absl::Seconds(20));
}

TEST_F(OutletTest, CountsLinesThatAFullDiskRefuses) {
  const FileDescriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  Outlet::Options options = Options();
  options.fd = full.get();
  Outlet outlet(options);
  for (int i = 0; i < 10; ++i) {
    outlet.Write("a line\n");
    EXPECT_TRUE(outlet.Flush(absl::Minutes(1)));
  }
  EXPECT_EQ(outlet.dropped(), 10U);
  EXPECT_EQ(outlet.error(), ENOSPC);
  EXPECT_EQ(troubles_, std::vector<int>{ENOSPC});
}

TEST_F(OutletTest, DropsEverythingAfterTheReaderHasGone) {
  Outlet outlet(Options());
  read_end_.Close();
  for (int i = 0; i < 3; ++i) {
    outlet.Write("a line\n");
    EXPECT_TRUE(outlet.Flush(absl::Minutes(1)));
  }
  EXPECT_EQ(troubles_, std::vector<int>{EPIPE});
}

TEST_F(OutletTest, BeginsANewLineToReportDroppedLines) {
  Outlet outlet(Options());
  FillPipe();
  outlet.Write(std::string(1000, 'y'));
  while (outlet.dropped() == 0) outlet.Write("z");
  const std::string gap = absl::StrCat("missing ", outlet.dropped(), "\n");
  const std::string read = ReadUntil(gap);
  const char before = read[read.size() - gap.size() - 2];
  EXPECT_TRUE(before == 'y' || before == 'z') << before;
  EXPECT_EQ(read[read.size() - gap.size() - 1], '\n');
}

class WaitingTest : public ::testing::Test {
 protected:
  testing::SimulatedTime time_;
  std::vector<std::string> said_;
  std::optional<Waiting> waiting_{std::in_place, time_, "the broker",
                                  [this](const std::string& text) { said_.push_back(text); }};
};

TEST(ReadAll, RefusesInputWithoutEnd) {
  const FileDescriptor zeros(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const absl::StatusOr<std::string> all = ReadAll(zeros.get(), 1'000'000);
  EXPECT_TRUE(absl::IsInvalidArgument(all.status()));
  EXPECT_THAT(std::string(all.status().message()), HasSubstr("more than 1000000 bytes"));
}

TEST(UnreachableRemedy, FitsTheReason) {
  EXPECT_THAT(UnreachableRemedy("cannot connect to h:1: Connection refused; is RabbitMQ running?"),
              HasSubstr("start the broker"));
  for (const auto& [why, remedy] :
       {std::pair("cannot connect to h:1: Too many open files", "raise the limit of open files"),
        std::pair("h:1: its certificate (CN=x) expired on 1 May: renew it", "valid for its host"),
        std::pair("h:1: the server does not speak TLS", "port for TLS"),
        std::pair("h:1 offers the login mechanisms 'X': enable it in auth_mechanisms", "PLAIN in"),
        std::pair("h:1 accepts frames of at most 1 bytes: raise its frame_max", "in rabbitmq.conf"),
        std::pair("h:1 closed the connection; see the broker's log", "the broker's log"),
        std::pair("cannot resolve host 'h': no", "correct the host name"),
        std::pair("h:1 answers in HTTP and not in AMQP: is it a RabbitMQ?", "AMQP port")}) {
    EXPECT_THAT(UnreachableRemedy(why), AllOf(HasSubstr(remedy), Not(HasSubstr("start the"))));
  }
}

TEST_F(WaitingTest, DoesNotReportAShortWait) {
  time_.Advance(absl::Milliseconds(1900));
  waiting_.reset();
  time_.Advance(absl::Hours(1));
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(WaitingTest, ReportsAfterTwoSecondsAndEveryTenSecondsWithTheLastReason) {
  time_.Advance(absl::Seconds(2));
  EXPECT_THAT(said_, ElementsAre("waiting for the broker: no answer yet"));
  time_.Advance(absl::Seconds(9));
  waiting_->Because("127.0.0.1:1: refused");
  EXPECT_EQ(said_.size(), 1U);
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(said_.back(), "waiting for the broker: 127.0.0.1:1: refused");
  time_.Advance(absl::Minutes(1));
  EXPECT_EQ(said_.size(), 8U);
}

TEST_F(WaitingTest, EscapesTheReason) {
  waiting_->Because("\x1b[2J\n");
  time_.Advance(absl::Seconds(2));
  EXPECT_EQ(said_.at(0).find('\n'), std::string::npos);
  EXPECT_EQ(said_.at(0).find('\x1b'), std::string::npos);
}

class ProgressTest : public ::testing::Test {
 protected:
  Progress Make(bool is_terminal) {
    return Progress({.write = [this](std::string_view text) { written_.append(text); },
                     .is_terminal = is_terminal,
                     .width = 60,
                     .what = "orders.parked"});
  }

  std::string written_;
};

TEST_F(ProgressTest, PrintsNothingForShortWork) {
  Progress progress = Make(/*is_terminal=*/true);
  progress.Update(5, 10, absl::Milliseconds(100));
  progress.End();
  EXPECT_EQ(written_, "");
}

TEST_F(ProgressTest, WritesALineFromTimeToTimeIfThereIsNoTerminal) {
  Progress progress = Make(/*is_terminal=*/false);
  for (int second = 1; second <= 25; ++second) {
    progress.Update(static_cast<std::uint64_t>(second) * 100, 3000, absl::Seconds(second));
  }
  progress.Say("the broker accepts messages again");
  progress.End();
  EXPECT_EQ(written_,
            "orders.parked: 1000 of 3000, 100/s, 20s left\n"
            "orders.parked: 2000 of 3000, 100/s, 10s left\n"
            "orders.parked: the broker accepts messages again\n");
}

TEST(ProgressBar, FitsAnyWidth) {
  for (std::size_t width = 0; width < 120; ++width) {
    EXPECT_LE(ProgressBar(1, 3, absl::Seconds(1), width).size(), width);
  }
  EXPECT_EQ(ProgressBar(0, 0, absl::ZeroDuration(), 40),
            "[#####################] 100% 0 of 0, 0/s");
  EXPECT_EQ(ProgressBar(9, 3, absl::Seconds(1), 40), "[#####################] 100% 9 of 3, 9/s");
}

}  // namespace retryq::cli::io_test
