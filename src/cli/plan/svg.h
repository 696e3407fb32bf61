#ifndef RETRYQ_CLI_PLAN_SVG_H_
#define RETRYQ_CLI_PLAN_SVG_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace retryq::cli {

// Builds an SVG image that needs no other file: with a title and a description for screen readers,
// and colours for a light and a dark background. `look` is one of these classes:
//
//   text, strong, note         texts
//   grid, axis, limit          lines; a limit is dashed
//   outage                     a range of the background
//   first, second              areas and lines of data, also distinct for the colour-blind
//   maybe                      like first, for a random part
//
// The benchmarks draw with it as well.
class Svg {
 public:
  // In pixels.
  struct Point {
    double x;
    double y;
  };
  struct Box {
    double x;
    double y;
    double width;
    double height;
  };
  enum class Anchor { kStart, kMiddle, kEnd };

  Svg(double width, double height, std::string_view title, std::string_view description);

  void AddText(Point at, Anchor anchor, std::string_view look, std::string_view text);
  void AddLine(Point from, Point to, std::string_view look);
  void AddBox(const Box& box, std::string_view look);
  // Adds values as steps: each is valid from its point to the x of the next, the last up to
  // `right`. The area below them, down to `floor`, is filled.
  void AddSteps(const std::vector<Point>& steps, double right, double floor, std::string_view look);

  // Returns the image. Nothing may be added afterwards.
  std::string Finish() &&;

 private:
  std::string svg_;
};

// Formats a number, which must not be negative, in at most six characters: "0.25", "9999", "12.3k",
// "1.2M".
std::string NumberText(double number);

// The marks of an axis from zero to `end`, which is above zero: round numbers or usual durations,
// including zero. At most `most` marks, which must be at least two.
std::vector<double> NumberTicks(double end, int most);
std::vector<absl::Duration> TimeTicks(absl::Duration end, int most);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLAN_SVG_H_
