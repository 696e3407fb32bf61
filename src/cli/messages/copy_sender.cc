#include "cli/messages/copy_sender.h"

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "loop/escaped_text.h"

namespace retryq::cli {

std::string Describe(const CopyTarget& target) {
  if (target.first.empty()) return absl::StrCat("queue ", EscapedText(target.second));
  return absl::StrCat("exchange ", EscapedText(target.first), " with routing key ",
                      EscapedText(target.second));
}

void CopySender::Send(MessageReader& reader, CopyPublisher::Copy copy) {
  Enqueue(reader, {.copy = std::move(copy)});
}

void CopySender::Discard(MessageReader& reader, amqp::MessagePtr message) {
  Enqueue(reader, {.copy = {.message = std::move(message)}, .is_published = false});
}

void CopySender::Enqueue(MessageReader& reader, Turn turn) {
  reader_ = &reader;
  if (abandoned_) return reader.Keep(turn.copy.message);
  waiting_bytes_ += turn.copy.message->body.size();
  waiting_.push_back(std::move(turn));
  Advance();
}

void CopySender::Abandon() {
  abandoned_ = true;
  again_.reset();
  waiting_bytes_ = 0;
  for (const Turn& turn : std::exchange(waiting_, {})) reader_->Keep(turn.copy.message);
}

void CopySender::Advance() {
  again_.reset();
  while (!waiting_.empty() && open_ < options_.window) {
    const absl::Duration now = loop_.clock().SinceBoot();
    if (const absl::Duration wait = pacer_.Wait(now); wait > absl::ZeroDuration()) {
      again_ = loop_.After(wait, [this] { Advance(); });
      return;
    }
    pacer_.Step(now);
    Turn turn = std::move(waiting_.front());
    waiting_.pop_front();
    waiting_bytes_ -= turn.copy.message->body.size();
    if (turn.is_published) {
      Publish(std::move(turn.copy));
    } else {
      Take(turn.copy.message);
    }
  }
}

void CopySender::Take(const amqp::MessagePtr& message) {
  ++taken_;
  if (options_.on_taken) options_.on_taken(*message);
  reader_->Take(message);
}

void CopySender::Publish(CopyPublisher::Copy copy) {
  ++open_;
  const CopyTarget target(copy.exchange, copy.routing_key);
  const amqp::MessagePtr message = copy.message;
  reader_->publisher().Publish(std::move(copy),
                               [this, message, target](const PublishResult& result) {
                                 OnPublished(message, target, result);
                               });
}

void CopySender::OnPublished(const amqp::MessagePtr& message, const CopyTarget& target,
                             const PublishResult& result) {
  --open_;
  if (result.outcome == PublishOutcome::kConfirmed) {
    ++targets_[target];
    Take(message);
  } else {
    NoteFailure(target, result);
    reader_->Keep(message);
  }
  if (!abandoned_) Advance();
}

void CopySender::NoteFailure(const CopyTarget& target, const PublishResult& result) {
  constexpr std::uint16_t kForbidden = 403;
  constexpr std::uint16_t kNoExchange = 404;
  constexpr std::uint16_t kDoesNotFit = 501;
  const std::string where = Describe(target);
  if (result.outcome == PublishOutcome::kReturned) {
    ++kept_[absl::StrCat(where, " is not there or leads nowhere (", EscapedText(result.text),
                         "); remedy: declare it, or ", options_.elsewhere)];
  } else if (result.outcome == PublishOutcome::kNacked) {
    ++kept_[absl::StrCat(where,
                         " refuses them, as a full queue does (x-max-length with "
                         "x-overflow reject-publish); remedy: ",
                         options_.again, " when there is room")];
  } else if (result.code == kDoesNotFit) {
    ++kept_["their headers do not fit into a frame; remedy: raise frame_max, on the broker too"];
  } else if (result.code == kNoExchange) {
    ++kept_[absl::StrCat(where, " is not there")];
  } else if (result.code == kForbidden) {
    ++kept_[absl::StrCat("the user may not publish to ", where)];
  } else {
    ++in_doubt_;
  }
}

}  // namespace retryq::cli
