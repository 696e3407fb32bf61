#ifndef RETRYQ_CLI_PLOT_SVG_H_
#define RETRYQ_CLI_PLOT_SVG_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retryq::cli {

// Builds an SVG image: self-contained, with a title and a description for those who cannot
// see it, and colours for a light and a dark background. `look` is one of the classes below.
//
//   text, strong, note         texts
//   grid, axis, limit          lines; a limit is dashed
//   outage                     a range of the background
//   first, second              areas and lines of data, also distinct for the colour-blind
//   maybe                      like first, for a random part
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
  // Adds values as steps: each is valid from its point to the x of the next. Closed at `floor` and
  // filled.
  void AddArea(const std::vector<Point>& steps, double right, double floor, std::string_view look);
  // Adds such steps as an open line.
  void AddStepLine(const std::vector<Point>& steps, double right, std::string_view look);

  // Returns the image. Nothing may be added afterwards.
  std::string Finish() &&;

 private:
  std::string svg_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_PLOT_SVG_H_
