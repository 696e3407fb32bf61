#ifndef RETRYQ_SRC_RETRY_CLIENT_CLIENT_IMPL_H_
#define RETRYQ_SRC_RETRY_CLIENT_CLIENT_IMPL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "loop/alive.h"
#include "loop/own_process.h"
#include "loop/runner_thread.h"
#include "loop/thrown.h"
#include "retry/client/consumer_impl.h"
#include "retry/client/delayed_publish.h"
#include "retry/client/pending_declare.h"
#include "retry/retrier/shared_state.h"
#include "retryq/client.h"

namespace retryq {

// Holds the callback of a call to the client. Calls it at most once, and catches its exceptions.
class Answer {
 public:
  // `threw`: see CallUser. `who` names the callback.
  Answer(const char* who, Client::Done done, std::function<void(absl::Status)> threw)
      : who_(who), done_(std::move(done)), threw_(std::move(threw)) {}
  Answer(Answer&& other) noexcept
      : who_(other.who_),
        done_(std::exchange(other.done_, nullptr)),
        threw_(std::move(other.threw_)),
        always_(other.always_) {}
  Answer& operator=(Answer&&) = delete;
  ~Answer() {
    if (!always_) return;
    std::move (*this)(absl::CancelledError(
        "the client or its loop was destroyed or has drained, or the handler that published was "
        "abandoned, before the publish was confirmed; the message may still arrive"));
  }

  // From now on the callback is called even if this object is destroyed before: with kCancelled.
  void AlwaysCall() { always_ = true; }

  void operator()(absl::Status status) && {
    Client::Done done = std::exchange(done_, nullptr);
    if (done == nullptr) return;
    CallUser(who_, threw_, [&] { std::move(done)(std::move(status)); });
  }

 private:
  const char* const who_;
  Client::Done done_;
  std::function<void(absl::Status)> threw_;
  bool always_ = false;
};

// The result of a publish beyond `max_open_publishes`.
absl::Status TooManyPublishes(std::size_t open);

// The state that publishers share with their client. Thread-safe, except `client`.
class Publisher::Link {
 public:
  Link(std::shared_ptr<Executor> executor, AlivePtr<Client::Impl> client, std::size_t limit,
       std::function<void(absl::Status)> threw, Tracer* tracer)
      : executor_(std::move(executor)),
        client_(std::move(client)),
        limit_(limit),
        threw_(threw),
        tracer_(tracer) {}

  void Publish(const std::shared_ptr<Link>& self, OutgoingMessage message,
               const PublishOptions& options, Publisher::Done done);

  Executor& executor() const { return *executor_; }

  // Number of publishes that are on their way to the loop's thread.
  std::size_t posted() const { return posted_.load(std::memory_order_relaxed); }
  void SetOpen(std::size_t open) { open_.store(open, std::memory_order_relaxed); }
  // From now on publishes are cancelled.
  void Close() { closed_.store(true, std::memory_order_relaxed); }

 private:
  // Counts a publish that is on its way.
  class Posted {
   public:
    explicit Posted(std::shared_ptr<Link> link) : link_(std::move(link)) {}
    Posted(Posted&&) noexcept = default;
    ~Posted() { Arrive(); }
    // Ends the count of a publish. Returns the client, or null if it is gone. Call it on the loop's
    // thread.
    Client::Impl* Arrive();
    const std::shared_ptr<Link>& link() const { return link_; }

   private:
    std::shared_ptr<Link> link_;
  };

  const OwnProcess process_;
  const std::shared_ptr<Executor> executor_;
  const AlivePtr<Client::Impl> client_;  // used on the loop's thread
  const std::size_t limit_;
  const std::function<void(absl::Status)> threw_;
  Tracer* const tracer_;  // null if there is none
  std::atomic<std::size_t> open_ = 0;
  std::atomic<std::size_t> posted_ = 0;
  std::atomic<bool> closed_ = false;
};

class Client::Impl {
 public:
  Impl(EventLoop& loop, ClientOptions options);
  Impl(EventLoop& loop, Broker& broker, ClientOptions options);
  // `threw`: see CallUser.
  Impl(Environment environment, Broker& broker, std::function<void(absl::Status)> fatal,
       std::function<void(absl::Status)> threw, ClientOptions options);
  // Stops all callbacks: the observer, which may be destroyed, and those of publishes and declares.
  ~Impl() { StopCalling(); }

  // Called by the client's destructor. If the user's code was called from the middle of this
  // library's, the object lives until that call is over.
  static void Destroy(std::unique_ptr<Impl> impl);

  template <typename SomeHandler>
  absl::StatusOr<Consumer> Consume(ConsumerOptions options, SomeHandler handler);

  // `context`: see Tracer::Context.
  void Publish(OutgoingMessage message, const PublishOptions& options, Answer answer,
               const std::shared_ptr<void>& context = nullptr);
  void Declare(WorkQueue work_queue, const DeclareOptions& options, Answer answer);

  void Flush(absl::Duration deadline, Answer answer);
  void Drain(absl::Duration deadline, Answer answer);

  // `who` names the callback.
  Answer AnswerOf(const char* who, Done done) const { return {who, std::move(done), threw_}; }

  const std::shared_ptr<Publisher::Link>& link() const { return link_; }
  bool muted() const { return muted_; }

  // Returns whether the object belongs to this process. Ends the process if the calling thread is
  // the wrong one.
  bool Check(const char* function) const {
    if (!process_.is_here()) return false;
    CheckThread(*environment_.executor, function);
    return true;
  }

 private:
  Impl(Environment environment, std::function<void(absl::Status)> fatal,
       std::function<void(absl::Status)> threw, ClientOptions options)
      : environment_(std::move(environment)),
        fatal_(std::move(fatal)),
        threw_(std::move(threw)),
        options_(std::move(options)) {}

  void Open(Broker& broker, std::unique_ptr<Broker> owned = nullptr) {
    shared_ =
        SharedState::Create(broker, environment_, options_.delay_queues, std::move(owned), threw_);
  }
  void StopCalling();
  void DrainWith(EventLoop& loop);

  // See Consumer::Impl.
  std::function<void(const WorkOrigin&)> GiveUpWork() const;
  // Returns the function that receives the errors of a consumer. Consumers that outlive the client
  // do not report errors. `on_failed`: the consumer's own callback, or null.
  std::function<void(absl::Status)> Fatal(std::function<void(absl::Status)> on_failed) const;

  std::unique_ptr<PublishTrace> BeginTrace(OutgoingMessage& message, const PublishOptions& options,
                                           const std::shared_ptr<void>& context);
  void AnswerLater(Answer answer, absl::Status status);

  using PendingCalls = std::map<std::uint64_t, std::unique_ptr<PendingCall>>;  // by number
  void Start(PendingCalls& calls, std::uint64_t number, std::unique_ptr<PendingCall> call);
  // Answers the calls before number `end`. Their callbacks may do anything.
  void GiveUp(PendingCalls& all, std::uint64_t end, absl::StatusCode code, const char* what,
              const std::function<bool(const PendingCall&)>& filter);
  // Whether all publishes before number `end` are answered.
  bool AreAnswered(std::uint64_t end) const {
    return publishes_.empty() || publishes_.begin()->first >= end;
  }
  // `done` is called once they are, or with kUnavailable at the deadline.
  void AwaitAnswers(std::uint64_t end, absl::Duration deadline, Done done);
  void OnPublishAnswered();
  void BeginDrain();
  void CloseAfterPublishes();
  void WatchPublishes();
  void GiveUpPublishes(std::uint64_t end);
  void EndDrainAt(absl::Duration deadline);
  void RefuseCalls();
  void EndDrain();

  const OwnProcess process_;
  const Environment environment_;
  const std::function<void(absl::Status)> fatal_;
  const std::function<void(absl::Status)> threw_;
  const ClientOptions options_;
  absl::Status invalid_;
  std::shared_ptr<SharedState> shared_;
  const std::shared_ptr<ConsumerSet> consumers_ = std::make_shared<ConsumerSet>();
  PendingCalls publishes_;
  std::uint64_t next_publish_ = 0;
  std::uint64_t answered_publishes_ = 0;
  PendingCalls declares_;
  std::uint64_t next_declare_ = 0;
  std::shared_ptr<void> on_drain_;  // of the loop
  struct Waiting {
    Done done;
    std::unique_ptr<Timer> deadline;
  };
  std::multimap<std::uint64_t, Waiting> waiting_;  // calls of AwaitAnswers, by `end`

  std::size_t flushes_ = 0;  // calls of `Flush` that wait

  enum class DrainState { kNone, kDraining, kDone };
  DrainState drain_state_ = DrainState::kNone;
  std::vector<Answer> drained_;  // of all calls of `Drain`
  absl::Status drain_result_;
  absl::Duration drain_end_ = absl::InfiniteDuration();  // since boot
  std::unique_ptr<Timer> drain_deadline_;
  std::unique_ptr<Timer> drain_watch_;
  bool muted_ = false;
  Lifeline<Impl> lifeline_{this};
  const std::shared_ptr<Publisher::Link> link_ =
      std::make_shared<Publisher::Link>(environment_.executor, lifeline_.ptr(),
                                        options_.max_open_publishes, threw_, environment_.tracer);
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_CLIENT_IMPL_H_
