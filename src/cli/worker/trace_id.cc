#include "cli/worker/trace_id.h"

#include <algorithm>
#include <cstddef>

namespace retryq::cli {
namespace {

// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01: version, trace id, parent id, flags.
constexpr std::size_t kVersionSize = 2;
constexpr std::size_t kTraceIdAt = 3;
constexpr std::size_t kTraceIdSize = 32;
constexpr std::size_t kParentIdAt = 36;
constexpr std::size_t kParentIdSize = 16;
constexpr std::size_t kFlagsAt = 53;
constexpr std::size_t kFlagsSize = 2;
constexpr std::size_t kSize = 55;

// Upper-case digits are malformed.
bool AreHexDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsId(std::string_view text) {
  return AreHexDigits(text) && text.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

std::string_view TraceIdIn(std::string_view traceparent) {
  if (traceparent.size() < kSize) return {};
  const std::string_view version = traceparent.substr(0, kVersionSize);
  if (!AreHexDigits(version) || version == "ff") return {};
  // Later versions may have more fields after another dash.
  if (traceparent.size() > kSize && (version == "00" || traceparent[kSize] != '-')) return {};
  for (const std::size_t next : {kTraceIdAt, kParentIdAt, kFlagsAt}) {
    if (traceparent[next - 1] != '-') return {};
  }
  const std::string_view trace_id = traceparent.substr(kTraceIdAt, kTraceIdSize);
  if (!IsId(trace_id) || !IsId(traceparent.substr(kParentIdAt, kParentIdSize)) ||
      !AreHexDigits(traceparent.substr(kFlagsAt, kFlagsSize))) {
    return {};
  }
  return trace_id;
}

std::string_view TraceIdOf(const Delivery& delivery) {
  return TraceIdIn(delivery.headers().FindString("traceparent").value_or(std::string_view()));
}

}  // namespace retryq::cli
