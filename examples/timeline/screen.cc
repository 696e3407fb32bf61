#include "timeline/screen.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace examples {
namespace {

const char* CodeOf(Color color) {
  switch (color) {
    case Color::kNone:
      return "";
    case Color::kFaint:
      return "\033[2m";
    case Color::kGreen:
      return "\033[32m";
    case Color::kYellow:
      return "\033[33m";
    case Color::kRed:
      return "\033[31m";
    case Color::kBlue:
      return "\033[36m";
  }
  return "";
}

}  // namespace

Screen::Screen(std::size_t subject_width)
    : start_(absl::Now()),
      colored_(isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr),
      subject_width_(static_cast<int>(subject_width)) {}

void Screen::PrintHeader() const {
  PrintLine(absl::StrFormat("%8s  %-*s %3s  %-14s %s", "time", subject_width_, "message", "try",
                            "endpoint says", "what happens"),
            Color::kFaint);
}

void Screen::Print(const Row& row) const {
  PrintLine(absl::StrFormat("%8.3f  %-*s %3s  %-14s %s", absl::ToDoubleSeconds(row.time - start_),
                            subject_width_, row.subject, row.attempt, row.answer, row.what),
            row.color);
}

void Screen::PrintLine(const std::string& line, Color color) const {
  if (colored_ && color != Color::kNone) {
    std::cout << CodeOf(color) << line << "\033[0m" << std::endl;
  } else {
    std::cout << line << std::endl;
  }
}

std::string Short(absl::Duration duration) {
  const absl::Duration unit = duration < absl::Seconds(10)  ? absl::Milliseconds(1)
                              : duration < absl::Minutes(1) ? absl::Milliseconds(100)
                                                            : absl::Seconds(1);
  return absl::FormatDuration(absl::Trunc(duration, unit));
}

}  // namespace examples
