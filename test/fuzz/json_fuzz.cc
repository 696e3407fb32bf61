#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/escaped_text.h"
#include "cli/send/send_command.h"
#include "cli/text/json_line.h"
#include "cli/worker/command_pool.h"
#include "fuzz/check.h"

using namespace retryq;       // NOLINT(google-build-using-namespace)
using namespace retryq::cli;  // NOLINT(google-build-using-namespace)

// Replies of the management API, replies to --lines, headers in JSON, and lines of `send --lines`.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const nlohmann::json json = ParseJson(input);
  Check(ParseOrderedJson(input).is_discarded() == json.is_discarded(), "both parsers agree");
  if (!json.is_discarded()) {
    const std::string line = JsonLine(json);
    Check(EscapedText(line) == line, "a line is fit for a terminal");
    Check(JsonLine(ParseJson(line)) == line, "what is written is read");
    static_cast<void>(TypedValue(json));
  }
  static_cast<void>(ParseAnswer(input));
  LineRequest request;
  static_cast<void>(ParseRequest(input, &request));
  return 0;
}
