#ifndef RETRYQ_CLI_PLOT_SVG_H_
#define RETRYQ_CLI_PLOT_SVG_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retryq::cli {

// An SVG image in the making: self-contained, with a title and a description for those who cannot
// see it, and colours for light and for dark surroundings. `look` is one of the classes below.
//
//   text, strong, note         texts
//   grid, axis, limit          lines; a limit is dashed
//   outage                     a stretch of the ground
//   first, second              areas and lines that show data, in colours that differ for everybody
//   maybe                      the same as first, where chance decides
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
  // Values as steps: each holds from its point to the next one's x. Closed at `floor`, and filled.
  void AddArea(const std::vector<Point>& steps, double right, double floor, std::string_view look);
  // The same, not closed.
  void AddStepLine(const std::vector<Point>& steps, double right, std::string_view look);

  // The image. Nothing may be added after it.
  std::string Finish() &&;

 private:
  std::string svg_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLOT_SVG_H_
