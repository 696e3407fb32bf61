#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "amqp/codec/frame.h"
#include "amqp/codec/protocol_error.h"
#include "fuzz/check.h"

using namespace retryq;        // NOLINT(google-build-using-namespace)
using namespace retryq::amqp;  // NOLINT(google-build-using-namespace)

// A stream of frames: a frame that is read and written again equals its bytes; invalid frames are
// refused after their header.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (true) {
    const auto head = PeekFrame(rest, kFrameMinSize);
    const auto frame = NextFrame(rest, kFrameMinSize);
    if (!frame.ok()) {
      Check(ReplyCodeOf(frame.status()) == ReplyCode::kFrameError, "frame errors are 501");
      return 0;
    }
    Check(head.ok(), "a bad head is no frame");
    if (!frame->has_value()) return 0;
    Check(head->has_value() && (*head)->frame_size() == (*frame)->frame_size(),
          "the head says the size");

    const std::string_view payload = (*frame)->payload;
    std::string written;
    AppendFrame((*frame)->type, (*frame)->channel, payload, &written);
    Check(written == rest.substr(0, (*frame)->frame_size()), "a frame is what it was read from");
    rest.remove_prefix((*frame)->frame_size());
  }
}
