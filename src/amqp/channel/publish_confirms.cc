#include "amqp/channel/publish_confirms.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "amqp/codec/frame.h"
#include "amqp/codec/method_codec.h"
#include "amqp/codec/properties_codec.h"

namespace retryq::amqp {
namespace {

// Below this size, hashing a body is cheaper than keeping a reference to it.
constexpr std::size_t kSmallestKeptBody = 256;

// Frames of up to this size are copied. This limits the memory for all unconfirmed publishes.
constexpr std::size_t kMostCopied = 1024;

// Returns a hash of `bytes` and of the content whose hash is `before`. Its seed differs from
// process to process.
std::uint64_t ContentHash(std::string_view bytes, std::uint64_t before = 0) {
  return absl::HashOf(before, absl::string_view(bytes.data(), bytes.size()));
}

std::uint64_t StableHash(std::string_view exchange, std::string_view routing_key,
                         const Properties& properties) {
  const std::uint64_t hash = ContentHash(routing_key, ContentHash(exchange));
  const std::string_view message_id = properties.message_id.value_or("");
  const std::string_view correlation_id = properties.correlation_id.value_or("");
  if (message_id.empty() && correlation_id.empty()) return hash;
  return ContentHash(correlation_id, ContentHash(message_id, hash));
}

// Removes the first frame, and returns its payload; empty if there is none.
std::string_view TakePayload(std::string_view* frames) {
  FrameView frame;
  if (ReadFrame(*frames, frames->size(), &frame)) frames->remove_prefix(frame.frame_size());
  return frame.payload;
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
  Entry& entry = open_.add();
  entry.fingerprint = std::move(fingerprint);
  entry.done = std::move(done);
}

void PublishConfirms::Add(const PublishParams& params, std::string_view frames, Callback&& done) {
  if (frames.size() > kMostCopied || params.body.size() > kMostCopied) {
    TakePayload(&frames);
    const std::string_view header = TakePayload(&frames);
    return Add(Fingerprint::Of(params.exchange, params.routing_key, params.properties, header,
                               params.body, params.body_owner),
               std::move(done));
  }
  Entry& entry = open_.add();
  entry.copy.append(frames);  // it is empty; `assign` takes 40 instructions more
  entry.done = std::move(done);
}

const Fingerprint& PublishConfirms::Entry::print() {
  if (copy.empty()) return fingerprint;
  std::string_view frames = copy;
  method::BasicPublish publish;
  ReadMethod(TakePayload(&frames), &publish).IgnoreError();
  const std::string_view header = TakePayload(&frames);
  const ContentHeader content = DecodeContentHeader(header).value_or(ContentHeader());
  fingerprint = Fingerprint::Of(publish.exchange, publish.routing_key, content.properties, header,
                                TakePayload(&frames));
  copy.clear();
  return fingerprint;
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
    if (!entry.done || entry.refusal || entry.print().*hash != returned.*hash) continue;
    if (!entry.print().HasBodyOf(returned)) continue;
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
  const Answered answered = tag == first_ ? PopFront() : Take(open_[tag - first_]);
  while (!open_.empty() && !open_.front().done) PopFront();
  Answer(answered, result);
  return true;
}

void PublishConfirms::FailAll(std::uint16_t code, std::string_view text) {
  const PublishResult result = {.outcome = PublishOutcome::kUnknown, .code = code, .text = text};
  for (std::size_t left = open_.size(); left > 0 && !open_.empty(); --left) {
    Answer(PopFront(), result);
  }
}

PublishConfirms::Answered PublishConfirms::Take(Entry& entry) {
  entry.copy.clear();
  return {.done = std::exchange(entry.done, nullptr),
          .refusal = std::move(entry.refusal),
          .body_owner = std::move(entry.fingerprint.body_owner)};
}

PublishConfirms::Answered PublishConfirms::PopFront() {
  ++first_;
  Answered answered = Take(open_.front());
  open_.drop_front();
  return answered;
}

void PublishConfirms::Answer(const Answered& answered, const PublishResult& otherwise) {
  if (!answered.done) return;
  ++answered_;
  if (answered.refusal == nullptr) return answered.done(otherwise);
  answered.done({.outcome = PublishOutcome::kReturned,
                 .code = answered.refusal->code,
                 .text = answered.refusal->text});
}

}  // namespace retryq::amqp
