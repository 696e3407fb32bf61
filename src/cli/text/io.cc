#include "cli/text/io.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/escaped_text.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kPatienceAtTheEnd = absl::Seconds(1);
constexpr absl::Duration kTroubleEvery = absl::Minutes(1);

// The size of one write, so that kept text shrinks as a slow reader reads.
constexpr std::size_t kPiece = std::size_t{64} * 1024;

std::uint64_t LinesIn(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

constexpr absl::Duration kFirstReport = absl::Seconds(2);
constexpr absl::Duration kReportEvery = absl::Seconds(10);

// Parts of the library's errors and their remedies; the first match counts.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kRemedies = {{
    {"open files", "raise the limit of open files (ulimit -n, LimitNOFILE= of a unit)"},
    {"its certificate",
     "give the broker a certificate that is valid for its host name in --url, or name the "
     "certificate authority to trust (?cacertfile=FILE)"},
    {"certificate", "check the certificates, and name the authority to trust (?cacertfile=FILE)"},
    {"TLS", "use the broker's port for TLS in --url (usually 5671), or amqp://"},
    {"auth_mechanisms", "enable PLAIN in auth_mechanisms, in rabbitmq.conf of the broker"},
    {"frame_max", "raise frame_max in rabbitmq.conf of the broker"},
    {"see the broker's log", "read the broker's log"},
    {"cannot resolve", "correct the host name in --url, or check the name servers"},
    {"violates the protocol", "use the broker's AMQP port in --url or RETRYQ_URL (usually 5672)"},
    {"is it a RabbitMQ", "use the broker's AMQP port in --url or RETRYQ_URL (usually 5672)"},
}};

constexpr absl::Duration kFirstDrawing = absl::Milliseconds(300);
constexpr absl::Duration kRedrawing = absl::Milliseconds(100);
constexpr absl::Duration kNextLine = absl::Seconds(10);
constexpr std::size_t kMaxBar = 40;

// Erases the current line of a terminal and moves to its beginning.
constexpr char kEraseLine[] = "\r\033[K";

// Writes text; may block. Returns the unwritten text, and the errno if there is any, otherwise 0.
std::pair<std::string_view, int> WriteSome(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd writable = {fd, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return {text, errno};
    }
  }
  return {text, 0};
}

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

void FileDescriptor::Close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool WriteAll(int fd, std::string_view data) {
  const int error = WriteSome(fd, data).second;
  errno = error;
  return error == 0;
}

absl::Status WriteResult(std::string_view result) {
  if (WriteAll(STDOUT_FILENO, result)) return absl::OkStatus();
  return absl::DataLossError("cannot write to stdout: " +
                             std::error_code(errno, std::generic_category()).message());
}

absl::StatusOr<std::string> ReadAll(int fd, std::size_t most) {
  std::string all;
  std::array<char, 65536> chunk;
  for (;;) {
    const ssize_t size = ::read(fd, chunk.data(), chunk.size());
    if (size == 0) return all;
    if (size > 0) {
      all.append(chunk.data(), static_cast<std::size_t>(size));
      if (all.size() > most) {
        return absl::InvalidArgumentError(
            absl::StrCat("the input has more than ", most, " bytes; remedy: shorten it"));
      }
    } else if (errno == EAGAIN) {
      pollfd readable = {fd, POLLIN, 0};
      ::poll(&readable, 1, -1);
    } else if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, "cannot read");
    }
  }
}

void PrepareProcess() {
  // open returns the lowest closed descriptor.
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
  }
  // An ignored SIGCHLD, which exec inherits, would discard the exit codes of children.
  std::signal(SIGCHLD, SIG_DFL);
  // Then the write returns the error.
  for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
}

struct Outlet::Shared {
  // The text that the thread writes next.
  struct Piece {
    std::string text;
    bool is_gap = false;        // the line that reports dropped lines
    std::uint64_t missing = 0;  // the number that this line reports
  };

  explicit Shared(Options given) : options(std::move(given)) {}

  bool is_idle() const { return kept.empty() && !is_writing; }

  void Drop(std::uint64_t lines);
  // Returns the text to write next; nullopt if the outlet is closed and everything is written.
  std::optional<Piece> TakePiece();
  // `left` is the unwritten end of the piece.
  void OnWritten(const Piece& piece, std::string_view left);

  Options options;

  std::mutex mutex;  // guards the members below, and on_trouble
  std::condition_variable changed;
  std::optional<std::thread> thread;
  bool no_thread = false;  // the thread cannot be started
  bool is_closed = false;
  std::string kept;
  bool is_writing = false;   // the thread is writing earlier text
  bool is_dropping = false;  // until all kept text is written
  bool wants_gap = false;    // text has arrived since the last try to write the gap
  bool has_reader = true;
  bool is_amid_line = false;  // the last write ended within a line
  std::string unfinished;     // the unwritten rest of that line
  std::uint64_t dropped = 0;
  int error = 0;
  absl::Time trouble_from = absl::InfinitePast();
};

void Outlet::Shared::Drop(std::uint64_t lines) {
  dropped += lines;
  is_dropping = true;
  if (options.on_trouble == nullptr || absl::Now() < trouble_from) return;
  trouble_from = absl::Now() + kTroubleEvery;
  options.on_trouble(error);
}

std::optional<Outlet::Shared::Piece> Outlet::Shared::TakePiece() {
  if (!kept.empty()) {
    Piece piece{.text = kept.substr(0, kPiece)};
    kept.erase(0, kPiece);
    return piece;
  }
  if (!std::exchange(wants_gap, false)) return std::nullopt;
  Piece gap{.is_gap = true, .missing = dropped};
  if (is_amid_line) gap.text = unfinished.empty() ? "\n" : unfinished;
  gap.text.append(options.gap(dropped));
  return gap;
}

void Outlet::Shared::OnWritten(const Piece& piece, std::string_view left) {
  if (left.size() < piece.text.size()) {
    is_amid_line = piece.text[piece.text.size() - left.size() - 1] != '\n';
  }
  if (error == EPIPE) {
    has_reader = false;
    wants_gap = false;
    kept.clear();
    Drop(0);
  } else if (error != 0) {
    std::string rest = absl::StrCat(std::string(left), std::exchange(kept, {}));
    if (is_amid_line) {
      unfinished = rest.substr(0, rest.find('\n')).append("\n");
      rest.erase(0, unfinished.size());
    }
    Drop(piece.is_gap ? 0 : LinesIn(rest));
  } else if (piece.is_gap) {
    dropped -= piece.missing;
    if (dropped == 0) is_dropping = false;
  }
}

Outlet::Outlet(Options options) : shared_(std::make_shared<Shared>(std::move(options))) {}

Outlet::~Outlet() {
  const bool is_written = Flush(kPatienceAtTheEnd);
  std::optional<std::thread> thread;
  {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    shared_->is_closed = true;
    shared_->options.on_trouble = nullptr;  // its owner is destroyed, but the thread may continue
    thread = std::exchange(shared_->thread, std::nullopt);
  }
  shared_->changed.notify_all();
  if (!thread) return;
  is_written ? thread->join() : thread->detach();
}

void Outlet::Write(std::string_view text) {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  Shared& shared = *shared_;
  if (!shared.has_reader || text.empty()) return;
  if (!shared.thread && !shared.no_thread) {
    try {
      shared.thread.emplace(&Outlet::Run, shared_);
    } catch (const std::system_error&) {
      shared.no_thread = true;
    }
  }
  if (shared.no_thread) {
    WriteAll(shared.options.fd, text);
    return;
  }
  const bool is_full = !shared.is_idle() && shared.kept.size() + text.size() > shared.options.most;
  if (shared.is_dropping || is_full) {
    shared.Drop(std::max<std::uint64_t>(LinesIn(text), 1));
    shared.wants_gap = true;
  } else {
    shared.kept.append(text);
  }
  shared.changed.notify_all();
}

void Outlet::Run(const std::shared_ptr<Shared>& shared) {
  std::unique_lock<std::mutex> lock(shared->mutex);
  for (;;) {
    shared->changed.wait(lock, [&shared] {
      return shared->is_closed || !shared->kept.empty() || shared->wants_gap;
    });
    const std::optional<Shared::Piece> piece = shared->TakePiece();
    if (!piece) return;
    shared->is_writing = true;
    lock.unlock();
    const auto [left, error] = WriteSome(shared->options.fd, piece->text);
    lock.lock();
    shared->is_writing = false;
    shared->error = error;
    shared->OnWritten(*piece, left);
    shared->changed.notify_all();
  }
}

bool Outlet::Flush(absl::Duration patience) {
  std::unique_lock<std::mutex> lock(shared_->mutex);
  return shared_->changed.wait_until(
      lock, std::chrono::system_clock::now() + absl::ToChronoMilliseconds(patience),
      [this] { return shared_->is_idle() && !shared_->wants_gap; });
}

int Outlet::error() const {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  return shared_->error;
}

std::uint64_t Outlet::dropped() const {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  return shared_->dropped;
}

std::string Outlet::GapText(std::uint64_t lines) {
  return absl::StrCat("retryq: ", lines,
                      " lines were dropped here, because they were not read in time\n");
}

namespace {

void WriteToStderr(std::string_view text) {
  static Outlet outlet({.fd = STDERR_FILENO});
  static bool is_stuck = false;
  outlet.Write(text);
  is_stuck = !outlet.Flush(is_stuck ? absl::ZeroDuration() : absl::Seconds(1));
}

}  // namespace

void WriteErrors(std::string_view text) { WriteToStderr(EscapedLines(text)); }

std::string UnreachableRemedy(std::string_view why) {
  for (const auto& [part, remedy] : kRemedies) {
    if (why.find(part) != std::string_view::npos) return std::string(remedy);
  }
  return "start the broker, or name another one with --url or RETRYQ_URL";
}

Waiting::Waiting(Timers& timers, std::string what, Say say)
    : timers_(timers), what_(std::move(what)), say_(std::move(say)) {
  SayAfter(kFirstReport);
}

void Waiting::SayAfter(absl::Duration pause) {
  timer_ = timers_.After(pause, [this] {
    const std::unique_ptr<Timer> fired = std::move(timer_);
    say_(EscapedText(absl::StrCat("waiting for ", what_, ": ", why_)));
    SayAfter(kReportEvery);
  });
}

void Waiting::OnStderr(const std::string& text) {
  WriteErrors(absl::StrCat("retryq: ", text, "\n"));
}

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
