#include "retry/delivery/early_return.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "retry/delivery/history.h"

namespace retryq {
namespace {

constexpr absl::Duration kToleratedSkew = absl::Seconds(1);
constexpr int kToleratedPart = 20;

constexpr char kRemedy[] =
    "; remedy: let no policy or operator policy set message-ttl, max-length or expires on delay "
    "queues (rabbitmqctl list_policies, list_operator_policies)";

}  // namespace

std::optional<EarlyReturn> FindEarlyReturn(const Delivery& delivery, absl::Time now) {
  const Delivery::History& history = delivery.history();
  if (!history.not_before || !history.delay) return std::nullopt;
  // Of several delay queues this one was to keep it only until so much is left.
  const absl::Time due = *history.not_before - history.remaining.value_or(absl::ZeroDuration());
  if (now >= due) return std::nullopt;
  const std::optional<LastDeath> death = ReadLastDeath(*delivery.message());
  if (!death) return std::nullopt;
  const absl::Duration early = due - now;
  const std::string how_early = absl::FormatDuration(absl::Trunc(early, absl::Milliseconds(1)));
  if (death->reason == "maxlen") {
    return EarlyReturn{death->queue, absl::StrCat("'", death->queue,
                                                  "' is limited in length and let a message go ",
                                                  how_early, " early", kRemedy)};
  }
  if (early <= std::max(kToleratedSkew, *history.delay / kToleratedPart)) return std::nullopt;
  return EarlyReturn{death->queue,
                     absl::StrCat("'", death->queue, "' let a message go ", how_early, " early",
                                  kRemedy, "; and see that the workers' clocks agree")};
}

}  // namespace retryq
