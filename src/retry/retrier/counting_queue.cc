#include "retry/retrier/counting_queue.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"

namespace retryq {
namespace {

// More than the number of arguments that the broker compares before the type.
constexpr int kMostQuestions = 8;

void AskForType(Broker& broker, const std::string& queue, amqp::Table arguments, int questions,
                std::function<void(std::optional<bool>)> done) {
  const QueueDeclaration declaration{.name = queue, .arguments = arguments};
  broker.Declare({.queue = declaration},
                 [&broker, queue, arguments = std::move(arguments), questions,
                  done = std::move(done)](const absl::StatusOr<DeclareOk>& answer) mutable {
                   TypeAnswer told = ReadTypeAnswer(answer.status());
                   if (!told.other || questions <= 1) return done(told.counts);
                   arguments.Set(told.other->first, std::move(told.other->second));
                   AskForType(broker, queue, std::move(arguments), questions - 1, std::move(done));
                 });
}

}  // namespace

std::optional<std::string_view> TextBetween(std::string_view text, std::string_view before,
                                            std::string_view after) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  const std::size_t end = after.empty() ? text.size() : text.find(after);
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(0, end);
}

TypeAnswer ReadTypeAnswer(const absl::Status& refusal) {
  const std::string_view text(refusal.message().data(), refusal.message().size());
  const auto name = TextBetween(text, "inequivalent arg '", "'");
  if (!absl::IsFailedPrecondition(refusal) || !name) return {};
  if (*name == "durable" || *name == "auto_delete" || *name == "x-max-priority") {
    return {.counts = false};  // a quorum queue cannot have these
  }
  if (*name == "x-queue-type") {
    if (text.find("current is 'quorum'") != std::string_view::npos) return {.counts = true};
    const bool is_classic = text.find("current is 'classic'") != std::string_view::npos ||
                            text.find("current is none") != std::string_view::npos;
    return is_classic ? TypeAnswer{.counts = false} : TypeAnswer{};
  }
  const auto value = TextBetween(text, "current is the value '", "' of type '");
  const auto type = TextBetween(text, "' of type '", "'");
  if (!value || !type) return {};
  std::int64_t number = 0;
  if (absl::SimpleAtoi(absl::string_view(value->data(), value->size()), &number) &&
      *type != "longstr") {
    return {.other = amqp::Table::Field(std::string(*name), amqp::Value(number))};
  }
  if (*type == "bool") {
    return {.other = amqp::Table::Field(std::string(*name), amqp::Value(*value == "true"))};
  }
  if (*type != "longstr") return {};
  return {.other = amqp::Table::Field(std::string(*name), amqp::Value(*value))};
}

void FindWhetherCounts(Broker& broker, const std::string& queue,
                       std::function<void(std::optional<bool>)> done) {
  AskForType(broker, queue, {{"x-queue-type", "retryq"}}, kMostQuestions, std::move(done));
}

}  // namespace retryq
