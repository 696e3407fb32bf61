#include "cli/send/answer_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <string>

#include "cli/text/io.h"

namespace retryq::cli {
namespace answer_writer_test {

class AnswerWriterTest : public ::testing::Test {
 protected:
  AnswerWriterTest() {
    std::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    read_end_ = FileDescriptor(ends[0]);
    write_end_ = FileDescriptor(ends[1]);
    writer_.emplace(
        loop_, write_end_.get(),
        AnswerWriter::Callbacks{.on_idle = [this] { ++idle_; },
                                .on_broken = [this](const std::string& why) { broken_ += why; }});
  }

  void RunSome() {
    for (int turn = 0; turn < 20; ++turn) {
      const auto timer = loop_.After(absl::ZeroDuration(), [this] { loop_.Stop(); });
      EXPECT_EQ(loop_.Run(), absl::OkStatus());
    }
  }

  // What is in the pipe, or a part of it.
  std::string Take(std::size_t most = 65536) {
    std::string text(most, '\0');
    const ssize_t size = ::read(read_end_.get(), text.data(), most);
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

  EventLoop loop_;
  FileDescriptor read_end_, write_end_;
  std::optional<AnswerWriter> writer_;
  int idle_ = 0;
  std::string broken_;
};

TEST_F(AnswerWriterTest, WritesTheLinesOfATurnTogether) {
  writer_->Write("one\n");
  writer_->Write("two\n");
  EXPECT_EQ(writer_->size(), 8U);
  RunSome();
  EXPECT_EQ(Take(), "one\ntwo\n");
  EXPECT_EQ(writer_->size(), 0U);
  EXPECT_EQ(idle_, 1);
}

TEST_F(AnswerWriterTest, KeepsWhatIsNotReadAndDoesNotBlock) {
  std::string all;
  for (int i = 0; i < 200'000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    writer_->Write(line);
    all += line;
  }
  RunSome();
  EXPECT_GT(writer_->size(), 0U);
  EXPECT_EQ(idle_, 0);
  std::string read;
  while (read.size() < all.size()) {
    read += Take();
    RunSome();
  }
  EXPECT_EQ(read, all);
  EXPECT_EQ(writer_->size(), 0U);
}

TEST_F(AnswerWriterTest, ReportsOnceThatNobodyReads) {
  read_end_.Close();
  writer_->Write("one\n");
  RunSome();
  EXPECT_EQ(broken_, "Broken pipe");
  EXPECT_TRUE(writer_->is_broken());
  writer_->Write("two\n");
  RunSome();
  EXPECT_EQ(broken_, "Broken pipe");
  EXPECT_EQ(writer_->size(), 0U);
}

}  // namespace answer_writer_test
}  // namespace retryq::cli
