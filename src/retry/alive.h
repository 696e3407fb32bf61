#ifndef RETRYQ_SRC_RETRY_ALIVE_H_
#define RETRYQ_SRC_RETRY_ALIVE_H_

#include <memory>
#include <utility>

namespace retryq {

// A pointer to an object that may be gone by the time it is looked at: for
// callbacks that can come late, and for code that calls out to somebody who may
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
  explicit Lifeline(T* object) : object_(std::make_shared<T*>(object)) {}
  ~Lifeline() { *object_ = nullptr; }
  Lifeline(const Lifeline&) = delete;
  Lifeline& operator=(const Lifeline&) = delete;

  AlivePtr<T> ptr() const { return AlivePtr<T>(object_); }

 private:
  const std::shared_ptr<T*> object_;
};

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_ALIVE_H_
