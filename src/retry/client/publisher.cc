#include "retryq/publisher.h"

#include <future>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "loop/worker_pool.h"
#include "retry/client/client_impl.h"

namespace retryq {
namespace {

// No caller waits longer than this; a longer deadline is no deadline.
constexpr absl::Duration kLongestWait = absl::Hours(24 * 365);
// How much later than its deadline a publish is answered if the loop runs.
constexpr absl::Duration kLoopPatience = absl::Seconds(1);

}  // namespace

absl::Status TooManyPublishes(std::size_t open) {
  return absl::ResourceExhaustedError(
      absl::StrCat("max_open_publishes: ", open,
                   " publishes are unanswered; wait for one of them, or raise it"));
}

Client::Impl* Publisher::Link::Posted::Arrive() {
  const std::shared_ptr<Link> link = std::move(link_);
  if (link == nullptr) return nullptr;
  link->posted_.fetch_sub(1, std::memory_order_relaxed);
  return link->client_.get();
}

void Publisher::Link::Publish(const std::shared_ptr<Link>& self, OutgoingMessage message,
                              const PublishOptions& options, Publisher::Done done) {
  Answer answer("the callback of Publisher::Publish", std::move(done), threw_);
  answer.AlwaysCall();
  if (!process_.is_here() || closed_.load(std::memory_order_relaxed)) return;
  // A message must not overtake those that the same thread has posted.
  if (executor_->thread() == Executor::Thread::kThis && posted() == 0 && client_) {
    if (!client_->muted()) client_->Publish(std::move(message), options, std::move(answer));
    return;
  }
  Posted place(self);
  const std::size_t before = posted_.fetch_add(1, std::memory_order_relaxed);
  const std::size_t open = before + open_.load(std::memory_order_relaxed);
  if (open >= limit_) return std::move(answer)(TooManyPublishes(open));
  std::shared_ptr<void> context = tracer_ == nullptr ? nullptr : tracer_->Context();
  executor_->Post([place = std::move(place), message = std::move(message), options,
                   answer = std::move(answer), context = std::move(context)]() mutable {
    const std::shared_ptr<Link> link = place.link();
    Client::Impl* const client = place.Arrive();
    if (client == nullptr || client->muted() || link->closed_) return;
    client->Publish(std::move(message), options, std::move(answer), context);
  });
}

Publisher::Publisher(std::shared_ptr<Link> link) : link_(std::move(link)) {}

void Publisher::Publish(OutgoingMessage message, PublishOptions options, Done done) const {
  link_->Publish(link_, std::move(message), options, std::move(done));
}

std::future<absl::Status> Publisher::Publish(OutgoingMessage message,
                                             PublishOptions options) const {
  std::promise<absl::Status> promise;
  std::future<absl::Status> result = promise.get_future();
  Publish(std::move(message), options, [promise = std::move(promise)](absl::Status status) mutable {
    promise.set_value(std::move(status));
  });
  return result;
}

absl::Status Publisher::PublishAndWait(OutgoingMessage message, PublishOptions options) const {
  const Executor::Thread thread = link_->executor().thread();
  if (thread == Executor::Thread::kThis || thread == Executor::Thread::kLast) {
    return absl::FailedPreconditionError(
        "PublishAndWait was called on the thread of the event loop, which must not wait for "
        "itself; "
        "remedy: call Publish with a callback, or set handler_threads");
  }
  if (const std::shared_ptr<AnswerForPool> answer = AnswerForPool::Make(); answer != nullptr) {
    Publish(std::move(message), options,
            [answer](absl::Status status) { answer->Set(std::move(status)); });
    return answer->Wait();
  }
  std::future<absl::Status> result = Publish(std::move(message), options);
  if (options.deadline < kLongestWait &&
      result.wait_for(absl::ToChronoNanoseconds(options.deadline + kLoopPatience)) !=
          std::future_status::ready) {
    return absl::UnavailableError(
        "the event loop has not answered the publish in time; the message may still arrive; "
        "remedy: check that the loop runs, and that no handler blocks it");
  }
  return result.get();
}

}  // namespace retryq
