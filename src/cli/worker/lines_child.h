#ifndef RETRYQ_CLI_WORKER_LINES_CHILD_H_
#define RETRYQ_CLI_WORKER_LINES_CHILD_H_

#include <event2/event.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "cli/text/io.h"
#include "cli/text/outlet.h"
#include "cli/worker/job.h"
#include "retryq/event_loop.h"

namespace retryq::cli {

// A program that stays, is given messages as lines on its stdin and answers them, in any order, on
// its stdout: see lines_protocol.h. What it writes to stderr is passed on. Everything on the loop's
// thread, and nothing waits: what its pipe does not take now is kept.
//
// It is ended, by SIGTERM and then SIGKILL to its process group, when it writes what is no answer,
// closes its stdin or stdout and lives on, or takes longer than `timeout` over a message. That time
// counts from when the message is the first of those that it has.
class LinesChild {
 public:
  struct Options {
    std::vector<std::string> command;
    std::vector<std::string> environment;  // all of it
    absl::Duration timeout = absl::InfiniteDuration();
    std::uint64_t max_attempts = 0;  // for the lines
    Outlet* errors = nullptr;        // for its stderr
    // From SIGTERM to SIGKILL, and from a closed pipe to SIGTERM.
    absl::Duration kill_grace = absl::Seconds(2);
  };

  // How it ended.
  struct End {
    std::string why;       // "exit 3: out of paper"
    bool not_run = false;  // it, or a shell before it, could not run the program: 126, 127
    bool begun = true;     // it has read, or answered, something of what it was given
    // It has ended of the first of these: that was the only one, or was not answered in time.
    bool first_is_to_blame = false;
    // It has ended of one of several, nobody knows which.
    bool one_is_to_blame = false;
    // What it has not answered, in the order in which it was given.
    std::deque<Job> unanswered;
    absl::Duration took = absl::ZeroDuration();  // over the first of them
  };

  // Called from the loop, never inside a call of the child's.
  class Owner {
   public:
    virtual void OnAnswered(LinesChild& child) = 0;            // must not destroy it
    virtual void OnOddAnswer(const std::string& warning) = 0;  // the first of a child; the same
    virtual void OnEnded(LinesChild& child, End end) = 0;      // may destroy it

   protected:
    ~Owner() = default;
  };

  // Starts nothing yet. Loop, options and owner must outlive it.
  LinesChild(EventLoop& loop, const Options& options, Owner& owner);
  // Ends it, and waits for that. Settlements of what is open are dropped.
  ~LinesChild();
  LinesChild(const LinesChild&) = delete;
  LinesChild& operator=(const LinesChild&) = delete;

  // Once. 0, or the errno that says why it does not run.
  int Start();

  // It must run.
  void Give(Job job);

  // Nothing more is given: its stdin is closed as soon as all is written.
  void Close();

  // Sends it SIGTERM; SIGKILL follows.
  void Terminate(std::string why);

  // What it has not answered, in the order in which it was given. Its answers are then nonsense.
  std::deque<Job> TakeOpen();

  // False once it is closed, or about to end, and while it has a message that must be alone.
  bool takes_more() const {
    const bool is_full = !open_.empty() && open_.front().job.alone;
    return pid_ >= 0 && !closing_ && !ended_because_ && kill_ == nullptr && !is_full;
  }

  // How many messages it has.
  std::size_t open() const { return open_.size(); }

  // Of these.
  std::optional<OldestJob> Oldest() const;

  // Whether it has answered anything since its start.
  bool has_answered() const { return has_answered_; }

 private:
  struct EventDeleter {
    void operator()(event* e) const { event_free(e); }
  };
  using EventPtr = std::unique_ptr<event, EventDeleter>;

  struct Open {
    std::uint64_t id;
    Job job;
    absl::Duration given;  // since boot
  };

  template <void (LinesChild::*method)()>
  EventPtr MakeEvent(int fd, short what);

  void Write();
  void Read();
  bool ReadOnce();
  void TakeLines();
  void OnLine(std::string_view line);
  void Listen();
  bool ListenOnce();
  void OnExit();
  // It has closed a pipe, which mostly means that it ends.
  void OnClosed(const char* which);
  // How long it has been at this message.
  absl::Duration TimeOver(const Open& open) const;
  bool HasBegun() const;
  void WatchFirst();
  void Signal(int signal) const;

  EventLoop& loop_;
  const Options& options_;
  Owner& owner_;

  pid_t pid_ = -1;
  FileDescriptor process_, stdin_, stdout_, stderr_;
  EventPtr exit_event_, write_event_, flush_event_, read_event_, error_event_;

  std::uint64_t last_id_ = 0;
  std::deque<Open> open_;    // by id
  std::string output_;       // for its stdin
  std::size_t written_ = 0;  // of that
  std::string input_;        // the beginning of a line
  std::string errors_;       // the end of what it wrote to stderr
  std::size_t sent_ = 0;     // bytes, in all
  bool has_answered_ = false;
  bool odd_answer_said_ = false;
  bool in_order_ = true;                               // all answers so far
  absl::Duration answered_at_ = absl::ZeroDuration();  // last, since boot
  bool closing_ = false;
  std::optional<std::string> ended_because_;             // by us
  absl::Duration terminated_at_ = absl::ZeroDuration();  // since boot
  std::uint64_t watched_ = 0;                            // whose time runs; 0: none's
  std::uint64_t timed_out_ = 0;                          // whose time was up
  std::unique_ptr<Timer> timeout_;
  std::unique_ptr<Timer> kill_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_LINES_CHILD_H_
