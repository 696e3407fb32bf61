#ifndef RETRYQ_SRC_LOOP_ALIVE_H_
#define RETRYQ_SRC_LOOP_ALIVE_H_

#include <memory>
#include <utility>

namespace retryq {

// A pointer to an object that may be destroyed before the pointer is used: for callbacks that may
// be called late, and for code that calls user code which may destroy the object. It is made by the
// object's `Lifeline`. For use on one thread.
template <typename T>
class AlivePtr {
 public:
  // Returns nullptr once the object is destroyed.
  T* get() const { return *object_; }
  T* operator->() const { return *object_; }
  explicit operator bool() const { return *object_ != nullptr; }

 private:
  template <typename U>
  friend class Lifeline;
  explicit AlivePtr(std::shared_ptr<T*> object) : object_(std::move(object)) {}

  std::shared_ptr<T*> object_;
};

// A member of the object that AlivePtrs point to.
template <typename T>
class Lifeline {
 public:
  // Exists on the stack of the object's own functions, during a call that may destroy the object.
  // Afterwards it shows whether the object was destroyed. Nested watches end in reverse order.
  class Watch {
   public:
    explicit Watch(Lifeline& lifeline) : lifeline_(&lifeline), outer_(lifeline.watch_) {
      lifeline.watch_ = this;
    }
    ~Watch() {
      if (lifeline_ != nullptr) lifeline_->watch_ = outer_;
    }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    // Whether the object still exists.
    explicit operator bool() const { return lifeline_ != nullptr; }

   private:
    friend class Lifeline;
    Lifeline* lifeline_;
    Watch* const outer_;
  };

  explicit Lifeline(T* object) : object_(std::make_shared<T*>(object)) {}
  ~Lifeline() {
    *object_ = nullptr;
    for (Watch* watch = watch_; watch != nullptr; watch = watch->outer_) watch->lifeline_ = nullptr;
  }
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  AlivePtr<T> ptr() const { return AlivePtr<T>(object_); }

 private:
  const std::shared_ptr<T*> object_;
  Watch* watch_ = nullptr;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_ALIVE_H_
