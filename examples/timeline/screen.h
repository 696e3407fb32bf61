#ifndef RETRYQ_EXAMPLES_TIMELINE_SCREEN_H_
#define RETRYQ_EXAMPLES_TIMELINE_SCREEN_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"

namespace examples {

enum class Color { kNone, kFaint, kGreen, kYellow, kRed, kBlue };

// One row of the timeline; what does not apply is empty.
struct Row {
  absl::Time time;
  std::string subject;  // a message or a queue
  std::string attempt;
  std::string answer;  // of the endpoint
  std::string what;
  Color color = Color::kNone;
};

// Writes to stdout, in columns, and in colours where that is a terminal and NO_COLOR is not set.
class Screen {
 public:
  // Rows show the time since now; `subject_width` is that of the widest subject to come.
  explicit Screen(std::size_t subject_width);

  void PrintHeader() const;
  void Print(const Row& row) const;
  void PrintLine(const std::string& line, Color color = Color::kNone) const;

 private:
  const absl::Time start_;
  const bool colored_;
  const int subject_width_;
};

// "1s", "1.5s", "2m30s": rounded to what a reader wants to know.
std::string Short(absl::Duration duration);

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_TIMELINE_SCREEN_H_
