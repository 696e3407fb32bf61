#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/text/io.h"

namespace retryq::cli {
namespace outlet_test {

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

}  // namespace outlet_test
}  // namespace retryq::cli
