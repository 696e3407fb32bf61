#include "loop/drains.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "loop/thrown.h"

namespace retryq {

std::shared_ptr<void> Drains::Add(Drain drain) {
  entries_.push_back({.drain = std::move(drain)});
  const auto entry = std::prev(entries_.end());
  const auto forget = [weak = weak_from_this(), entry](void*) {
    if (const auto self = weak.lock()) self->entries_.erase(entry);
  };
  std::shared_ptr<void> handle(&*entry, forget);
  if (begun_) Begin(*entry);
  return handle;
}

void Drains::BeginAll() {
  if (std::exchange(begun_, true)) return;
  // Each call may add or drop entries, so the next entry is searched again.
  const auto next = [this] {
    return std::find_if(entries_.begin(), entries_.end(),
                        [](const Entry& entry) { return entry.drain != nullptr; });
  };
  for (auto entry = next(); entry != entries_.end(); entry = next()) Begin(*entry);
}

bool Drains::all_done() const {
  return begun_ && std::all_of(entries_.begin(), entries_.end(),
                               [](const Entry& entry) { return *entry.done; });
}

void Drains::Begin(Entry& entry) {
  Drain drain = std::exchange(entry.drain, nullptr);
  try {
    std::move(drain)([done = entry.done] { *done = true; });
  } catch (...) {
    KeepThrown(Thrown("the function given to EventLoop::OnDrain"));
    *entry.done = true;
  }
}

}  // namespace retryq
