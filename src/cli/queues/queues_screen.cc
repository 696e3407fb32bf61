#include "cli/queues/queues_screen.h"

// Uses functions, as the macros have names like `clear` and `timeout`.
#define NCURSES_NOMACROS
#include <curses.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace retryq::cli {
namespace {

using Key = QueuesView::Key;

constexpr unsigned kLongestGoodbye = 2;  // seconds

std::optional<Key> MeaningOf(int key) {
  switch (key) {
    case KEY_UP:
    case 'k':
      return Key::kUp;
    case KEY_DOWN:
    case 'j':
      return Key::kDown;
    case KEY_PPAGE:
      return Key::kPageUp;
    case KEY_NPAGE:
      return Key::kPageDown;
    case KEY_HOME:
    case 'g':
      return Key::kTop;
    case KEY_END:
    case 'G':
      return Key::kBottom;
    case 's':
      return Key::kSort;
    case 'p':
    case ' ':
      return Key::kPause;
    case 'h':
    case '?':
      return Key::kHelp;
    case 'q':
    case 'Q':
      return Key::kQuit;
    default:
      return std::nullopt;
  }
}

// Colour pairs.
enum : short { kPlainPair, kWaitingPair, kOddPair };

attr_t AttributesOf(LineStyle style) {
  switch (style) {
    case LineStyle::kTitle:
    case LineStyle::kTotals:
      return A_BOLD;
    case LineStyle::kHeading:
      return A_REVERSE;
    case LineStyle::kIdle:
    case LineStyle::kWaiting:
    case LineStyle::kOdd:
      return A_NORMAL;
    case LineStyle::kFooter:
      return A_DIM;
    case LineStyle::kError:
      break;
  }
  return A_BOLD;
}

short PairOf(LineStyle style) {
  switch (style) {
    case LineStyle::kWaiting:
      return kWaitingPair;
    case LineStyle::kOdd:
    case LineStyle::kError:
      return kOddPair;
    default:
      return kPlainPair;
  }
}

bool WantsColours() {
  const char* no_color = std::getenv("NO_COLOR");  // https://no-color.org
  return no_color == nullptr || *no_color == '\0';
}

// While ncurses draws, it ignores ^Z. Blocks the signal meanwhile, so that it takes effect
// afterwards.
class StopHeld {
 public:
  StopHeld() {
    sigset_t stop;
    ::sigemptyset(&stop);
    ::sigaddset(&stop, SIGTSTP);
    ::pthread_sigmask(SIG_BLOCK, &stop, &before_);
  }
  ~StopHeld() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  StopHeld(const StopHeld&) = delete;
  StopHeld& operator=(const StopHeld&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

std::unique_ptr<QueuesScreen> QueuesScreen::Open() {
  std::setlocale(LC_CTYPE, "");  // for names in UTF-8
  SCREEN* const screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr) return nullptr;
  return std::unique_ptr<QueuesScreen>(new QueuesScreen(screen));
}

QueuesScreen::QueuesScreen(void* screen) : screen_(screen) {
  ::set_term(static_cast<SCREEN*>(screen_));
  ::cbreak();
  ::noecho();
  ::curs_set(0);
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::set_escdelay(50);  // milliseconds: a lone escape means nothing here
  colours_ =
      WantsColours() && ::has_colors() && ::start_color() == OK && ::use_default_colors() == OK;
  if (!colours_) return;
  ::init_pair(kWaitingPair, COLOR_YELLOW, -1);
  ::init_pair(kOddPair, COLOR_RED, -1);
}

QueuesScreen::~QueuesScreen() {
  // Resumes a terminal that was stopped by ^S, which Linux does only after a stop by tcflow. A
  // terminal that is not read would block forever.
  ::tcflow(STDOUT_FILENO, TCOOFF);
  ::tcflow(STDOUT_FILENO, TCOON);
  std::signal(SIGALRM, SIG_DFL);
  ::alarm(kLongestGoodbye);
  ::endwin();
  ::alarm(0);
  ::delscreen(static_cast<SCREEN*>(screen_));
}

void QueuesScreen::Draw(QueuesView& view) const {
  pollfd terminal = {STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&terminal, 1, 0) <= 0) return;  // stopped by ^S: the next drawing shows everything
  const auto width = static_cast<std::size_t>(getmaxx(stdscr));
  const auto height = static_cast<std::size_t>(getmaxy(stdscr));
  ::werase(stdscr);
  int row = 0;
  for (const ViewLine& line : view.Render(width, height)) {
    const short pair = colours_ ? PairOf(line.style) : short{kPlainPair};
    ::wattr_set(stdscr, AttributesOf(line.style), pair, nullptr);
    ::wmove(stdscr, row++, 0);
    ::waddnstr(stdscr, line.text.data(), static_cast<int>(line.text.size()));
    if (line.style == LineStyle::kHeading) {
      ::whline(stdscr, ' ' | A_REVERSE, static_cast<int>(width - line.text.size()));
    }
  }
  ::wattr_set(stdscr, A_NORMAL, kPlainPair, nullptr);
  const StopHeld held;
  ::wrefresh(stdscr);
}

void QueuesScreen::Resize() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    return;
  ::resizeterm(size.ws_row, size.ws_col);
}

std::optional<Key> QueuesScreen::ReadKey() {
  for (;;) {
    const int key = ::wgetch(stdscr);
    if (key == ERR) return std::nullopt;
    if (const std::optional<Key> meaning = MeaningOf(key)) return meaning;
  }
}

}  // namespace retryq::cli
