#include "cli/plot/bar_plot.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "absl/strings/str_format.h"
#include "cli/plot/number_text.h"

namespace retryq::cli {
namespace {

constexpr int kMargin = 9;  // columns left of the axis

// From an empty to a full cell.
constexpr const char* kUnicodeLevels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr const char* kAsciiLevels[] = {" ", ".", ":", "#"};

struct Glyphs {
  const char* const* levels;
  int full;  // the level that fills a cell
  const char* side;
  const char* corner;
  const char* floor;
  const char* mark_begin;
  const char* mark_line;
  const char* mark_end;
};

Glyphs GlyphsOf(const PlotStyle& style) {
  if (style.unicode) {
    return {kUnicodeLevels, std::size(kUnicodeLevels) - 1, "│", "└", "─", "├", "─", "┤"};
  }
  return {kAsciiLevels, std::size(kAsciiLevels) - 1, "|", "+", "-", "|", "=", "|"};
}

// The largest value of each column.
std::vector<double> LargestPerColumn(const std::vector<double>& values, std::size_t width) {
  std::vector<double> columns;
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t first = i * values.size() / width;
    const std::size_t last = std::max((i + 1) * values.size() / width, first + 1);
    columns.push_back(*std::max_element(values.begin() + static_cast<std::ptrdiff_t>(first),
                                        values.begin() + static_cast<std::ptrdiff_t>(last)));
  }
  return columns;
}

std::string Times(int count, const char* glyph) {
  std::string text;
  for (int i = 0; i < count; ++i) text += glyph;
  return text;
}

// "   ├─ outage ─┤        17m"
std::string Marks(const BarPlot& plot, int width, const Glyphs& glyphs) {
  const auto column = [width](double part) {
    return std::clamp(static_cast<int>(std::lround(part * width)), 0, width);
  };
  const int begin = column(plot.mark_begin);
  const int length = column(plot.mark_end) - begin;
  std::string line = Times(begin, " ");
  if (length >= 2) {
    const int name = static_cast<int>(plot.mark.size()) + 2;  // with blanks around it
    const int lines = length - 2 - name;
    line += glyphs.mark_begin;
    line += lines < 0 ? Times(length - 2, glyphs.mark_line)
                      : Times(lines / 2, glyphs.mark_line) + " " + plot.mark + " " +
                            Times(lines - lines / 2, glyphs.mark_line);
    line += glyphs.mark_end;
  }
  const int room = width - begin - (length >= 2 ? length : 0);
  const int needed = static_cast<int>(plot.end.size());
  if (needed > 0 && room > needed) line += Times(room - needed, " ") + plot.end;
  return line;
}

}  // namespace

std::string Draw(const BarPlot& plot, const PlotStyle& style) {
  const Glyphs glyphs = GlyphsOf(style);
  const int width = style.columns - kMargin - 1;
  const std::vector<double> columns =
      LargestPerColumn(plot.values, static_cast<std::size_t>(width));
  const double most = *std::max_element(columns.begin(), columns.end());
  std::vector<int> levels;
  for (const double value : columns) {
    const double level = most > 0 ? value / most * plot.height * glyphs.full : 0;
    levels.push_back(value > 0 ? std::max(static_cast<int>(std::lround(level)), 1) : 0);
  }
  std::string text = plot.title + "\n";
  for (int row = plot.height - 1; row >= 0; --row) {
    text += absl::StrFormat("%*s ", kMargin - 1, row == plot.height - 1 ? NumberText(most) : "");
    text += glyphs.side;
    std::string bars;
    for (const int level : levels) {
      bars += glyphs.levels[std::clamp(level - row * glyphs.full, 0, glyphs.full)];
    }
    text += bars.substr(0, bars.find_last_not_of(' ') + 1) + "\n";
  }
  text +=
      absl::StrFormat("%*s ", kMargin - 1, "0") + glyphs.corner + Times(width, glyphs.floor) + "\n";
  return text + Times(kMargin + 1, " ") + Marks(plot, width, glyphs) + "\n";
}

}  // namespace retryq::cli
