#include "retryq/tracing.h"

#include <cstddef>
#include <string>

#include "base/header_names.h"
#include "base/name_size.h"

namespace retryq {
namespace {

bool IsReserved(std::string_view name) {
  return (name.starts_with(kRetryPrefix) && !IsTraceHeader(name)) || IsBrokerHeader(name) ||
         IsRoutingHeader(name);
}

}  // namespace

bool TraceHeaders::Set(std::string_view name, std::string_view value) {
  if (name.empty() || name.size() > kMaxNameSize) return false;
  if (name.find('\0') != std::string_view::npos || IsReserved(name)) return false;
  if (is_taken_ != nullptr && is_taken_(name)) return false;
  std::size_t bytes = name.size() + value.size();
  std::size_t count = 1;
  for (const amqp::Table::Field& field : added_.fields()) {
    if (field.first == name) continue;
    const auto* const text = std::get_if<std::string>(&field.second.variant);
    bytes += field.first.size() + text->size();
    ++count;
  }
  if (count > kMostHeaders || bytes > kMostBytes) return false;
  added_.Set(name, value);
  return true;
}

// Defined here, so that the shared library contains the type information of the interfaces.
AttemptTrace::~AttemptTrace() = default;
PublishTrace::~PublishTrace() = default;
Tracer::~Tracer() = default;

}  // namespace retryq
