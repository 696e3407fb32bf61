#include "amqp/transport/outbox.h"

#include <event2/buffer.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "amqp/codec/frame.h"
#include "amqp/codec/methods.h"
#include "amqp/codec/properties_codec.h"

namespace retryq::amqp {
namespace {

// Bodies of up to this size are copied. They fit into one frame with every negotiated limit. Above
// this size a reference is cheaper, although it costs an allocation and a separate segment.
constexpr std::size_t kMostSmallBody = kFrameMinSize - kFrameOverhead;

// A burst may grow the buffer; at most this capacity is kept for the next turns.
constexpr std::size_t kKeptCapacity = std::size_t{1} << 20;

// Number of buffers in one system call: 127 shared bodies, at least half a mebibyte.
constexpr std::size_t kMostRuns = 255;

iovec Run(std::string_view bytes) { return {const_cast<char*>(bytes.data()), bytes.size()}; }

void ReleaseOwner(const void*, std::size_t, void* owner) {
  delete static_cast<std::shared_ptr<const void>*>(owner);
}

}  // namespace

void Outbox::AddHeartbeat() { AppendHeartbeat(&bytes_); }

std::string_view Outbox::AddPublish(std::uint16_t channel, const PublishParams& params,
                                    std::size_t header_size, std::size_t frame_max,
                                    std::uint64_t to_come) {
  assert(frame_max >= kFrameMinSize);
  const method::BasicPublish publish = {.exchange = params.exchange,
                                        .routing_key = params.routing_key,
                                        .mandatory = params.mandatory};
  const std::size_t publish_size = MethodSize(publish);
  const std::string_view body = params.body;
  const bool is_small = !body.empty() && body.size() <= kMostSmallBody;
  const std::size_t start = bytes_.size();
  const std::size_t size = kFrameOverhead + publish_size + kFrameOverhead + header_size +
                           (is_small ? kFrameOverhead + body.size() : 0);
  char* const publish_frame = Extend(size, &bytes_);
  char* const header_frame = publish_frame + kFrameOverhead + publish_size;
  char* const body_frame = header_frame + kFrameOverhead + header_size;
  WriteMethod(publish, WriteFrame(FrameType::kMethod, channel, publish_size, publish_frame));
  WriteContentHeader(body.size() + to_come, params.properties,
                     WriteFrame(FrameType::kHeader, channel, header_size, header_frame));
  if (is_small) {
    body.copy(WriteFrame(FrameType::kBody, channel, body.size(), body_frame), body.size());
  } else if (params.body_owner != nullptr) {
    AddSharedBody(channel, params, frame_max);
  } else {
    AppendBodyFrames(channel, body, frame_max, &bytes_);
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

void Outbox::SendTo(int socket, evbuffer* rest) {
  const std::string_view bytes = bytes_;
  std::array<iovec, kMostRuns> runs;
  std::size_t count = 0;
  std::size_t begin = 0;
  for (const Shared& shared : shared_) {
    if (count + 2 >= runs.size()) break;
    runs[count++] = Run(bytes.substr(begin, shared.offset - begin));
    runs[count++] = Run(shared.body);
    begin = shared.offset;
  }
  if (count == 2 * shared_.size()) runs[count++] = Run(bytes.substr(begin));
  msghdr message = {};
  message.msg_iov = runs.data();
  message.msg_iovlen = count;
  const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  MoveRestTo(rest, sent < 0 ? 0 : static_cast<std::size_t>(sent));
}

void Outbox::MoveRestTo(evbuffer* output, std::size_t sent) {
  std::size_t skip = std::min(sent, size());
  if (skip == size()) return Clear();
  if (shared_.empty()) {
    evbuffer_add(output, bytes_.data() + skip, bytes_.size() - skip);
    return Clear();
  }
  // The bytes are also added by reference: for a copy, libevent allocates as much memory as the
  // reference before is long.
  const auto bytes = std::make_shared<const std::string>(bytes_);
  const auto add = [&](std::string_view run, std::shared_ptr<const void> owner) {
    const std::size_t size = std::min(skip, run.size());
    skip -= size;
    run.remove_prefix(size);
    if (run.empty()) return;
    evbuffer_add_reference(output, run.data(), run.size(), ReleaseOwner,
                           new std::shared_ptr<const void>(std::move(owner)));
  };
  const std::string_view all = *bytes;
  std::size_t begin = 0;
  for (Shared& shared : shared_) {
    add(all.substr(begin, shared.offset - begin), bytes);
    add(shared.body, std::move(shared.owner));
    begin = shared.offset;
  }
  add(all.substr(begin), bytes);
  Clear();
}

void Outbox::Clear() {
  if (bytes_.capacity() > kKeptCapacity) {
    std::string().swap(bytes_);
  } else {
    bytes_.clear();
  }
  shared_.clear();
  shared_size_ = 0;
}

}  // namespace retryq::amqp
