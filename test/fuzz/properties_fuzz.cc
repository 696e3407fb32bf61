#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "amqp/codec/properties_codec.h"
#include "fuzz/check.h"

using namespace retryq;        // NOLINT(google-build-using-namespace)
using namespace retryq::amqp;  // NOLINT(google-build-using-namespace)

// A content header that is read can be written again, in the predicted size, and is read equal.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto header = DecodeContentHeader(input);
  if (!header.ok()) return 0;

  std::string written;
  AppendContentHeader(header->body_size, header->properties, &written);
  Check(written.size() == ContentHeaderSize(header->properties), "the size is foretold");
  Check(written.size() <= input.size(), "nothing is added");

  const auto again = DecodeContentHeader(written);
  Check(again.ok(), "what is written is read");
  std::string rewritten;
  AppendContentHeader(again->body_size, again->properties, &rewritten);
  Check(rewritten == written, "and written the same");

  if (header->properties.headers) {
    Check(header->properties.headers->Validate().ok(), "headers that are read are valid");
  }
  return 0;
}
