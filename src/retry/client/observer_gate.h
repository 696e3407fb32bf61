#ifndef RETRYQ_SRC_RETRY_CLIENT_OBSERVER_GATE_H_
#define RETRYQ_SRC_RETRY_CLIENT_OBSERVER_GATE_H_

#include "retryq/observer.h"

namespace retryq {

// Stands between this library and its user's observer, which may call anything and destroy
// anything: counts that it is being told of something, and can be closed.
class ObserverGate final : public Observer {
 public:
  // Not owned; may be null. `telling` counts the calls that are on the stack, and outlives it.
  ObserverGate(Observer* observer, int& telling) : observer_(observer), telling_(telling) {}

  // What is to be told: itself, or null where there is nobody to tell.
  Observer* get() { return observer_ == nullptr ? nullptr : this; }

  void OnEvent(const Event& event) override {
    if (observer_ == nullptr) return;
    ++telling_;
    observer_->OnEvent(event);
    --telling_;
  }

  // From now on nobody is told.
  void Close() { observer_ = nullptr; }

 private:
  Observer* observer_;
  int& telling_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_OBSERVER_GATE_H_
