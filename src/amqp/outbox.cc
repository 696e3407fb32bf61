#include "amqp/outbox.h"

#include <event2/buffer.h>

#include <utility>

#include "amqp/frame.h"
#include "amqp/methods.h"
#include "amqp/properties_codec.h"

namespace retryq::amqp {
namespace {

// From here on a reference is cheaper than a copy: it costs an allocation and a segment of its own.
constexpr std::size_t kSmallestSharedBody = 4096;

// A burst may grow the buffer; more than this is not kept for the next turns.
constexpr std::size_t kKeptCapacity = std::size_t{1} << 20;

void ReleaseOwner(const void*, std::size_t, void* owner) {
  delete static_cast<std::shared_ptr<const void>*>(owner);
}

}  // namespace

void Outbox::AddHeartbeat() { AppendHeartbeat(&bytes_); }

std::string_view Outbox::AddPublish(std::uint16_t channel, const PublishParams& params,
                                    std::size_t frame_max) {
  AddMethod(channel, method::BasicPublish{.exchange = params.exchange,
                                          .routing_key = params.routing_key,
                                          .mandatory = params.mandatory});
  const std::size_t start = bytes_.size() + kFrameHeadSize;
  AppendContentHeaderFrame(channel, params.body.size(), params.properties, &bytes_);
  const std::size_t size = bytes_.size() - 1 - start;
  if (params.body_owner != nullptr && params.body.size() >= kSmallestSharedBody) {
    AddSharedBody(channel, params, frame_max);
  } else {
    AppendBodyFrames(channel, params.body, frame_max, &bytes_);
  }
  return std::string_view(bytes_).substr(start, size);
}

void Outbox::AddSharedBody(std::uint16_t channel, const PublishParams& params,
                           std::size_t frame_max) {
  const std::size_t most = frame_max - kFrameOverhead;
  for (std::string_view rest = params.body; !rest.empty();) {
    const std::string_view part = rest.substr(0, most);
    rest.remove_prefix(part.size());
    AppendFrameHead(FrameType::kBody, channel, part.size(), &bytes_);
    shared_.push_back({.offset = bytes_.size(), .body = part, .owner = params.body_owner});
    shared_size_ += part.size();
    bytes_.push_back(kFrameEnd);
  }
}

void Outbox::MoveTo(evbuffer* output) {
  std::size_t sent = 0;
  for (Shared& shared : shared_) {
    evbuffer_add(output, bytes_.data() + sent, shared.offset - sent);
    sent = shared.offset;
    evbuffer_add_reference(output, shared.body.data(), shared.body.size(), ReleaseOwner,
                           new std::shared_ptr<const void>(std::move(shared.owner)));
  }
  evbuffer_add(output, bytes_.data() + sent, bytes_.size() - sent);
  Clear();
}

void Outbox::Clear() {
  if (bytes_.capacity() > kKeptCapacity) {
    bytes_ = std::string();
  } else {
    bytes_.clear();
  }
  shared_.clear();
  shared_size_ = 0;
}

}  // namespace retryq::amqp
