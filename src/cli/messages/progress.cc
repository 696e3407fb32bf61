#include "cli/messages/progress.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/text/duration.h"
#include "cli/text/io.h"
#include "loop/escaped_text.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kFirstDrawing = absl::Milliseconds(300);
constexpr absl::Duration kRedrawing = absl::Milliseconds(100);
constexpr absl::Duration kNextLine = absl::Seconds(10);
constexpr std::size_t kMaxBar = 40;

double Rate(std::uint64_t done, absl::Duration elapsed) {
  const double seconds = absl::ToDoubleSeconds(elapsed);
  return seconds > 0 ? static_cast<double>(done) / seconds : 0;
}

// "500 of 2000, 250/s, 6s left"
std::string Figures(std::uint64_t done, std::uint64_t total, absl::Duration elapsed) {
  const double rate = Rate(done, elapsed);
  std::string text = absl::StrFormat("%d of %d, %.0f/s", done, total, rate);
  if (done > 0 && done < total && rate > 0) {
    const double seconds = std::ceil(static_cast<double>(total - done) / rate);
    text += ", " + DurationText(absl::Seconds(seconds)) + " left";
  }
  return text;
}

}  // namespace

std::size_t TerminalWidth(int fd, std::size_t otherwise) {
  winsize size = {};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

Progress Progress::OnStderr(const std::string& what) {
  return Progress({.write = WriteToStderr,
                   .is_terminal = ::isatty(STDERR_FILENO) != 0,
                   .width = TerminalWidth(STDERR_FILENO, Options().width),
                   .what = what});
}

void Progress::Update(std::uint64_t done, std::uint64_t total, absl::Duration elapsed) {
  if (next_ == absl::ZeroDuration()) next_ = options_.is_terminal ? kFirstDrawing : kNextLine;
  if (ended_ || elapsed < next_) return;
  next_ = elapsed + (options_.is_terminal ? kRedrawing : kNextLine);
  if (options_.is_terminal) {
    options_.write(kEraseLine + ProgressBar(done, total, elapsed, options_.width - 1));
    drawn_ = true;
  } else {
    options_.write(EscapedText(options_.what) + ": " + Figures(done, total, elapsed) + "\n");
  }
}

void Progress::Say(const std::string& text) {
  options_.write((std::exchange(drawn_, false) ? kEraseLine : "") +
                 EscapedText(absl::StrCat(options_.what, ": ", text)) + "\n");
}

void Progress::End() {
  if (drawn_ && !ended_) options_.write(kEraseLine);
  ended_ = true;
}

std::string ProgressBar(std::uint64_t done, std::uint64_t total, absl::Duration elapsed,
                        std::size_t width) {
  const double part =
      total == 0 ? 1 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const std::string figures =
      absl::StrFormat(" %3.0f%% ", std::floor(part * 100)) + Figures(done, total, elapsed);
  constexpr std::size_t kBrackets = 2;
  if (figures.size() + kBrackets >= width) return figures.substr(0, width);
  const std::size_t bar = std::min(width - figures.size() - kBrackets, kMaxBar);
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(bar));
  return absl::StrCat("[", std::string(filled, '#'), std::string(bar - filled, '-'), "]", figures);
}

bool Agrees(const std::string& question) {
  ::tcflush(STDIN_FILENO, TCIFLUSH);
  WriteToStderr(EscapedText(question) + " [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace retryq::cli
