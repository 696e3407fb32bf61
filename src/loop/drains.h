#ifndef RETRYQ_SRC_LOOP_DRAINS_H_
#define RETRYQ_SRC_LOOP_DRAINS_H_

#include <functional>
#include <list>
#include <memory>

namespace retryq {

// What has to be finished before a loop may end: see EventLoop::OnDrain.
// Held by shared_ptr, as handles may outlive the loop.
class Drains : public std::enable_shared_from_this<Drains> {
 public:
  using Done = std::function<void()>;
  using Drain = std::function<void(Done)>;

  // Begins at once if all others have begun. Dropping the handle counts as done.
  std::shared_ptr<void> Add(Drain drain);

  void BeginAll();
  // Ready for another `BeginAll`. What has drained once does not drain again.
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
