#include "cli/worker/broker_checks.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/quoting.h"
#include "cli/connect/broker_session.h"
#include "cli/doctor/doctor_command.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

constexpr absl::Duration kRightsPatience = absl::Seconds(2);

// The time limit for each request to the management API.
constexpr absl::Duration kPatience = absl::Seconds(5);

// The lifetime of the temporary queue if it cannot be deleted.
constexpr absl::Duration kProbeLease = absl::Seconds(5);

// A refusal closes the channel and is handled in OnChannelClosed.
constexpr auto kIgnored = [](const auto& /*answer*/) {};

using Json = nlohmann::json;

// Describes what happens meanwhile to copies in quorum and in classic delay queues.
std::string WhatBecomesOfCopies(std::int64_t undelivered) {
  return absl::StrCat("copies that come due now wait in quorum delay queues (", undelivered,
                      " so far) and are dropped from classic ones");
}

// Why a queue refuses messages: its length limit was reached, up to five seconds ago.
std::optional<std::string> WhyFull(const Json& queue) {
  const std::optional<QueueSetting> refusal = RefusalOf(queue);
  if (!refusal) return std::nullopt;
  for (const LengthLimit& limit : LengthLimitsOf(queue)) {
    const std::optional<std::int64_t> now = IntegerOf(queue, limit.reached_by);
    if (!now || *now < limit.most) continue;
    return absl::StrCat(limit.key, " ", limit.most, ", ", refusal->value.get<std::string>());
  }
  return std::nullopt;
}

// By which setting of a policy the copies of a delay queue go elsewhere (F29); empty if by none.
std::string WhyRedirected(const Json& delay_queue, const std::string& name) {
  const auto key =
      TextOf(FieldOf(delay_queue, "effective_policy_definition"), "dead-letter-routing-key");
  if (!key) return "";
  return absl::StrCat("a policy sets dead-letter-routing-key ", InQuotes(*key), " on the queue ",
                      InQuotes(name));
}

}  // namespace

RightsCheck::RightsCheck(EventLoop& loop, const WorkOptions& worker,
                         std::function<void(absl::Status)> done)
    : worker_(worker),
      probe_(ThrowAwayForRights(worker_.delay_queues(), TargetOf(worker_), kProbeLease)),
      done_(std::move(done)),
      deadline_(loop.After(kRightsPatience, [this] { Finish(); })),
      connection_(loop, Named(worker_.place.connection, "retryq work: rights"), this) {}

// Sends all requests at once; the first refusal closes the channel.
void RightsCheck::OnOpen() {
  if (deadline_ == nullptr || channel_ != nullptr) return;
  channel_ = connection_.OpenChannel(this);
  channel_->ConfirmSelect(kIgnored);
  if (worker_.delay_queues().declare) TryToDeclare();
  const std::string nowhere = probe_.queue.name + ".nowhere";
  channel_->Publish({.exchange = "", .routing_key = nowhere}, [this](const PublishResult& result) {
    if (result.outcome != PublishOutcome::kUnknown) CleanUp();
  });
}

// The published message is deleted with the queue.
void RightsCheck::TryToDeclare() {
  const std::string& exchange = probe_.exchange->name;
  channel_->DeclareQueue(probe_.queue, kIgnored);
  channel_->DeclareExchange(*probe_.exchange, kIgnored);
  channel_->BindQueue(probe_.queue.name, exchange, probe_.binding_key, {}, kIgnored);
  channel_->Publish({.exchange = exchange, .routing_key = ""}, kIgnored);
}

// Uses a new channel, because the first one may be closed.
void RightsCheck::CleanUp() {
  if (!worker_.delay_queues().declare) return Finish();
  is_cleaning_up_ = true;
  channel_ = connection_.OpenChannel(this);
  channel_->DeleteQueue(probe_.queue.name, kIgnored);
  // The exchange is deleted with its queue, unless the binding failed.
  channel_->DeleteExchange(probe_.exchange->name,
                           [this](const absl::Status& /*gone*/) { Finish(); });
}

void RightsCheck::OnChannelClosed(const amqp::ChannelError& why) {
  if (is_cleaning_up_) return Finish();
  if (absl::IsPermissionDenied(why.status)) {
    refusal_ = absl::PermissionDeniedError(absl::StrCat(
        "a permission is missing that retrying needs: ", std::string(why.status.message()),
        "; remedy: ", GrantCommand(worker_)));
  }
  CleanUp();
}

// The client reports a lost connection.
void RightsCheck::OnLost(const absl::Status& /*why*/) { Finish(); }

void RightsCheck::OnBlocked(bool blocked, std::string_view /*reason*/) {
  if (blocked) Finish();
}

void RightsCheck::Finish() {
  if (deadline_ == nullptr) return;
  deadline_.reset();
  connection_.Close(kGoodbye, [this] {
    const auto done = std::exchange(done_, nullptr);
    done(std::move(refusal_));
  });
}

std::string_view NameOf(ReturnTrouble::Kind kind) {
  constexpr std::string_view kNames[] = {"gone", "full", "redirected", "undelivered"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<ReturnTrouble> TroubleIn(const ReturnState& now, const ReturnState& before,
                                       const std::string& queue) {
  ReturnTrouble trouble = {.kind = {}, .why = {}, .undelivered = now.undelivered};
  if (!now.exists) {
    trouble.kind = ReturnTrouble::Kind::kGone;
    trouble.why = absl::StrCat("the queue ", InQuotes(queue), " does not exist; ",
                               WhatBecomesOfCopies(now.undelivered), "; declare it again");
  } else if (now.full) {
    trouble.kind = ReturnTrouble::Kind::kFull;
    trouble.why = absl::StrCat("the queue ", InQuotes(queue), " is full (", *now.full, "); ",
                               WhatBecomesOfCopies(now.undelivered),
                               "; raise its limit, or start more workers");
  } else if (!now.redirected.empty()) {
    trouble.kind = ReturnTrouble::Kind::kRedirected;
    trouble.why = absl::StrCat(now.redirected, ": its copies do not return to ", InQuotes(queue),
                               "; those of a classic queue are lost; retryq doctor prints the "
                               "command that excludes delay queues from the policy");
  } else if (now.undelivered > 0 && before.undelivered > 0) {
    trouble.kind = ReturnTrouble::Kind::kUndelivered;
    trouble.why =
        absl::StrCat(now.undelivered, " copies are due and RabbitMQ has not delivered them to ",
                     InQuotes(queue), " yet; it tries again every 3 minutes; see retryq doctor");
  } else {
    return std::nullopt;
  }
  return trouble;
}

ReturnWatch::ReturnWatch(EventLoop& loop, Options options, Callbacks callbacks)
    : loop_(loop),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      api_(loop, options_.management, {.timeout = kPatience, .say_waiting = false}) {}

void ReturnWatch::OnEvent(const Event& event) {
  const bool waits = event.kind == EventKind::kRetried || event.kind == EventKind::kSnoozed ||
                     event.kind == EventKind::kForwarded;
  if (!waits || event.delay_queue.empty() || !event.delay) return;
  const absl::Time due = absl::Now() + *event.delay;
  const auto known = due_.find(event.delay_queue);
  if (known != due_.end()) {
    known->second.first = std::min(known->second.first, due);
    known->second.last = std::max(known->second.last, due);
  } else if (due_.size() < kMostDelayQueues) {
    due_.emplace(event.delay_queue, Due{.first = due, .last = due});
  }
  if (timer_ == nullptr) LookLater();
}

void ReturnWatch::LookLater() {
  timer_ = loop_.After(options_.every, [this] { LookIfDue(); });
}

void ReturnWatch::LookIfDue() {
  const absl::Time now = absl::Now();
  std::vector<std::string> delay_queues;
  for (const auto& [name, due] : due_) {
    if (due.first <= now) delay_queues.push_back(name);
  }
  if (delay_queues.empty()) {
    timer_.reset();
    if (!due_.empty()) LookLater();
    return;
  }
  api_.Look<absl::StatusOr<ReturnState>>(
      [this, delay_queues = std::move(delay_queues)](const ManagementApi::Fetch& get) {
        return Look(get, delay_queues);
      },
      [this, now](const absl::StatusOr<ReturnState>& state) { OnLooked(state, now); });
}

absl::StatusOr<ReturnState> ReturnWatch::Look(const ManagementApi::Fetch& get,
                                              const std::vector<std::string>& delay_queues) const {
  ReturnState state;
  const auto queue = get(UrlPath({"queues", options_.vhost, options_.queue}));
  if (absl::IsNotFound(queue.status())) {
    state.exists = false;
  } else if (!queue.ok()) {
    return queue.status();
  } else {
    state.full = WhyFull(queue->json);
  }
  for (const std::string& name : delay_queues) {
    const auto delay_queue = get(UrlPath({"queues", options_.vhost, name}));
    if (absl::IsNotFound(delay_queue.status())) continue;  // it is gone
    if (!delay_queue.ok()) return delay_queue.status();
    if (state.redirected.empty()) state.redirected = WhyRedirected(delay_queue->json, name);
    state.undelivered +=
        std::max<std::int64_t>(0, IntegerOf(delay_queue->json, "messages_dlx").value_or(0));
  }
  return state;
}

void ReturnWatch::OnLooked(const absl::StatusOr<ReturnState>& state, absl::Time asked) {
  LookLater();
  if (!state.ok()) {
    if (std::exchange(can_look_, false))
      callbacks_.cannot_look(std::string(state.status().message()));
    return;
  }
  can_look_ = true;
  const std::optional<ReturnTrouble> trouble =
      TroubleIn(*state, std::exchange(before_, *state), options_.queue);
  if (!trouble && state->undelivered == 0) {
    for (auto& [name, due] : due_) due.first = std::max(due.first, std::min(due.last, absl::Now()));
    std::erase_if(due_, [asked](const auto& each) { return each.second.last <= asked; });
  }
  if (trouble || in_trouble_) callbacks_.trouble(trouble);
  in_trouble_ = trouble.has_value();
}

}  // namespace retryq::cli
