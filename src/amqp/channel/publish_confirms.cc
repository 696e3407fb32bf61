#include "amqp/channel/publish_confirms.h"

#include <algorithm>
#include <utility>

#include "amqp/channel/content_hash.h"

namespace retryq::amqp {
namespace {

// Below this size, hashing a body is cheaper than keeping a reference to it.
constexpr std::size_t kSmallestKeptBody = 256;

std::uint64_t StableHash(std::string_view exchange, std::string_view routing_key,
                         const Properties& properties) {
  const std::uint64_t hash = ContentHash(routing_key, ContentHash(exchange));
  const std::string_view message_id = properties.message_id.value_or("");
  const std::string_view correlation_id = properties.correlation_id.value_or("");
  if (message_id.empty() && correlation_id.empty()) return hash;
  return ContentHash(correlation_id, ContentHash(message_id, hash));
}

std::uint64_t BodyHash(const Fingerprint& fingerprint) {
  return fingerprint.body_owner == nullptr ? fingerprint.body : ContentHash(fingerprint.kept_body);
}

}  // namespace

Fingerprint Fingerprint::Of(std::string_view exchange, std::string_view routing_key,
                            const Properties& properties, std::string_view encoded,
                            std::string_view body, const std::shared_ptr<const void>& body_owner) {
  const std::uint64_t stable = StableHash(exchange, routing_key, properties);
  Fingerprint fingerprint = {.exact = ContentHash(encoded, stable), .stable = stable};
  if (body_owner != nullptr && body.size() >= kSmallestKeptBody) {
    fingerprint.kept_body = body;
    fingerprint.body_owner = body_owner;
  } else {
    fingerprint.body = ContentHash(body);
  }
  return fingerprint;
}

bool Fingerprint::HasBodyOf(const Fingerprint& other) const {
  return BodyHash(*this) == BodyHash(other);
}

void PublishConfirms::Add(Fingerprint fingerprint, Callback done) {
  open_.push_back(
      {.fingerprint = std::move(fingerprint), .done = std::move(done), .refusal = nullptr});
}

bool PublishConfirms::Return(const Fingerprint& fingerprint, std::uint16_t code,
                             std::string_view text) {
  Entry* entry = FindReturned(&Fingerprint::exact, fingerprint);
  if (entry == nullptr) entry = FindReturned(&Fingerprint::stable, fingerprint);
  if (entry == nullptr) return false;
  entry->refusal = std::make_unique<Refusal>(Refusal{code, std::string(text)});
  return true;
}

PublishConfirms::Entry* PublishConfirms::FindReturned(std::uint64_t Fingerprint::*hash,
                                                      const Fingerprint& returned) {
  const std::size_t count = open_.size();
  const std::size_t start = next_return_ > first_ ? next_return_ - first_ : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = (start + i) % count;
    Entry& entry = open_[at];
    if (!entry.done || entry.refusal || entry.fingerprint.*hash != returned.*hash) continue;
    if (!entry.fingerprint.HasBodyOf(returned)) continue;
    next_return_ = first_ + at + 1;
    return &entry;
  }
  return nullptr;
}

bool PublishConfirms::Settle(std::uint64_t tag, bool multiple, PublishOutcome outcome) {
  const bool stands_for_all = tag == 0 && multiple;
  if (!stands_for_all && (tag == 0 || tag >= first_ + open_.size())) return false;
  const PublishResult result = {.outcome = outcome};
  if (multiple) {
    const std::uint64_t end = tag == 0 ? first_ + open_.size() : tag + 1;
    while (first_ < end && !open_.empty()) Answer(PopFront(), result);
    return true;
  }
  if (tag < first_) return true;
  const Entry entry = tag == first_ ? PopFront() : std::exchange(open_[tag - first_], Entry());
  DropAnswered();
  Answer(entry, result);
  return true;
}

void PublishConfirms::DropAnswered() {
  while (!open_.empty() && !open_.front().done) PopFront();
}

void PublishConfirms::FailAll(std::uint16_t code, std::string_view text) {
  const PublishResult result = {.outcome = PublishOutcome::kUnknown, .code = code, .text = text};
  for (std::size_t left = open_.size(); left > 0 && !open_.empty(); --left) {
    Answer(PopFront(), result);
  }
}

PublishConfirms::Entry PublishConfirms::PopFront() {
  ++first_;
  return open_.pop_front();
}

void PublishConfirms::Answer(const Entry& entry, const PublishResult& otherwise) {
  if (!entry.done) return;
  ++answered_;
  if (entry.refusal == nullptr) return entry.done(otherwise);
  entry.done({.outcome = PublishOutcome::kReturned,
              .code = entry.refusal->code,
              .text = entry.refusal->text});
}

}  // namespace retryq::amqp
