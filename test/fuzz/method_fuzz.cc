#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "amqp/codec/method_codec.h"
#include "fuzz/check.h"

using namespace retryq;        // NOLINT(google-build-using-namespace)
using namespace retryq::amqp;  // NOLINT(google-build-using-namespace)

namespace {

template <typename AnyMethod>
std::string Encode(const AnyMethod& any) {
  std::string payload;
  std::visit([&payload](const auto& method) { AppendMethod(method, &payload); }, any);
  return payload;
}

// A method that was read and written is read and written equal again. (Reserved fields and unused
// bits are not kept, so the first time may differ from the input.)
template <typename Decode>
void RoundTrip(const Decode& decode, std::string_view input) {
  const auto method = decode(input);
  if (!method.ok()) return;
  const std::string written = Encode(*method);
  Check(written.size() <= input.size(), "nothing is added");
  const auto again = decode(written);
  Check(again.ok() && again->index() == method->index(), "what is written is read");
  Check(Encode(*again) == written, "and written the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  RoundTrip(DecodeServerMethod, input);
  RoundTrip(DecodeClientMethod, input);
  return 0;
}
