#ifndef RETRYQ_SRC_LOOP_ALIVE_H_
#define RETRYQ_SRC_LOOP_ALIVE_H_

#include <memory>
#include <utility>

namespace retryq {

// A pointer to an object that may be gone by the time it is looked at: for
// callbacks that can come late, and for code that calls out to a caller who may
// destroy it. Copies of it are made from the object's `Lifeline`. One thread.
template <typename T>
class AlivePtr {
 public:
  // nullptr once the object is destroyed.
  T* get() const { return *object_; }
  T* operator->() const { return *object_; }
  explicit operator bool() const { return *object_ != nullptr; }

 private:
  template <typename U>
  friend class Lifeline;
  explicit AlivePtr(std::shared_ptr<T*> object) : object_(std::move(object)) {}

  std::shared_ptr<T*> object_;
};

// Held by the object as a member.
template <typename T>
class Lifeline {
 public:
  // Says whether the object has been destroyed since the watch was made: for the object itself, on
  // its stack, around a call to one who may do that. Several end in the reverse order.
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

    // Whether it is still there.
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
