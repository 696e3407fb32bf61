#ifndef RETRYQ_SRC_LOOP_DRAINS_H_
#define RETRYQ_SRC_LOOP_DRAINS_H_

#include <functional>
#include <list>
#include <memory>

#include "absl/functional/any_invocable.h"

namespace retryq {

// The functions that must finish before a loop may end: see EventLoop::OnDrain. Owned by
// shared_ptr, because handles may outlive the loop.
class Drains : public std::enable_shared_from_this<Drains> {
 public:
  using Done = std::function<void()>;
  using Drain = absl::AnyInvocable<void(Done) &&>;

  // Starts at once if the others have been started. Dropping the handle counts as done.
  std::shared_ptr<void> Add(Drain drain);

  void BeginAll();
  // Prepares for another `BeginAll`. Functions that were called before are not called again.
  void Reset() { begun_ = false; }

  bool all_done() const;

 private:
  struct Entry {
    Drain drain;  // null once called
    std::shared_ptr<bool> done = std::make_shared<bool>(false);
  };

  static void Begin(Entry& entry);

  std::list<Entry> entries_;
  bool begun_ = false;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_DRAINS_H_
