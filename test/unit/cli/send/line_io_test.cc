#include "cli/send/line_io.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/text/io.h"
#include "support/temporary_directory.h"

namespace retryq::cli {
namespace line_io_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// AnswerWriter is tested by the integration tests of `send --lines`.
class LineReaderTest : public ::testing::Test {
 protected:
  LineReaderTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read_end_ = FileDescriptor(ends[0]);
    write_end_ = FileDescriptor(ends[1]);
  }

  void Read(int fd, std::size_t longest = 100) {
    reader_.emplace(loop_, fd, longest,
                    LineReader::Callbacks{.on_line =
                                              [this](std::string_view line) {
                                                lines_.emplace_back(line);
                                                return lines_.size() < room_;
                                              },
                                          .on_too_long =
                                              [this] {
                                                lines_.emplace_back("too long");
                                                return true;
                                              },
                                          .on_end =
                                              [this](const absl::Status& status) {
                                                end_ = status;
                                                loop_.Stop();
                                              }});
    reader_->Resume();
  }

  void RunToEnd() {
    if (end_) return;
    EXPECT_EQ(loop_.Run(), absl::OkStatus());
  }

  // Runs the loop until it has processed everything that is in the pipe.
  void RunSome() {
    for (int turn = 0; turn < 20; ++turn) {
      const auto timer = loop_.After(absl::ZeroDuration(), [this] { loop_.Stop(); });
      EXPECT_EQ(loop_.Run(), absl::OkStatus());
    }
  }

  EventLoop loop_;
  FileDescriptor read_end_, write_end_;
  retryq::testing::TemporaryDirectory files_;
  std::optional<LineReader> reader_;
  std::size_t room_ = 1'000'000;
  std::vector<std::string> lines_;
  std::optional<absl::Status> end_;
};

TEST_F(LineReaderTest, JoinsTheChunksOfALine) {
  Read(read_end_.get());
  for (const char* piece : {"on", "e", "\ntw", "o\n"}) {
    WriteAll(write_end_.get(), piece);
    RunSome();
  }
  EXPECT_THAT(lines_, ElementsAre("one", "two"));
}

TEST_F(LineReaderTest, PausesUntilItsOwnerHasRoom) {
  WriteAll(write_end_.get(), "one\ntwo\nthree");
  write_end_.Close();
  room_ = 1;
  Read(read_end_.get());
  RunSome();
  EXPECT_THAT(lines_, ElementsAre("one"));
  room_ = 3;
  reader_->Resume();
  RunSome();
  EXPECT_THAT(lines_, ElementsAre("one", "two", "three"));
  EXPECT_FALSE(end_) << "it has no room for it";
  room_ = 10;
  reader_->Resume();
  RunToEnd();
  EXPECT_EQ(end_, absl::OkStatus());
}

TEST_F(LineReaderTest, SkipsALineThatIsTooLong) {
  const std::string long_line(300'000, 'x');
  FileDescriptor file(::open(files_.File("lines").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  WriteAll(file.get(), "one\n" + long_line + "\n" + std::string(101, 'y') + "\n" +
                           std::string(100, 'z') + "\n" + long_line);
  ::lseek(file.get(), 0, SEEK_SET);
  Read(file.get());
  RunToEnd();
  EXPECT_THAT(lines_,
              ElementsAre("one", "too long", "too long", std::string(100, 'z'), "too long"));
}

TEST_F(LineReaderTest, ReportsAReadError) {
  FileDescriptor directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Read(directory.get());
  RunToEnd();
  EXPECT_THAT(std::string(end_->message()), HasSubstr("cannot read stdin"));
}

TEST_F(LineReaderTest, CallsNothingAfterItIsStopped) {
  WriteAll(write_end_.get(), "one\n");
  Read(read_end_.get());
  reader_->Stop();
  RunSome();
  EXPECT_THAT(lines_, IsEmpty());
}

}  // namespace line_io_test
}  // namespace retryq::cli
