#include "retry/client/declare_work_queue.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/field_errors.h"
#include "base/name_size.h"
#include "base/quoting.h"
#include "base/remedy.h"
#include "retry/delay_queues/delay_queue_remedies.h"
#include "retry/retrier/counting_queue.h"

namespace retryq {
namespace {

constexpr std::string_view kTypeArgument = "x-queue-type";
constexpr std::string_view kReservedPrefix = "amq.";

// If two clients declare a queue at the same time, one may get a 404 (F46).
constexpr int kMostAttempts = 3;

// The broker closes the connection if it does not know the type.
bool IsExchangeType(std::string_view type) {
  return type == "direct" || type == "topic" || type == "fanout" || type == "headers" ||
         (type.starts_with("x-") && type.size() <= kMaxNameSize &&
          type.find('\0') == std::string_view::npos);
}

// Shortens a value in the broker's form: none, 'quorum', or the value '5' of type 'signedint'.
std::string ValueText(std::string_view value) {
  return std::string(TextBetween(value, "the value ", " of type").value_or(value));
}

// Returns the difference that a text names, such as "inequivalent arg 'x-queue-type' for queue
// 'orders' in vhost '/': received 'quorum' but current is 'classic'" (F55). Returns nullopt for any
// other text.
std::optional<std::string> Difference(std::string_view text) {
  const auto argument = TextBetween(text, "inequivalent arg '", "'");
  const auto asked = TextBetween(text, "received ", " but current is ");
  const auto found = TextBetween(text, " but current is ", "");
  if (!argument || !asked || !found) return std::nullopt;
  return absl::StrCat(std::string(*argument), " is ", ValueText(*found), ", but ",
                      ValueText(*asked), " was requested");
}

absl::Status WithText(const absl::Status& refusal, absl::StatusCode code, std::string_view remedy) {
  return absl::Status(
      code, absl::StrCat(std::string(refusal.message()), "; remedy: ", std::string(remedy)));
}

absl::Status ExplainDifference(const absl::Status& refusal, const std::string& object,
                               std::string_view remedy) {
  const std::string_view text(refusal.message().data(), refusal.message().size());
  if (!absl::StrContains(refusal.message(), "inequivalent arg")) {
    return WithText(refusal, absl::StatusCode::kInvalidArgument, "correct what it names");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      object, " exists with other arguments: ", Difference(text).value_or(std::string(text)),
      "; remedy: declare it with its present arguments, or delete it and declare it again",
      std::string(remedy)));
}

// A declaration under way. The broker's callbacks keep it alive.
class Attempt : public std::enable_shared_from_this<Attempt> {
 public:
  Attempt(Broker& broker, WorkQueue work_queue, std::shared_ptr<bool> is_missing,
          std::function<void(const absl::Status&)> done)
      : broker_(broker),
        work_queue_(std::move(work_queue)),
        is_missing_(std::move(is_missing)),
        done_(std::move(done)) {}

  void Look() {
    broker_.Declare({.queue = {.name = work_queue_.name, .passive = true}},
                    [self = shared_from_this()](const absl::StatusOr<DeclareOk>& answer) {
                      *self->is_missing_ = absl::IsNotFound(answer.status());
                      if (*self->is_missing_) return self->Declare();
                      self->done_(answer.ok() ? absl::OkStatus() : self->Explain(answer.status()));
                    });
  }

  // Declares the queue, with the next of its exchanges and bindings if there are any.
  void Declare() {
    DeclareParams params{.queue = {.name = work_queue_.name, .arguments = work_queue_.arguments}};
    params.queue.arguments.Set(kTypeArgument,
                               work_queue_.type == QueueType::kQuorum ? "quorum" : "classic");
    if (next_binding_ < work_queue_.bindings.size()) {
      const WorkQueueBinding& binding = work_queue_.bindings[next_binding_];
      params.exchange = {.name = binding.exchange, .type = binding.exchange_type};
      params.binding_key = binding.routing_key;
    }
    broker_.Declare(std::move(params),
                    [self = shared_from_this()](const absl::StatusOr<DeclareOk>& answer) {
                      self->OnAnswer(answer.status());
                    });
  }

 private:
  void OnAnswer(const absl::Status& answer) {
    if (is_missing_ && !absl::IsUnavailable(answer)) *is_missing_ = false;
    if (absl::IsNotFound(answer) && ++attempts_ < kMostAttempts) return Declare();
    if (!answer.ok()) return done_(Explain(answer));
    if (++next_binding_ < work_queue_.bindings.size()) return Declare();
    done_(absl::OkStatus());
  }

  absl::Status Explain(const absl::Status& refusal) const {
    const bool is_of_exchange = absl::StrContains(refusal.message(), "exchange '");
    switch (refusal.code()) {
      case absl::StatusCode::kFailedPrecondition:
        if (is_of_exchange && next_binding_ < work_queue_.bindings.size()) {
          return ExplainDifference(
              refusal,
              absl::StrCat("exchange ", InQuotes(work_queue_.bindings[next_binding_].exchange)),
              ", with its bindings");
        }
        return ExplainDifference(refusal, absl::StrCat("queue ", InQuotes(work_queue_.name)),
                                 " once it is empty");
      case absl::StatusCode::kPermissionDenied:
        if (absl::StrContains(refusal.message(), "reserved prefix")) {
          return WithText(refusal, absl::StatusCode::kInvalidArgument,
                          "choose a name that does not begin with amq.");
        }
        return WithText(
            refusal, refusal.code(),
            GrantRemedy(work_queue_.bindings.empty()
                            ? "'configure' on the queue"
                            : "'configure' on the queue and the exchange, 'write' on the queue "
                              "and 'read' on the exchange"));
      case absl::StatusCode::kResourceExhausted:
        return WithText(refusal, refusal.code(), RemedyForLimit());
      case absl::StatusCode::kNotFound:
        return WithText(refusal, refusal.code(), "start the node that hosts the queue");
      default:
        return ExplainIfExclusive(refusal);
    }
  }

  Broker& broker_;
  const WorkQueue work_queue_;
  const std::shared_ptr<bool> is_missing_;
  const std::function<void(const absl::Status&)> done_;
  std::size_t next_binding_ = 0;
  int attempts_ = 0;  // attempts that got a 404
};

}  // namespace

absl::Status ValidateArguments(const amqp::Table& arguments) {
  const absl::StatusOr<std::string> encoded = arguments.Encode();
  const absl::Status valid =
      encoded.ok() ? amqp::TableView(*encoded).CheckFinite() : encoded.status();
  if (valid.ok()) return valid;
  return absl::InvalidArgumentError(absl::StrCat("arguments: ", valid.message()));
}

absl::Status Validate(const WorkQueue& work_queue) {
  FieldErrors errors;
  errors.Require(!work_queue.name.empty(), "queue must not be empty");
  errors.RequireName("queue", work_queue.name);
  errors.Require(!work_queue.name.starts_with(kReservedPrefix),
                 "queue must not begin with amq., which RabbitMQ keeps for itself");
  errors.Require(work_queue.arguments.Find(kTypeArgument) == nullptr,
                 "arguments must not contain x-queue-type: set type");
  errors.Add(ValidateArguments(work_queue.arguments));
  for (const WorkQueueBinding& binding : work_queue.bindings) {
    errors.Require(!binding.exchange.empty(), "exchange must not be empty");
    errors.RequireName("exchange", binding.exchange);
    errors.Require(IsExchangeType(binding.exchange_type),
                   "exchange_type must be direct, topic, fanout, headers or x-…, but is ",
                   InQuotes(binding.exchange_type));
    errors.Require(binding.routing_key.size() <= kMaxNameSize,
                   "routing_key must be at most 255 bytes long");
  }
  return errors.status();
}

void DeclareWorkQueue(Broker& broker, WorkQueue work_queue, std::shared_ptr<bool> is_missing,
                      std::function<void(const absl::Status&)> done) {
  const bool looks = is_missing && !*is_missing;
  const auto attempt = std::make_shared<Attempt>(broker, std::move(work_queue),
                                                 std::move(is_missing), std::move(done));
  looks ? attempt->Look() : attempt->Declare();
}

}  // namespace retryq
