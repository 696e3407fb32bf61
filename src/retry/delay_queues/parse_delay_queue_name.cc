#include <charconv>
#include <cstdint>

#include "retry/delay_queues/route_declaration.h"
#include "retryq/broker/delay_queue_name.h"

namespace retryq {
namespace {

// Removes `front` from the beginning of the text. Returns false if the text begins differently.
bool Take(std::string_view front, std::string_view& text) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

// Takes whole milliseconds in the form in which names have them: without sign or leading zeros.
std::optional<absl::Duration> TakeTtl(std::string_view& text) {
  std::int64_t milliseconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  if (error != std::errc() || milliseconds <= 0 || text.front() == '0') return std::nullopt;
  const absl::Duration ttl = absl::Milliseconds(milliseconds);
  if (ttl > kMaxQueueLifetime) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return ttl;
}

// Takes ".<word>", which must end at a dot or at the end of the text.
bool TakePart(std::string_view part, std::string_view& text) {
  if (!text.starts_with('.') || FirstPart(text.substr(1)) != part.substr(1)) return false;
  text.remove_prefix(part.size());
  return true;
}

// Takes ".<hash>" and returns its digits; empty if there is no hash.
std::string TakeHash(std::string_view& text) {
  if (!text.starts_with('.')) return "";
  const std::string_view hash = FirstPart(text.substr(1));
  if (!IsHash(hash, kArgumentsHashDigits)) return "";
  text.remove_prefix(hash.size() + 1);
  return std::string(hash);
}

// Takes ".p<level>" and returns the level.
std::optional<std::uint8_t> TakePriority(std::string_view& text) {
  if (!text.starts_with('.')) return std::nullopt;
  const std::string_view part = FirstPart(text.substr(1));
  const std::optional<std::uint8_t> level = ParsePriorityPart(part);
  if (level) text.remove_prefix(part.size() + 1);
  return level;
}

// The end of a quorum queue's name: ".q2", or ".q" if its queues have no slots.
struct QuorumEnd {
  bool found = false;
  std::optional<int> slot;
};

QuorumEnd TakeQuorumEnd(std::string_view& text) {
  const std::size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view end = text.substr(dot + 1);
  if (end.empty() || end.front() != 'q' || end.size() > 2) return {};
  QuorumEnd taken{.found = true};
  if (end.size() == 2) {
    const int slot = end.back() - '0';
    if (slot < 0 || slot >= QuorumSlot::kSlots) return {};
    taken.slot = slot;
  }
  text = text.substr(0, dot);
  return taken;
}

// Whether the text is an owner's name, or its hash.
bool IsOwner(std::string_view text) {
  if (text.empty()) return false;
  return text.front() != kOwnerHashMark || IsHash(text.substr(1), kOwnerHashDigits);
}

// Reads all of ".<work queue>" or ".exchange.<exchange>.key.<key>".
bool ReadOwner(std::string_view text, DelayQueueName* name) {
  if (TakePart(kExchangePart, text)) {
    if (!Take(".", text) || !IsOwner(text)) return false;
    const std::size_t end = text.front() == kOwnerHashMark ? text.size() : text.find(kKeyPart, 1);
    if (end == std::string_view::npos) return false;
    name->exchange = std::string(text.substr(0, end));
    if (end < text.size()) name->routing_key = std::string(text.substr(end + kKeyPart.size()));
    return true;
  }
  if (!Take(".", text) || !IsOwner(text)) return false;
  name->work_queue = std::string(text);
  return true;
}

}  // namespace

std::optional<DelayQueueName> ParseDelayQueueName(std::string_view name, std::string_view prefix) {
  if (!Take(prefix, name) || !Take(".", name)) return std::nullopt;
  const std::optional<absl::Duration> ttl = TakeTtl(name);
  if (!ttl) return std::nullopt;
  DelayQueueName parsed{.ttl = *ttl};
  const QuorumEnd end = TakeQuorumEnd(name);
  parsed.slot = end.slot;
  parsed.direct = TakePart(kDirectPart, name);
  if (end.found) parsed.priority = TakePriority(name);
  parsed.hash = TakeHash(name);
  if (name.empty()) {
    if (end.found && !end.slot) return std::nullopt;
    return parsed;
  }
  // Only names of quorum queues, which end in ".q" or a slot, contain an owner.
  if (!end.found || !ReadOwner(name, &parsed)) return std::nullopt;
  return parsed;
}

}  // namespace retryq
