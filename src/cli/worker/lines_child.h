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

// A long-running program that receives messages as lines on its stdin and answers them, in any
// order, on its stdout: see lines_protocol.h. Its stderr is passed on. Everything runs on the
// loop's thread and never blocks: data that does not fit into the pipe is kept.
//
// The program is stopped, by SIGTERM and then SIGKILL to its process group, if it writes an invalid
// answer, closes its stdin or stdout without exiting, or takes longer than `timeout` for a message.
// The time of a message starts when it is the oldest that the program has.
class LinesChild {
 public:
  struct Options {
    std::vector<std::string> command;
    std::vector<std::string> environment;  // complete
    absl::Duration timeout = absl::InfiniteDuration();
    std::uint64_t max_attempts = 0;  // for the lines
    Outlet* errors = nullptr;        // for its stderr
    // The time from SIGTERM to SIGKILL, and from a closed pipe to SIGTERM.
    absl::Duration kill_grace = absl::Seconds(2);
  };

  // How the program ended.
  struct End {
    std::string why;       // "exit 3: out of paper"
    bool not_run = false;  // the program could not be run: exit code 126 or 127
    bool begun = true;     // it has read or answered at least part of its messages
    // The first unanswered message caused the end: it was the only one, or it timed out.
    bool first_is_to_blame = false;
    // One of several unanswered messages caused the end, but it is not known which.
    bool one_is_to_blame = false;
    // The unanswered messages, in the order in which they were given.
    std::deque<Job> unanswered;
    absl::Duration took = absl::ZeroDuration();  // time spent on the first of them
  };

  // Called from the loop, never during a call of a method of LinesChild.
  class Owner {
   public:
    virtual void OnAnswered(LinesChild& child) = 0;            // must not destroy the child
    virtual void OnOddAnswer(const std::string& warning) = 0;  // once per child
    virtual void OnEnded(LinesChild& child, End end) = 0;      // may destroy the child

   protected:
    ~Owner() = default;
  };

  // Does not start the program yet. The arguments must outlive this object.
  LinesChild(EventLoop& loop, const Options& options, Owner& owner);
  // Stops the program and waits until it has ended. Settlements of open messages are dropped.
  ~LinesChild();
  LinesChild(const LinesChild&) = delete;
  LinesChild& operator=(const LinesChild&) = delete;

  // Starts the program. Returns 0 or an errno. Call it once.
  int Start();

  // Gives a message to the program, which must be running.
  void Give(Job job);

  // No more messages follow: closes the program's stdin as soon as everything is written.
  void Close();

  // Sends SIGTERM, and SIGKILL after the grace period.
  void Terminate(std::string why);

  // Removes and returns the unanswered messages, in the order in which they were given. Later
  // answers to them are invalid.
  std::deque<Job> TakeOpen();

  // False after `Close`, if the program is about to end, and while it has a message that must be
  // alone.
  bool takes_more() const {
    const bool is_full = !open_.empty() && open_.front().job.alone;
    return pid_ >= 0 && !closing_ && !ended_because_ && kill_ == nullptr && !is_full;
  }

  // The number of messages that it has.
  std::size_t open() const { return open_.size(); }

  // The oldest of them.
  std::optional<OldestJob> Oldest() const;

  // Whether it has answered a message since its start.
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
  // The program has closed a pipe, which usually means that it is about to exit.
  void OnClosed(const char* which);
  // How long the program has been working on this message.
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
  std::size_t written_ = 0;  // bytes of output_
  std::string input_;        // the beginning of a line
  std::string errors_;       // the end of its stderr
  std::size_t sent_ = 0;     // bytes in total
  bool has_answered_ = false;
  bool odd_answer_said_ = false;
  bool in_order_ = true;                               // all answers so far came in order
  absl::Duration answered_at_ = absl::ZeroDuration();  // last answer, since boot
  bool closing_ = false;
  std::optional<std::string> ended_because_;             // why this object stopped it
  absl::Duration terminated_at_ = absl::ZeroDuration();  // since boot
  std::uint64_t watched_ = 0;    // id of the message whose time is running; 0: none
  std::uint64_t timed_out_ = 0;  // id of the message that timed out
  std::unique_ptr<Timer> timeout_;
  std::unique_ptr<Timer> kill_;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_WORKER_LINES_CHILD_H_
