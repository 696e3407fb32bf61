#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/flags/shared_flags.h"
#include "cli/send/send_command.h"
#include "cli/text/io.h"
#include "cli/tracing/span_export.h"
#include "loop/libevent_ptr.h"
#include "retryq/retryq.h"

namespace retryq::cli {
namespace {

// These limits and --in-flight limit memory: the size of the unconfirmed bodies, and of the results
// that have not been read. One message of any size is always allowed.
constexpr std::size_t kMostOpenBytes = std::size_t{64} << 20;
constexpr std::size_t kMostAnswerBytes = std::size_t{1} << 20;

// How long the command waits for confirms of other messages after a delay queue was refused.
constexpr absl::Duration kRefusedPatience = absl::Seconds(1);

// After a signal, the rest is abandoned if no message is confirmed and no result is read for
// this time.
constexpr absl::Duration kStopPatience = absl::Seconds(5);

bool IsWritable(int fd) {
  pollfd polled = {fd, POLLOUT, 0};
  return ::poll(&polled, 1, 0) > 0;
}

// Writes lines without waiting for their reader: unread data is buffered. Does not change whether
// the descriptor blocks, because other processes may share it.
class AnswerWriter {
 public:
  struct Callbacks {
    // Called when everything has been written.
    std::function<void()> on_idle;
    // Called once, with the reason why nothing more can be written. The data that is kept is lost.
    std::function<void(const std::string& why)> on_broken;
  };

  // `loop` must outlive it, and calls the callbacks.
  AnswerWriter(EventLoop& loop, int fd, Callbacks callbacks)
      : loop_(loop),
        fd_(fd),
        callbacks_(std::move(callbacks)),
        writable_(event_new(
            loop.base(), fd, EV_WRITE,
            [](evutil_socket_t, short, void* self) {
              auto* const writer = static_cast<AnswerWriter*>(self);
              writer->is_waiting_ = false;
              writer->Flush();
            },
            this)) {}

  // Lines of one turn of the loop are written at once.
  void Write(std::string_view line) {
    if (is_broken_) return;
    pending_.append(line);
    if (is_waiting_ || flush_ != nullptr) return;
    flush_ = loop_.After(absl::ZeroDuration(), [this] {
      const std::unique_ptr<Timer> fired = std::move(flush_);
      Flush();
    });
  }

  // The number of bytes that are kept.
  std::size_t size() const { return pending_.size() - begin_; }
  bool is_broken() const { return is_broken_; }

 private:
  void Flush() {
    // The size that a writable pipe accepts without blocking.
    constexpr std::size_t kWriteSize = PIPE_BUF;
    // From this size on, written data is dropped from the buffer.
    constexpr std::size_t kWritten = std::size_t{64} * 1024;
    while (size() > 0) {
      // Waits for pipes, sockets and terminals only, because files are always writable.
      if (!IsWritable(fd_)) {
        is_waiting_ = true;
        event_add(writable_.get(), nullptr);
        return;
      }
      const ssize_t written = ::write(fd_, pending_.data() + begin_, std::min(size(), kWriteSize));
      if (written < 0 && errno != EAGAIN && errno != EINTR) {
        const std::string why = std::strerror(errno);
        is_broken_ = true;
        pending_.clear();
        begin_ = 0;
        return callbacks_.on_broken(why);
      }
      if (written > 0) begin_ += static_cast<std::size_t>(written);
      if (begin_ == pending_.size() || begin_ >= kWritten) {
        pending_.erase(0, std::exchange(begin_, 0));
      }
    }
    callbacks_.on_idle();
  }

  EventLoop& loop_;
  const int fd_;
  const Callbacks callbacks_;
  std::string pending_;
  std::size_t begin_ = 0;  // of the unwritten data
  bool is_broken_ = false;
  bool is_waiting_ = false;  // for the reader
  EventPtr writable_;
  std::unique_ptr<Timer> flush_;
};

// Only pipes, sockets and terminals can block a reader, and only these can be polled.
bool IsAlwaysReadable(int fd) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return true;  // the read reports the error
  return !S_ISFIFO(status.st_mode) && !S_ISSOCK(status.st_mode) && ::isatty(fd) == 0;
}

// Reads lines, as long as its owner has room for them. Does not change whether its descriptor
// blocks, as other processes may share it.
class LineReader {
 public:
  struct Callbacks {
    // Receives a line without its line break; the view is valid during the call. Returns false to
    // pause until `Resume`.
    std::function<bool(std::string_view line)> on_line;
    // Called for a line that is longer than kLongestRequest and is skipped. Returns like `on_line`.
    std::function<bool()> on_too_long;
    // Called once after the last line: ok at the end of the input, otherwise the reason why reading
    // failed.
    std::function<void(const absl::Status& status)> on_end;
  };

  // `loop` must outlive it, and calls the callbacks.
  LineReader(EventLoop& loop, int fd, Callbacks callbacks)
      : loop_(loop),
        fd_(fd),
        callbacks_(std::move(callbacks)),
        is_always_readable_(IsAlwaysReadable(fd)),
        readable_(event_new(
            loop.base(), fd, EV_READ,
            [](evutil_socket_t, short, void* self) { static_cast<LineReader*>(self)->Read(); },
            this)) {}

  // Starts or continues to read, and calls back for the lines that are buffered.
  void Resume() {
    if (stopped_ || !std::exchange(paused_, false)) return;
    if (TakeLines()) Wait();
  }

  // Stops reading. No more callbacks are called.
  void Stop() {
    stopped_ = true;
    readable_.reset();
    again_.reset();
  }

 private:
  void Wait() {
    if (stopped_) return;
    if (!is_always_readable_ && !at_end_) {
      event_add(readable_.get(), nullptr);
      return;
    }
    again_ = loop_.After(absl::ZeroDuration(), [this] {
      const std::unique_ptr<Timer> fired = std::move(again_);
      Read();
    });
  }

  // Passes the buffered lines on. Returns whether the owner has room for more.
  bool TakeLines() {
    while (!stopped_ && !paused_) {
      const std::size_t end = buffer_.find('\n', scanned_);
      if (end == std::string::npos) {
        KeepRest();
        return !paused_;
      }
      const std::string_view line = std::string_view(buffer_).substr(begin_, end - begin_);
      begin_ = scanned_ = end + 1;
      if (std::exchange(skipping_, false)) continue;
      const bool is_too_long = line.size() > kLongestRequest;
      paused_ = is_too_long ? !callbacks_.on_too_long() : !callbacks_.on_line(line);
    }
    return false;
  }

  // Keeps the beginning of a line whose end is not read yet.
  void KeepRest() {
    buffer_.erase(0, std::exchange(begin_, 0));
    scanned_ = buffer_.size();
    if (!skipping_ && buffer_.size() <= kLongestRequest) return;
    buffer_.clear();
    scanned_ = 0;
    if (!std::exchange(skipping_, true)) paused_ = !callbacks_.on_too_long();
  }

  void Read() {
    if (at_end_) return End(absl::OkStatus());
    const std::size_t before = buffer_.size();
    buffer_.resize(before + kReadSize);
    const ssize_t size = ::read(fd_, buffer_.data() + before, kReadSize);
    const int error = errno;
    buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (size > 0) {
      if (TakeLines()) Wait();
    } else if (size == 0) {
      at_end_ = true;
      // The last line may lack its line break.
      if (!buffer_.empty() && !skipping_) buffer_.push_back('\n');
      if (TakeLines()) End(absl::OkStatus());
    } else if (error == EAGAIN || error == EINTR) {
      Wait();
    } else {
      End(absl::InvalidArgumentError(absl::StrCat("cannot read stdin: ", std::strerror(error))));
    }
  }

  void End(const absl::Status& status) {
    if (!std::exchange(stopped_, true)) callbacks_.on_end(status);
  }

  EventLoop& loop_;
  const int fd_;
  const Callbacks callbacks_;
  const bool is_always_readable_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of the lines not passed on yet
  std::size_t scanned_ = 0;  // there is no line break before this
  bool skipping_ = false;    // skips the rest of a line that is too long
  bool paused_ = true;
  bool stopped_ = false;
  bool at_end_ = false;
  EventPtr readable_;
  std::unique_ptr<Timer> again_;
};

// One run of `retryq send --lines`.
class LineSender {
 public:
  explicit LineSender(const SendOptions& options)
      : options_(options),
        watch_(loop_, options.client, options.wait, "",
               [this](const absl::Status& why) { OnRefused(why); }) {
    ClientOptions client = options.client;
    client.observer = &watch_;
    client.tracer = spans_.tracer();
    client.max_open_publishes = *options.lines;
    client_.emplace(loop_, std::move(client));
    watch_.WhenConnected([this] { Begin(); });
  }

  absl::Status Run() {
    if (!spans_.status().ok()) return spans_.status();
    drain_ = loop_.OnDrain([this](EventLoop::DrainDone done) {
      is_interrupted_ = !writer_.is_broken();
      drained_ = std::move(done);
      End(absl::OkStatus());
      WatchStop();
    });
    const absl::Status run = loop_.RunUntilSignal();
    drain_.reset();
    if (watch_.has_connected()) SayGoodbye(loop_);
    if (!run.ok()) return run;
    return Result();
  }

 private:
  // Reads nothing before the connection is open: a refused connection is one error, not one per
  // line.
  void Begin() {
    if (!options_.declare) return reader_.Resume();
    client_->Declare(*options_.declare, {.only_if_missing = true}, [this](absl::Status status) {
      status.ok() ? reader_.Resume() : loop_.Fail(std::move(status));
    });
  }

  bool HasRoom() const {
    return open_.size() < *options_.lines && open_bytes_ < kMostOpenBytes &&
           writer_.size() < kMostAnswerBytes;
  }

  bool OnLine(std::string_view line) {
    ++line_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return true;
    LineRequest request{.message = options_.message, .publish = options_.publish};
    if (const absl::Status read = ParseRequest(line, &request); !read.ok()) {
      Answer(request.id, absl::InvalidArgumentError(
                             absl::StrCat("line ", line_, ": ", std::string(read.message()))));
      return HasRoom();
    }
    if (const absl::Status bound = bindings_.Check(request.message, request.publish);
        absl::IsNotFound(bound)) {
      Answer(request.id, WithSendRemedy(bound, /*to_queue=*/false));
      return HasRoom();
    }
    const std::size_t size = request.message.body.size();
    open_bytes_ += size;
    const std::uint64_t number = line_;
    open_.emplace(number, std::move(request.id));
    const bool to_queue = request.message.exchange.empty();
    client_->Publish(std::move(request.message), request.publish,
                     [this, size, to_queue, number](absl::Status status) {
                       const auto open = open_.extract(number);
                       if (open.empty()) return;  // it has a result already
                       open_bytes_ -= size;
                       Answer(open.mapped(),
                              status.ok() ? status : WithSendRemedy(status, to_queue));
                       Continue();
                     });
    return HasRoom();
  }

  // The permission for delays is missing, so messages with a delay are never confirmed.
  void OnRefused(const absl::Status& why) {
    if (!refused_.ok()) return;
    refused_ = why;
    reader_.Stop();
    has_ended_ = true;
    refused_timer_ = loop_.After(kRefusedPatience, [this] {
      const std::unique_ptr<Timer> fired = std::move(refused_timer_);
      for (const auto& [line, id] : std::exchange(open_, {})) Answer(id, refused_);
      EndIfDone();
    });
  }

  bool OnTooLong() {
    ++line_;
    Answer("null", absl::InvalidArgumentError(absl::StrCat("line ", line_, " is longer than ",
                                                           kLongestRequest, " bytes")));
    return HasRoom();
  }

  void Answer(std::string_view id, const absl::Status& status) {
    ++answered_;
    if (!status.ok()) ++failed_;
    if (writer_.is_broken()) {
      ++unread_;
    } else {
      writer_.Write(AnswerLine(id, status));
    }
  }

  // Runs once per turn of the loop, because many confirms arrive in one turn.
  void Continue() {
    if (continuing_ != nullptr) return;
    continuing_ = loop_.After(absl::ZeroDuration(), [this] {
      const std::unique_ptr<Timer> fired = std::move(continuing_);
      if (HasRoom()) reader_.Resume();
      EndIfDone();
    });
  }

  void OnBroken(const std::string& why) {
    broken_because_ = why;
    ++unread_;
    loop_.Drain();
  }

  // Stops reading.
  void End(const absl::Status& why) {
    reader_.Stop();
    has_ended_ = true;
    if (!why.ok()) input_error_ = why;
    EndIfDone();
  }

  // A reader that keeps the pipe open but takes no results must not use up the grace period.
  void WatchStop() {
    if (drained_ == nullptr) return;
    stop_watch_ = loop_.After(kStopPatience, [this, left = open_.size() + writer_.size()] {
      const std::unique_ptr<Timer> fired = std::move(stop_watch_);
      if (drained_ == nullptr) return;
      if (open_.size() + writer_.size() != left) return WatchStop();
      std::exchange(drained_, nullptr)();
    });
  }

  void EndIfDone() {
    if (!has_ended_ || !open_.empty() || writer_.size() > 0) return;
    if (drained_ != nullptr) return std::exchange(drained_, nullptr)();
    loop_.Stop();
  }

  absl::Status Result() const {
    if (!broken_because_.empty()) {
      return absl::DataLossError(absl::StrCat("cannot write to stdout: ", broken_because_, "; ",
                                              unread_, " results or more could not be written"));
    }
    if (!input_error_.ok()) return input_error_;
    if (!refused_.ok()) return refused_;
    const std::string failed =
        failed_ == 0 ? ""
                     : absl::StrCat(failed_, " of ", answered_,
                                    " messages failed; the results on stdout contain the reasons");
    if (is_interrupted_) {
      return absl::CancelledError(absl::StrCat(
          "stopped by a signal after ", answered_, " messages", failed.empty() ? "" : "; ", failed,
          writer_.size() > 0 ? "; the last results were not read" : ""));
    }
    return failed.empty() ? absl::OkStatus() : absl::UnavailableError(failed);
  }

  const SendOptions& options_;
  EventLoop loop_;
  const HeldSignals signals_{loop_, HeldSignals::Afterwards::kIgnored};
  const SpanExport spans_{loop_, options_.otlp, SayOfSpans};
  BindingCheck bindings_{ConnectionOf(options_.client)};
  BrokerWatch watch_;
  AnswerWriter writer_{loop_,
                       STDOUT_FILENO,
                       {.on_idle = [this] { Continue(); },
                        .on_broken = [this](const std::string& why) { OnBroken(why); }}};
  LineReader reader_{loop_,
                     STDIN_FILENO,
                     {.on_line = [this](std::string_view line) { return OnLine(line); },
                      .on_too_long = [this] { return OnTooLong(); },
                      .on_end = [this](const absl::Status& status) { End(status); }}};
  std::uint64_t line_ = 0;  // number of the last line
  // The ids of unconfirmed messages by line, oldest first.
  std::map<std::uint64_t, std::string> open_;
  std::size_t open_bytes_ = 0;  // total size of their bodies
  std::uint64_t answered_ = 0;
  std::uint64_t failed_ = 0;
  std::uint64_t unread_ = 0;  // results that have not been read
  bool has_ended_ = false;
  bool is_interrupted_ = false;
  absl::Status input_error_;
  absl::Status refused_;  // missing permission to declare delay queues
  std::unique_ptr<Timer> refused_timer_;
  std::string broken_because_;
  EventLoop::DrainDone drained_;
  std::unique_ptr<Timer> stop_watch_;
  std::unique_ptr<Timer> continuing_;
  std::shared_ptr<void> drain_;
  std::optional<Client> client_;  // destroyed first
};

}  // namespace

absl::Status SendLines(const SendOptions& options) { return LineSender(options).Run(); }

}  // namespace retryq::cli
