#include "amqp/channel/message_pool.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

namespace retryq::amqp {
namespace {

// Of one of its strings; a larger one is rare enough to be allocated when it comes.
constexpr std::size_t kMostKept = std::size_t{64} << 10;

// Of a shared_ptr's counts, with a pointer to the message and one to the node.
constexpr std::size_t kControlBlockSize = 6 * sizeof(void*);

void Trim(std::string& text) {
  if (text.capacity() > kMostKept) std::string().swap(text);
}

}  // namespace

// A message with the control block of the shared_ptr that hands it out.
struct MessagePool::Node {
  alignas(std::max_align_t) std::array<std::byte, kControlBlockSize> control_block;
  std::shared_ptr<Shelf> shelf;  // while the message is held
  Node* next = nullptr;          // on the shelf
  Message message;
};

// The nodes that nobody holds. It lives as long as its pool, and as any message.
class MessagePool::Shelf {
 public:
  Shelf() = default;
  ~Shelf() {
    for (Node* node = top_.load(std::memory_order_acquire); node != nullptr;) {
      delete std::exchange(node, node->next);
    }
  }
  Shelf(const Shelf&) = delete;
  Shelf& operator=(const Shelf&) = delete;

  // The one that was put back last, which the caches still hold. On the loop's thread: nobody else
  // takes any, so one that is on top before and after has stayed there with all below it.
  Node* Pop() {
    Node* node = top_.load(std::memory_order_acquire);
    while (node != nullptr &&
           !top_.compare_exchange_weak(node, node->next, std::memory_order_acquire)) {
    }
    return node == nullptr ? new Node : node;
  }

  // On any thread.
  void Push(Node* node) {
    node->next = top_.load(std::memory_order_relaxed);
    while (!top_.compare_exchange_weak(node->next, node, std::memory_order_release,
                                       std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<Node*> top_ = nullptr;
};

// Places a control block in its node, and puts the node back when that is freed: after the last
// handle, weak ones included.
template <typename T>
class MessagePool::Within {
 public:
  using value_type = T;

  explicit Within(Node* node) : node_(node) {}
  template <typename U>
  Within(const Within<U>& other) : node_(other.node_) {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t) {
    static_assert(sizeof(T) <= kControlBlockSize);
    return reinterpret_cast<T*>(node_->control_block.data());
  }
  void deallocate(T*, std::size_t) noexcept {
    Trim(node_->message.envelope);
    Trim(node_->message.header);
    Trim(node_->message.content);
    const std::shared_ptr<Shelf> shelf = std::move(node_->shelf);
    shelf->Push(node_);
  }

  template <typename U>
  friend bool operator==(const Within& a, const Within<U>& b) {
    return a.node_ == b.node_;
  }

 private:
  template <typename U>
  friend class Within;

  Node* node_;
};

MessagePool::MessagePool() : shelf_(std::make_shared<Shelf>()) {}
MessagePool::~MessagePool() = default;

std::shared_ptr<Message> MessagePool::Take() {
#ifdef RETRYQ_NO_MESSAGE_POOL
  return std::make_shared<Message>();
#else
  Node* const node = shelf_->Pop();
  node->shelf = shelf_;
  return {&node->message, [](Message*) {}, Within<Message>(node)};
#endif
}

}  // namespace retryq::amqp
