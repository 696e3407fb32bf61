#include "cli/worker/lines_child.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <sysexits.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/text/duration.h"
#include "cli/worker/child_process.h"
#include "cli/worker/lines_protocol.h"
#include "cli/worker/outcome_of_child.h"
#include "cli/worker/spawn.h"
#include "loop/escaped_text.h"
#include "retryq/clock.h"

namespace retryq::cli {
namespace {

constexpr std::size_t kChunk = std::size_t{64} * 1024;
constexpr std::size_t kShownOfALine = 100;

// After a child has ended, reads at most as much as its pipes hold: a process that inherited them
// may write forever.
constexpr int kPipefuls = 32;

bool MustWait() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

LinesChild::LinesChild(EventLoop& loop, const Options& options, Owner& owner)
    : loop_(loop), options_(options), owner_(owner) {}

LinesChild::~LinesChild() {
  if (pid_ < 0) return;
  if (!ended_because_) Signal(SIGTERM);
  const absl::Duration begun = ended_because_ ? terminated_at_ : loop_.clock().SinceBoot();
  for (;;) {
    const absl::Duration left = begun + options_.kill_grace - loop_.clock().SinceBoot();
    if (left <= absl::ZeroDuration()) break;
    pollfd polled = {process_.get(), POLLIN, 0};
    if (::poll(&polled, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1) > 0) break;
  }
  Signal(SIGKILL);  // the rest of its group
  WaitFor(pid_);
}

template <void (LinesChild::*method)()>
LinesChild::EventPtr LinesChild::MakeEvent(int fd, short what) {
  return EventPtr(event_new(
      loop_.base(), fd, what,
      [](evutil_socket_t, short, void* self) { (static_cast<LinesChild*>(self)->*method)(); },
      this));
}

int LinesChild::Start() {
  Pipe in;
  Pipe out;
  Pipe err;
  for (Pipe* pipe : {&in, &out, &err}) {
    if (const int error = OpenPipe(pipe)) return error;
  }
  Spawned spawned;
  if (const int error = Spawn(options_.command, options_.environment, in.read_end.get(),
                              out.write_end.get(), err.write_end.get(), &spawned)) {
    return error;
  }
  pid_ = spawned.pid;
  process_ = std::move(spawned.process);
  stdin_ = std::move(in.write_end);
  stdout_ = std::move(out.read_end);
  stderr_ = std::move(err.read_end);
  for (const FileDescriptor* fd : {&stdin_, &stdout_, &stderr_}) SetNonBlocking(*fd);
  exit_event_ = MakeEvent<&LinesChild::OnExit>(process_.get(), EV_READ);
  write_event_ = MakeEvent<&LinesChild::Write>(stdin_.get(), EV_WRITE);
  // Not tied to a descriptor: all messages given in one turn of the loop are written at its end, at
  // once.
  flush_event_ = MakeEvent<&LinesChild::Write>(-1, 0);
  read_event_ = MakeEvent<&LinesChild::Read>(stdout_.get(), EV_READ | EV_PERSIST);
  error_event_ = MakeEvent<&LinesChild::Listen>(stderr_.get(), EV_READ | EV_PERSIST);
  for (const EventPtr* e : {&exit_event_, &read_event_, &error_event_})
    event_add(e->get(), nullptr);
  return 0;
}

void LinesChild::Give(Job job) {
  const std::uint64_t id = ++last_id_;
  if (output_.empty()) event_active(flush_event_.get(), EV_WRITE, 0);
  output_.append(LineFor(id, job.delivery, options_.max_attempts));
  open_.push_back({.id = id, .job = std::move(job), .given = loop_.clock().SinceBoot()});
  WatchFirst();
}

void LinesChild::Close() {
  closing_ = true;
  if (output_.empty()) Write();
}

std::deque<Job> LinesChild::TakeOpen() {
  std::deque<Job> jobs;
  for (Open& open : open_) jobs.push_back(std::move(open.job));
  open_.clear();
  return jobs;
}

// Writes as much as possible without blocking.
void LinesChild::Write() {
  while (written_ < output_.size() && stdin_.is_open()) {
    const ssize_t size =
        ::write(stdin_.get(), output_.data() + written_, output_.size() - written_);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {
      event_add(write_event_.get(), nullptr);
      return;
    }
    if (size < 0) {
      OnClosed("stdin");
      break;
    }
    written_ += static_cast<std::size_t>(size);
    sent_ += static_cast<std::size_t>(size);
  }
  output_.clear();
  written_ = 0;
  if (closing_ && stdin_.is_open()) {
    write_event_.reset();
    stdin_.Close();
  }
}

void LinesChild::Read() { ReadOnce(); }

// Returns false if there was nothing to read.
bool LinesChild::ReadOnce() {
  std::array<char, kChunk> chunk;
  const ssize_t size = ::read(stdout_.get(), chunk.data(), chunk.size());
  if (size < 0 && MustWait()) return false;
  if (size <= 0) {
    read_event_.reset();
    stdout_.Close();
    OnClosed("stdout");
    return false;
  }
  input_.append(chunk.data(), static_cast<std::size_t>(size));
  TakeLines();
  return true;
}

void LinesChild::TakeLines() {
  std::size_t begin = 0;
  std::size_t answered = 0;
  for (;;) {
    const std::size_t end = input_.find('\n', begin);
    if (end == std::string::npos) break;
    const std::size_t before = open_.size();
    // After an invalid answer, later lines are ignored.
    const bool trusted = !ended_because_ || timed_out_ != 0;
    if (trusted) OnLine(std::string_view(input_).substr(begin, end - begin));
    answered += before - open_.size();
    begin = end + 1;
  }
  input_.erase(0, begin);
  if (input_.size() > kLongestAnswer) {
    input_.clear();
    Terminate("has written a line of more than a mebibyte");
  }
  if (answered == 0) return;
  has_answered_ = true;
  WatchFirst();
  owner_.OnAnswered(*this);
}

void LinesChild::OnLine(std::string_view line) {
  const auto nonsense = [this, line](const std::string& why) {
    Terminate(absl::StrCat("has written '", EscapedText(line.substr(0, kShownOfALine)),
                           line.size() > kShownOfALine ? "…" : "", "', which is no answer: ", why));
  };
  absl::StatusOr<LinesAnswer> answer = ParseAnswer(line);
  if (!answer.ok()) return nonsense(std::string(answer.status().message()));
  const auto found = std::find_if(open_.begin(), open_.end(),
                                  [&](const Open& open) { return open.id == answer->id; });
  if (found == open_.end()) {
    return nonsense(answer->id == 0 || answer->id > last_id_
                        ? "no message with that \"id\" was given to this program; answer with the "
                          "\"id\" of the line that was read"
                        : "the message with that \"id\" is answered already; write one answer for "
                          "each");
  }
  if (!answer->ignored.empty() && !std::exchange(odd_answer_said_, true)) {
    owner_.OnOddAnswer(IgnoredFieldWarning(answer->ignored));
  }
  Settlement settlement = std::move(found->job.settlement);
  in_order_ = in_order_ && found == open_.begin();
  const absl::Duration took = TimeOver(*found);
  answered_at_ = loop_.clock().SinceBoot();
  open_.erase(found);
  std::move(settlement).Settle(std::move(answer->outcome).Took(took));
}

void LinesChild::Listen() { ListenOnce(); }

bool LinesChild::ListenOnce() {
  std::array<char, 4096> chunk;
  const ssize_t size = ::read(stderr_.get(), chunk.data(), chunk.size());
  if (size < 0 && MustWait()) return false;
  if (size <= 0) {
    error_event_.reset();
    stderr_.Close();
    return false;
  }
  const std::string_view text(chunk.data(), static_cast<std::size_t>(size));
  if (options_.errors != nullptr) options_.errors->Write(text);
  errors_.append(text);
  if (errors_.size() > ChildRunner::kErrorTail) {
    errors_.erase(0, errors_.size() - ChildRunner::kErrorTail);
  }
  return true;
}

void LinesChild::OnExit() {
  for (int i = 0; i < kPipefuls && stdout_.is_open() && ReadOnce(); ++i) {
  }
  for (int i = 0; i < kPipefuls && stderr_.is_open() && ListenOnce(); ++i) {
  }
  if (ended_because_) Signal(SIGKILL);  // the rest of its group
  const int status = WaitFor(pid_);
  pid_ = -1;
  kill_.reset();
  timeout_.reset();
  for (EventPtr* e : {&write_event_, &flush_event_, &read_event_, &error_event_}) e->reset();

  ChildResult result = {.end = ChildResult::End::kExited, .errors = std::move(errors_)};
  if (WIFSIGNALED(status)) {
    result.end = ChildResult::End::kSignaled;
    result.code = WTERMSIG(status);
  } else {
    result.code = WEXITSTATUS(status);
  }
  End end = {.why = ended_because_ ? *ended_because_ : DescribeEnd(result, absl::ZeroDuration()),
             .not_run = !ended_because_ && WhyNotRun(result).has_value()};
  // A program that exits by itself after some messages may not have read the remaining ones.
  const bool in_peace = !ended_because_ && has_answered_ &&
                        result.end == ChildResult::End::kExited && result.code == EX_OK;
  const bool in_time = timed_out_ == 0;
  end.one_is_to_blame = !in_peace && in_time && open_.size() > 1;
  end.first_is_to_blame =
      !in_peace && !open_.empty() && (in_time ? open_.size() == 1 : open_.front().id == timed_out_);
  end.begun = HasBegun();
  if (!open_.empty()) end.took = TimeOver(open_.front());
  end.unanswered = TakeOpen();
  owner_.OnEnded(*this, std::move(end));
}

// A program that answers in order usually begins a message after it has answered the previous one.
absl::Duration LinesChild::TimeOver(const Open& open) const {
  return loop_.clock().SinceBoot() - (in_order_ ? std::max(open.given, answered_at_) : open.given);
}

std::optional<OldestJob> LinesChild::Oldest() const {
  if (open_.empty()) return std::nullopt;
  return OldestJob{open_.front().job.delivery, TimeOver(open_.front())};
}

bool LinesChild::HasBegun() const {
  if (has_answered_ || !stdin_.is_open()) return true;
  int unread = 0;  // bytes in the pipe
  return ::ioctl(stdin_.get(), FIONREAD, &unread) != 0 || static_cast<std::size_t>(unread) < sent_;
}

void LinesChild::OnClosed(const char* which) {
  if (pid_ < 0 || ended_because_ || kill_ != nullptr) return;
  kill_ = loop_.After(options_.kill_grace, [this, which] {
    const std::unique_ptr<Timer> fired = std::move(kill_);
    Terminate(absl::StrCat("has closed its ", which, " and lives on"));
  });
}

void LinesChild::WatchFirst() {
  if (options_.timeout == absl::InfiniteDuration() || ended_because_) return;
  const std::uint64_t first = open_.empty() ? 0 : open_.front().id;
  if (first == watched_) return;
  watched_ = first;
  timeout_.reset();
  if (first == 0) return;
  timeout_ = loop_.After(options_.timeout, [this] {
    timed_out_ = watched_;
    Terminate("timed out after " + DurationText(options_.timeout));
  });
}

void LinesChild::Terminate(std::string why) {
  if (pid_ < 0 || ended_because_) return;
  ended_because_ = std::move(why);
  terminated_at_ = loop_.clock().SinceBoot();
  Signal(SIGTERM);
  kill_ = loop_.After(options_.kill_grace, [this] { Signal(SIGKILL); });
}

void LinesChild::Signal(int signal) const { ::kill(-pid_, signal); }

}  // namespace retryq::cli
