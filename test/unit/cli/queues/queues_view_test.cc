#include "cli/queues/queues_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace retryq::cli {
namespace queues_view_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Key = QueuesView::Key;

constexpr std::size_t kWidth = 120;

class QueuesViewTest : public ::testing::Test {
 protected:
  // Queues of so many seconds.
  static DelayQueueList List(int count) {
    DelayQueueList list;
    for (int i = 1; i <= count; ++i) {
      const absl::Duration ttl = absl::Seconds(i);
      list.queues.push_back({.name = "retry." + std::to_string(i * 1000),
                             .parts = {.ttl = ttl},
                             .type = "classic",
                             .ttl = ttl,
                             .waiting = i % 3,
                             .in_per_second = i % 5,
                             .next_due_at_most = absl::Seconds(100 - i)});
    }
    return list;
  }

  // The names of the queues that are to be seen.
  std::vector<std::string> Names(std::size_t height = 24) {
    std::vector<std::string> names;
    for (const ViewLine& line : view_.Render(kWidth, height)) {
      if (line.text.starts_with("retry."))
        names.push_back(line.text.substr(0, line.text.find(' ')));
    }
    return names;
  }
  std::string Screen(std::size_t width = kWidth, std::size_t height = 24) {
    std::string text;
    for (const ViewLine& line : view_.Render(width, height)) text += line.text + "\n";
    return text;
  }

  QueuesView view_{{.vhost = "shop", .prefix = "retry", .interval = absl::Seconds(2)}};
};

TEST_F(QueuesViewTest, ShowsTheTableBetweenTitleAndKeys) {
  view_.Show(List(2));
  const std::vector<ViewLine> lines = view_.Render(kWidth, 24);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_THAT(lines[0].text, HasSubstr("retry.*  vhost 'shop'"));
  EXPECT_THAT(lines[0].text, HasSubstr("every 2s"));
  EXPECT_EQ(lines[1].style, LineStyle::kHeading);
  EXPECT_THAT(lines[2].text, HasSubstr("retry.1000"));
  EXPECT_THAT(lines[4].text, HasSubstr("2 queues"));
  EXPECT_THAT(lines[5].text, HasSubstr("q quit"));
}

TEST_F(QueuesViewTest, FitsIntoEveryTerminal) {
  view_.Show(List(50));
  for (const Key key : {Key::kDown, Key::kBottom, Key::kHelp}) {
    for (std::size_t height = 0; height < 30; ++height) {
      for (const std::size_t width : {0U, 1U, 7U, 40U, 300U}) {
        const std::vector<ViewLine> lines = view_.Render(width, height);
        EXPECT_LE(lines.size(), height);
        for (const ViewLine& line : lines) EXPECT_LE(line.text.size(), width);
      }
    }
    view_.Press(key);
  }
}

TEST_F(QueuesViewTest, CutsNoCharacterInTwo) {
  QueuesView view({.vhost = "\xc3\xa4\xc3\xb6", .prefix = "retry"});
  for (std::size_t width = 0; width < 40; ++width) {
    const std::string title = view.Render(width, 1).at(0).text;
    EXPECT_TRUE(title.empty() || title.back() != '\xc3') << width;
  }
}

TEST_F(QueuesViewTest, ScrollsNoFurtherThanThereIsAnything) {
  view_.Show(List(5));
  EXPECT_THAT(Names(6), ElementsAre("retry.1000", "retry.2000"));
  EXPECT_THAT(Screen(kWidth, 6), HasSubstr("1-2 of 5"));
  view_.Press(Key::kUp);
  EXPECT_THAT(Names(6), ElementsAre("retry.1000", "retry.2000"));
  view_.Press(Key::kDown);
  EXPECT_THAT(Names(6), ElementsAre("retry.2000", "retry.3000"));
  view_.Press(Key::kPageDown);
  EXPECT_THAT(Names(6), ElementsAre("retry.4000", "retry.5000"));
  view_.Press(Key::kDown);
  EXPECT_THAT(Names(6), ElementsAre("retry.4000", "retry.5000"));
  view_.Press(Key::kPageUp);
  EXPECT_THAT(Names(6), ElementsAre("retry.2000", "retry.3000"));
  view_.Press(Key::kTop);
  EXPECT_THAT(Names(6), ElementsAre("retry.1000", "retry.2000"));
  view_.Press(Key::kBottom);
  EXPECT_THAT(Names(6), ElementsAre("retry.4000", "retry.5000"));
  // Queues go, and the terminal grows.
  view_.Show(List(1));
  EXPECT_THAT(Names(6), ElementsAre("retry.1000"));
  view_.Show(List(3));
  EXPECT_EQ(Names(24).size(), 3U);
}

TEST_F(QueuesViewTest, SortsByWhatIsAskedFor) {
  view_.Show(List(5));
  EXPECT_THAT(Screen(), HasSubstr("sort: ttl"));
  view_.Press(Key::kSort);
  EXPECT_THAT(Screen(), HasSubstr("sort: waiting"));
  EXPECT_THAT(Names(),
              ElementsAre("retry.2000", "retry.5000", "retry.1000", "retry.4000", "retry.3000"));
  view_.Press(Key::kSort);
  EXPECT_THAT(Names(),
              ElementsAre("retry.5000", "retry.4000", "retry.3000", "retry.2000", "retry.1000"));
  view_.Show(List(2));
  EXPECT_THAT(Names(), ElementsAre("retry.2000", "retry.1000"));
  view_.Press(Key::kSort);
  EXPECT_THAT(Screen(), HasSubstr("sort: in/s"));
  view_.Press(Key::kSort);
  EXPECT_THAT(Names(), ElementsAre("retry.1000", "retry.2000"));
}

TEST_F(QueuesViewTest, PausesHelpsAndQuits) {
  view_.Show(List(2));
  view_.Press(Key::kPause);
  EXPECT_TRUE(view_.paused());
  EXPECT_THAT(Screen(), HasSubstr("paused"));
  view_.Press(Key::kPause);
  EXPECT_FALSE(view_.paused());
  view_.Press(Key::kHelp);
  EXPECT_THAT(Screen(), HasSubstr("sort by"));
  EXPECT_THAT(Screen(), Not(HasSubstr("retry.1000")));
  view_.Press(Key::kDown);
  EXPECT_THAT(Screen(), HasSubstr("retry.1000"));
  EXPECT_FALSE(view_.quit());
  view_.Press(Key::kHelp);
  view_.Press(Key::kQuit);
  EXPECT_TRUE(view_.quit());
}

TEST_F(QueuesViewTest, KeepsTheLastListBesideAnError) {
  view_.Show(List(2));
  view_.ShowError("no answer\x1b[2J");
  EXPECT_THAT(Screen(), HasSubstr("retry.1000"));
  EXPECT_THAT(Screen(), HasSubstr("no answer\\u{1B}[2J"));
  view_.Show(List(2));
  EXPECT_THAT(Screen(), Not(HasSubstr("no answer")));
}

TEST_F(QueuesViewTest, SaysThatNothingHasFailed) {
  view_.Show({});
  EXPECT_THAT(Screen(), HasSubstr("nothing has failed lately"));
}

TEST_F(QueuesViewTest, TellsLinesApartByWhatTheyMean) {
  DelayQueueList list = List(3);
  list.queues[0].state = "down";
  view_.Show(list);
  const std::vector<ViewLine> lines = view_.Render(kWidth, 24);
  EXPECT_EQ(lines[2].style, LineStyle::kOdd);
  EXPECT_EQ(lines[3].style, LineStyle::kWaiting);
  EXPECT_EQ(lines[4].style, LineStyle::kIdle);
}

}  // namespace queues_view_test
}  // namespace retryq::cli
