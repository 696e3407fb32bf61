#include "fault/poison.h"

#include "retryq/amqp/table.h"
#include "support/standard.h"

namespace retryq::fault {
namespace {

// Headers so large that no further header fits into the frame.
constexpr std::size_t kLongHeader = 130'000;
constexpr int kDepth = 500;

// Nested tables, deeper than amqp::Table encodes.
std::string Deep() {
  std::string headers;
  for (int depth = 0; depth < kDepth; ++depth) {
    std::string outer = "\x01hF";
    for (int shift = 24; shift >= 0; shift -= 8) {
      outer.push_back(static_cast<char>(headers.size() >> shift & 0xff));
    }
    headers = outer + headers;
  }
  return headers;
}

}  // namespace

std::string PoisonousHeaders(Poison poison) {
  const auto encoded = [](const amqp::Table& table) { return table.Encode().value(); };
  switch (poison) {
    case Poison::kKills:
      break;
    case Poison::kLongHeaders:
      return encoded({{"x-long", std::string(kLongHeader, 'x')}});
    case Poison::kDeepHeaders:
      return Deep();
    case Poison::kForgedCounts:
      return encoded({{"x-retry-count", "many"},
                      {"x-retry-first-failure", std::numeric_limits<std::int64_t>::min()},
                      {"x-retry-id", std::int64_t{7}},
                      {"x-delivery-count", std::int64_t{-1}}});
    case Poison::kForgedWay:
      return encoded(
          {{"x-retry-count", std::int64_t{1}},
           {"x-retry-id", "forged"},
           {"x-retry-queue", kUnaffectedQueue},
           {"x-retry-exchange", "amq.fanout"},
           {"x-retry-routing-key", kUnaffectedQueue},
           {"x-death",
            amqp::Array{amqp::Value(amqp::Table{
                {"queue", kWorkQueue}, {"reason", "expired"}, {"count", std::int64_t{3}}})}}});
  }
  return "";
}

}  // namespace retryq::fault
