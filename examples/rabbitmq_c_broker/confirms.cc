#include "confirms.h"

#include <algorithm>
#include <utility>

namespace examples {
namespace {

// Each part with its length in front, so that no two lists of parts are alike.
void Append(std::string_view part, std::string* all) {
  all->append(std::to_string(part.size())).append(":").append(part);
}

}  // namespace

Fingerprint Fingerprint::Of(std::string_view exchange, std::string_view routing_key,
                            const retryq::amqp::Properties& properties, std::string_view encoded,
                            std::string_view body) {
  std::string parts;
  Append(exchange, &parts);
  Append(routing_key, &parts);
  Append(properties.message_id.value_or(""), &parts);
  Append(properties.correlation_id.value_or(""), &parts);
  Append(body, &parts);
  const std::size_t stable = std::hash<std::string>()(parts);
  Append(encoded, &parts);
  return {.exact = std::hash<std::string>()(parts), .stable = stable};
}

void Confirms::Add(std::uint64_t id, const Fingerprint& fingerprint) {
  open_.emplace(++last_tag_, Open{.id = id, .fingerprint = fingerprint, .returned = std::nullopt});
}

// Returns come in the order of the publishes, so of several that are alike it is the first.
bool Confirms::Return(const Fingerprint& fingerprint, std::uint16_t code, std::string text) {
  const auto find = [this](std::size_t Fingerprint::*hash, std::size_t value) {
    return std::find_if(open_.begin(), open_.end(), [hash, value](const auto& open) {
      return !open.second.returned && open.second.fingerprint.*hash == value;
    });
  };
  auto found = find(&Fingerprint::exact, fingerprint.exact);
  if (found == open_.end()) found = find(&Fingerprint::stable, fingerprint.stable);
  if (found == open_.end()) return false;
  found->second.returned =
      Result{.outcome = retryq::PublishOutcome::kReturned, .code = code, .text = std::move(text)};
  return true;
}

void Confirms::Settle(std::uint64_t tag, bool multiple, retryq::PublishOutcome outcome) {
  auto next = multiple ? open_.begin() : open_.find(tag);
  while (next != open_.end() && next->first <= tag) {
    next = End(next, {.outcome = outcome});
    if (!multiple) return;
  }
}

void Confirms::FailAll(std::uint16_t code, const std::string& text) {
  while (!open_.empty()) End(open_.begin(), {.code = code, .text = text});
  Clear();
}

void Confirms::Clear() {
  open_.clear();
  last_tag_ = 0;
}

Confirms::OpenByTag::iterator Confirms::End(OpenByTag::iterator open, Result result) {
  answer_(open->second.id, std::move(open->second.returned).value_or(std::move(result)));
  return open_.erase(open);
}

}  // namespace examples
