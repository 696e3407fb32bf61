// Uses the functions of ncurses, because its macros have names like `clear` and `timeout`.
#define NCURSES_NOMACROS
#include <curses.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/escaped_text.h"
#include "cli/queues/queues_command.h"
#include "cli/text/duration.h"
#include "cli/text/io.h"
#include "loop/libevent_ptr.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kUsualWrite = absl::Milliseconds(100);
constexpr unsigned kLongestGoodbye = 2;  // seconds

constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Resumes a terminal that was stopped by ^S. Linux does this only after tcflow has stopped the
// terminal. If nothing reads the terminal, the call would block forever: then SIGALRM ends the
// process.
void ResumeTerminal() {
  ::tcflow(STDOUT_FILENO, TCOOFF);
  ::tcflow(STDOUT_FILENO, TCOON);
  std::signal(SIGALRM, SIG_DFL);
  ::alarm(kLongestGoodbye);
}

// The title, the heading, the totals and the footer.
constexpr std::size_t kFixedLines = 4;

// Colour pairs.
enum : short { kPlainPair, kWaitingPair, kOddPair };

// The orders of the rows, and their names.
enum Order : std::size_t { kByTtl, kByWaiting, kByNextDue, kByRate };
constexpr std::array<const char*, 4> kOrders = {"ttl", "waiting", "next due", "in/s"};

constexpr std::array kHelpLines = {
    "q          quit",
    "up, k      one line up",
    "down, j    one line down",
    "page up, page down, home, end",
    "s          sort by ttl, waiting, next due or in/s",
    "p, space   pause or continue",
    "h, ?       show this help; any key closes it",
    "",
    "overdue    messages that are due, but that no queue accepts",
    "next due   ~ is an estimate to within 5s, <= is an upper bound",
    "lease left time until the broker deletes the queue if no worker declares it again",
    "serves     owner of the messages; many if all work queues share the queue",
};

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

// The terminal at stdin and stdout in full-screen mode. The destructor restores the terminal.
// SIGTSTP also restores it until the process continues. Only one object at a time.
class QueuesScreen {
 public:
  // Returns null if the terminal (TERM) is not capable of it.
  static std::unique_ptr<QueuesScreen> Open(const QueuesOptions& options) {
    std::setlocale(LC_CTYPE, "");  // for names in UTF-8
    SCREEN* const screen = ::newterm(nullptr, stdout, stdin);
    return screen == nullptr ? nullptr : std::make_unique<QueuesScreen>(options, screen);
  }
  QueuesScreen(const QueuesOptions& options, SCREEN* screen);
  ~QueuesScreen();
  QueuesScreen(const QueuesScreen&) = delete;
  QueuesScreen& operator=(const QueuesScreen&) = delete;

  // Draws a newer list, or beside the last list the reason why there is no newer one.
  void Show(const absl::StatusOr<DelayQueueList>& list);

  // Updates the size of the terminal, after SIGWINCH.
  void Resize();

  // Handles the keys that were pressed. Returns false if one of them quits.
  bool HandleKeys();

  bool paused() const { return paused_; }

 private:
  struct Row {
    std::string text;
    short pair = kPlainPair;
  };

  void Press(int key);
  void Sort();
  double SortKeyOf(const DelayQueueStatus& queue) const;
  void Draw();
  // Draws a line and erases everything below it. ncurses continues a line that is too long on the
  // next one, which the next call erases.
  void DrawLine(int y, const std::string& text, attr_t attributes, short pair = kPlainPair) const;
  std::vector<Row> Rows(const QueuesTable& table) const;
  std::string Title() const;
  std::string Footer(std::size_t rows, std::size_t end) const;

  const QueuesOptions& options_;
  SCREEN* const screen_;
  bool colours_ = false;
  DelayQueueList list_;
  std::string error_;
  std::size_t order_ = kByTtl;
  std::size_t top_ = 0;   // first row on the screen
  std::size_t page_ = 1;  // rows that fit, as last drawn
  bool paused_ = false;
  bool help_ = false;
  bool quit_ = false;
};

QueuesScreen::QueuesScreen(const QueuesOptions& options, SCREEN* screen)
    : options_(options), screen_(screen) {
  ::set_term(screen_);
  ::cbreak();
  ::noecho();
  ::curs_set(0);
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::set_escdelay(50);  // milliseconds: the escape key alone has no function here
  colours_ =
      WantsColours() && ::has_colors() && ::start_color() == OK && ::use_default_colors() == OK;
  if (!colours_) return;
  ::init_pair(kWaitingPair, COLOR_YELLOW, -1);
  ::init_pair(kOddPair, COLOR_RED, -1);
}

QueuesScreen::~QueuesScreen() {
  ResumeTerminal();
  ::endwin();
  ::alarm(0);
  ::delscreen(screen_);
}

void QueuesScreen::Show(const absl::StatusOr<DelayQueueList>& list) {
  error_ = std::string(list.status().message());
  if (list.ok()) {
    list_ = *list;
    Sort();
  }
  Draw();
}

void QueuesScreen::Resize() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
    ::resizeterm(size.ws_row, size.ws_col);
  }
  Draw();
}

bool QueuesScreen::HandleKeys() {
  for (int key = ::wgetch(stdscr); key != ERR; key = ::wgetch(stdscr)) Press(key);
  if (!quit_) Draw();
  return !quit_;
}

void QueuesScreen::Press(int key) {
  if (key == KEY_RESIZE) return;  // from resizeterm
  if (key == 'q' || key == 'Q') {
    quit_ = true;
  } else if (std::exchange(help_, false)) {
    return;
  } else if (key == KEY_UP || key == 'k') {
    top_ -= std::min<std::size_t>(top_, 1);
  } else if (key == KEY_DOWN || key == 'j') {
    ++top_;
  } else if (key == KEY_PPAGE) {
    top_ -= std::min(top_, page_);
  } else if (key == KEY_NPAGE) {
    top_ += page_;
  } else if (key == KEY_HOME || key == 'g') {
    top_ = 0;
  } else if (key == KEY_END || key == 'G') {
    top_ = list_.queues.size();
  } else if (key == 's') {
    order_ = (order_ + 1) % kOrders.size();
    Sort();
  } else if (key == 'p' || key == ' ') {
    paused_ = !paused_;
  } else if (key == 'h' || key == '?') {
    help_ = true;
  }
}

void QueuesScreen::Sort() {
  std::sort(list_.queues.begin(), list_.queues.end(), [this](const auto& a, const auto& b) {
    const double key_of_a = SortKeyOf(a);
    const double key_of_b = SortKeyOf(b);
    return std::tie(key_of_a, a.parts.ttl, a.name) < std::tie(key_of_b, b.parts.ttl, b.name);
  });
}

// Rows with the same key are sorted by TTL and name.
double QueuesScreen::SortKeyOf(const DelayQueueStatus& queue) const {
  if (order_ == kByWaiting) return static_cast<double>(-queue.waiting.value_or(-1));
  if (order_ == kByRate) return -queue.in_per_second.value_or(-1);
  if (order_ == kByTtl) return 0;
  const absl::Duration at_most = queue.next_due_at_most.value_or(absl::InfiniteDuration());
  return absl::ToDoubleSeconds(queue.next_due.value_or(at_most));
}

void QueuesScreen::Draw() {
  pollfd terminal = {STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&terminal, 1, 0) <= 0) return;  // stopped by ^S: the next drawing shows everything
  const auto height = static_cast<std::size_t>(getmaxy(stdscr));
  const QueuesTable table = MakeTable(list_);
  const std::vector<Row> rows = Rows(table);
  page_ = height > kFixedLines ? height - kFixedLines : 1;
  top_ = std::min(top_, rows.size() - std::min(rows.size(), page_));
  const std::size_t end = std::min(top_ + page_, rows.size());

  int y = 0;
  DrawLine(y++, Title(), A_BOLD);
  const bool has_table = !help_ && !list_.queues.empty();
  DrawLine(y, has_table ? table.heading : "", A_REVERSE);
  ::wmove(stdscr, y, 0);
  if (y++ < getmaxy(stdscr)) ::wchgat(stdscr, -1, A_REVERSE, kPlainPair, nullptr);
  for (std::size_t i = top_; i < end; ++i) DrawLine(y++, rows[i].text, A_NORMAL, rows[i].pair);
  DrawLine(y++, table.totals, A_BOLD);
  if (error_.empty()) {
    DrawLine(y++, Footer(rows.size(), end), A_DIM);
  } else {
    DrawLine(y++, Printable(error_), A_BOLD, kOddPair);
  }
  DrawLine(y, "", A_NORMAL);
  const StopHeld held;
  ::wrefresh(stdscr);
}

void QueuesScreen::DrawLine(int y, const std::string& text, attr_t attributes, short pair) const {
  if (::wmove(stdscr, y, 0) == ERR) return;  // below the terminal
  ::wattr_set(stdscr, A_NORMAL, kPlainPair, nullptr);
  ::wclrtobot(stdscr);
  ::wattr_set(stdscr, attributes, colours_ ? pair : short{kPlainPair}, nullptr);
  ::waddnstr(stdscr, text.data(), static_cast<int>(text.size()));
}

std::vector<QueuesScreen::Row> QueuesScreen::Rows(const QueuesTable& table) const {
  std::vector<Row> rows;
  if (help_) {
    for (const char* line : kHelpLines) rows.push_back({line});
    return rows;
  }
  if (list_.queues.empty()) return {{"no delay queues: nothing has failed lately"}};
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const DelayQueueStatus& queue = list_.queues[i];
    const short waiting = queue.waiting.value_or(0) > 0 ? kWaitingPair : kPlainPair;
    rows.push_back({table.rows[i], Oddities(queue).empty() ? waiting : short{kOddPair}});
  }
  return rows;
}

std::string QueuesScreen::Title() const {
  const std::string time = absl::FormatTime("%H:%M:%S", list_.at, absl::LocalTimeZone());
  return absl::StrCat("retryq queues  ", Printable(options_.prefix, 100), ".*  vhost '",
                      Printable(options_.place.connection.vhost, 100), "'  ", time, "  ",
                      paused_ ? "paused" : "every " + DurationText(options_.interval));
}

std::string QueuesScreen::Footer(std::size_t rows, std::size_t end) const {
  return absl::StrCat("q quit  s sort: ", kOrders[order_], "  p ", paused_ ? "continue" : "pause",
                      "  h help",
                      rows > page_ ? absl::StrCat("  ", top_ + 1, "-", end, " of ", rows) : "");
}

// The handlers of these signals before CatchStop, by signal.
using SignalHandler = void (*)(int signal);
std::array<SignalHandler, NSIG> earlier_handlers = {};

// Resumes the terminal if it was stopped by ^S amid a drawing, and calls the earlier handler. All
// of this may be done in a signal handler.
void ResumeTerminalAndPassOn(int signal) {
  const int error = errno;
  ResumeTerminal();
  earlier_handlers[static_cast<std::size_t>(signal)](signal);
  errno = error;
}

// Lets a signal end the process even while ncurses is blocked by a stopped terminal. The handler of
// the event loop must be installed.
void CatchStop(int signal) {
  struct sigaction action = {};
  ::sigaction(signal, nullptr, &action);
  earlier_handlers[static_cast<std::size_t>(signal)] = action.sa_handler;
  action.sa_handler = ResumeTerminalAndPassOn;
  ::sigaction(signal, &action, nullptr);
}

// One watch: requests the queues, shows them and waits.
class Watch {
 public:
  explicit Watch(const QueuesOptions& options)
      : options_(options),
        api_(loop_, options.place.management, {.say_waiting = false}) {}  // the screen shows it

  absl::Status Run() {
    absl::StatusOr<DelayQueueList> list = FetchDelayQueues(api_, options_);
    if (!list.ok()) return list.status();
    // Until here, a signal ends the process at once.
    for (const int signal : kStopSignals) Call<&Watch::End>(signal, EV_SIGNAL);
    OpenScreen();
    while (!over_) {
      Show(list);
      Wait();
      if (over_) break;
      if (screen_ == nullptr || !screen_->paused()) list = FetchDelayQueues(api_, options_);
    }
    return written_;
  }

 private:
  // Calls back for each signal, or when a descriptor is readable.
  template <void (Watch::*kCallback)()>
  void Call(int signal_or_fd, int what) {
    events_.emplace_back(event_new(
        loop_.base(), signal_or_fd, static_cast<short>(what | EV_PERSIST),
        [](evutil_socket_t, short, void* self) { (static_cast<Watch*>(self)->*kCallback)(); },
        this));
    event_add(events_.back().get(), nullptr);
  }

  void OpenScreen() {
    if (options_.json || ::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return;
    screen_ = QueuesScreen::Open(options_);
    if (screen_ == nullptr) return;
    for (const int signal : kStopSignals) CatchStop(signal);
    Call<&Watch::OnResize>(SIGWINCH, EV_SIGNAL);
    Call<&Watch::OnKeys>(STDIN_FILENO, EV_READ);
  }

  void OnResize() { screen_->Resize(); }

  void OnKeys() {
    pollfd terminal = {STDIN_FILENO, 0, 0};
    const bool gone = ::poll(&terminal, 1, 0) > 0 && (terminal.revents & (POLLHUP | POLLERR)) != 0;
    if (gone || !screen_->HandleKeys()) End();
  }

  void End() {
    over_ = true;
    loop_.Stop();
  }

  void Show(const absl::StatusOr<DelayQueueList>& list) {
    if (screen_ != nullptr) return screen_->Show(list);
    if (std::exchange(last_, list.status()) != list.status() && !list.ok()) {
      WriteErrors(absl::StrCat("retryq queues: ", std::string(list.status().message()), "\n"));
    }
    if (!list.ok()) return;
    // A slow reader of stdout misses some lists, but does not delay signals.
    if (!lists_.Flush(absl::ZeroDuration())) return;
    lists_.Write(options_.json ? JsonText(*list) : TableText(*list, options_));
    lists_.Flush(kUsualWrite);
    if (lists_.error() == 0) return;
    written_ = absl::DataLossError(
        absl::StrCat("cannot write to stdout: ", std::strerror(lists_.error())));
    over_ = true;
  }

  void Wait() {
    bool waited = false;
    const std::unique_ptr<Timer> timer = loop_.After(options_.interval, [this, &waited] {
      waited = true;
      loop_.Stop();
    });
    while (!waited && !over_) loop_.Run().IgnoreError();  // nothing here calls EventLoop::Fail
  }

  const QueuesOptions& options_;
  EventLoop loop_;
  ManagementApi api_;
  std::unique_ptr<QueuesScreen> screen_;
  std::vector<EventPtr> events_;  // freed before the screen, whose signal handlers they replace
  Outlet lists_{{.fd = STDOUT_FILENO}};
  bool over_ = false;
  absl::Status last_;  // without a screen: of the last list
  absl::Status written_;
};

}  // namespace

absl::Status WatchQueues(const QueuesOptions& options) { return Watch(options).Run(); }

}  // namespace retryq::cli
