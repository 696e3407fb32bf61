#include <algorithm>
#include <charconv>
#include <cstdint>

#include "retry/delay_queue_name.h"
#include "retryq/delay_queue_name.h"

namespace retryq {
namespace {

constexpr std::size_t kHashDigits = 8;

// Takes `front` off the text, if that begins so.
bool Take(std::string_view front, std::string_view& text) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Whole milliseconds as they are written: without sign or leading zeros.
std::optional<absl::Duration> TakeTtl(std::string_view& text) {
  std::int64_t milliseconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  if (error != std::errc() || milliseconds <= 0 || text.front() == '0') return std::nullopt;
  const absl::Duration ttl = absl::Milliseconds(milliseconds);
  if (ttl > kMaxQueueLifetime) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return ttl;
}

// The digits of ".<hash>", and no more than those; empty if there is none.
std::string TakeHash(std::string_view& text) {
  const std::string_view hash = text.substr(0, kHashDigits + 1);
  const bool is_hash = hash.size() == kHashDigits + 1 && hash.front() == '.' &&
                       std::all_of(hash.begin() + 1, hash.end(), IsHexDigit);
  if (!is_hash) return "";
  text.remove_prefix(hash.size());
  return std::string(hash.substr(1));
}

}  // namespace

std::optional<DelayQueueName> ParseDelayQueueName(std::string_view name, std::string_view prefix) {
  if (!Take(prefix, name) || !Take(".", name)) return std::nullopt;
  const std::optional<absl::Duration> ttl = TakeTtl(name);
  if (!ttl) return std::nullopt;
  DelayQueueName parsed{.ttl = *ttl};
  parsed.direct = Take(".direct", name);
  parsed.hash = TakeHash(name);
  if (Take(".q", name)) {
    const int slot = name.empty() ? -1 : name.front() - '0';
    if (slot < 0 || slot >= QuorumSlot::kSlots) return std::nullopt;
    parsed.slot = slot;
    name.remove_prefix(1);
  }
  if (!name.empty()) return std::nullopt;
  return parsed;
}

}  // namespace retryq
