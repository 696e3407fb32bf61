#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/escaped_text.h"
#include "cli/connect/broker_session.h"
#include "cli/messages/actions.h"
#include "cli/messages/message_text.h"
#include "cli/text/io.h"
#include "retryq/event_loop.h"

namespace retryq::cli {
namespace {

// The window of one consumer if bodies are not kept in memory: so large that a second consumer is
// rarely needed.
constexpr std::uint16_t kReadingWindow = 2000;

// Parked messages that wait for their turn are unacked, and the broker ends a consumer after half
// an hour.
constexpr double kLongestTurnSeconds = 300;

// Messages of a delay queue cannot come due while they are held, so a pass ends after some seconds.
constexpr absl::Duration kLongestRead = absl::Seconds(10);
// The limits if all messages are taken in order: few are held at a time, so that none is held that
// could be due.
constexpr absl::Duration kLongestTaking = absl::Minutes(5);
constexpr double kTurnSeconds = 2;

// The limit of waiting bodies; further matches are left to the next pass.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

std::uint16_t WindowInTime(const MessagesOptions& options, double seconds) {
  if (options.rate <= 0) return options.window;
  return static_cast<std::uint16_t>(
      std::min<double>(options.window, std::max(1.0, options.rate * seconds)));
}

// What became of the messages of one pass.
struct Tally {
  std::uint64_t removed = 0;
  std::map<CopyTarget, std::uint64_t> targets;  // copies; of a dry run, those that would be sent
  std::map<std::string, std::uint64_t> kept;    // by reason, which includes the remedy
  std::uint64_t in_doubt = 0;                   // kept, but their copies may have arrived
  bool is_refused = false;                      // the broker has refused a copy
};

// Removes messages from a queue that a reader reads, at a limited rate. A message is removed once
// its copy is confirmed and was not returned; without copies, once it is saved. Otherwise it is
// kept, and counted with the reason. An error while saving ends the reader.
class Remover {
 public:
  // The arguments must outlive it.
  Remover(EventLoop& loop, QueueReader& reader, const MessagesOptions& options,
          const Action& action, const Source& source, Tally& tally)
      : loop_(loop),
        reader_(reader),
        action_(action),
        source_(source),
        tally_(tally),
        window_(WindowInTime(options, kLongestTurnSeconds)),
        pacer_(options.rate) {}

  // `copy.message` is a message that the reader has shown, or a replacement with the same delivery
  // tag. Unless it is published, the message is permanently removed.
  void Add(MessageCopy copy, bool is_published) {
    if (abandoned_) return reader_.Keep(copy.message);
    waiting_bytes_ += copy.message->body.size();
    waiting_.push_back({.copy = std::move(copy), .is_published = is_published});
    if (is_published) return Advance();
    // Messages that arrive together are saved together.
    if (!again_) again_ = loop_.After(absl::ZeroDuration(), [this] { Advance(); });
  }

  // Starts no more copies; waiting messages are kept.
  void Abandon() {
    abandoned_ = true;
    again_.reset();
    waiting_bytes_ = 0;
    for (const Turn& turn : std::exchange(waiting_, {})) reader_.Keep(turn.copy.message);
  }

  // The total size of the waiting bodies.
  std::size_t waiting_bytes() const { return waiting_bytes_; }

  std::uint64_t open() const { return open_; }  // copies under way

 private:
  struct Turn {
    MessageCopy copy;
    bool is_published;
  };

  void Advance() {
    const std::unique_ptr<Timer> fired = std::move(again_);
    std::vector<amqp::MessagePtr> discarded;
    while (!waiting_.empty() && open_ < window_) {
      const absl::Duration now = loop_.clock().SinceBoot();
      if (const absl::Duration wait = pacer_.Wait(now); wait > absl::ZeroDuration()) {
        again_ = loop_.After(wait, [this] { Advance(); });
        break;
      }
      pacer_.Step(now);
      Turn turn = std::move(waiting_.front());
      waiting_.pop_front();
      waiting_bytes_ -= turn.copy.message->body.size();
      if (turn.is_published) {
        Publish(std::move(turn.copy));
      } else {
        discarded.push_back(std::move(turn.copy.message));
      }
    }
    if (!discarded.empty()) SaveAndRemove(discarded);
  }

  void SaveAndRemove(const std::vector<amqp::MessagePtr>& messages) {
    const absl::Status saved = action_.save ? action_.save(messages) : absl::OkStatus();
    for (const amqp::MessagePtr& message : messages) {
      saved.ok() ? Remove(message) : reader_.Keep(message);
    }
    if (!saved.ok()) reader_.Abandon(saved);
  }

  void Remove(const amqp::MessagePtr& message) {
    ++tally_.removed;
    if (action_.on_removed) action_.on_removed(*message, source_);
    reader_.Take(message);
  }

  void Publish(MessageCopy copy) {
    ++open_;
    const CopyTarget target = copy.target;
    const amqp::MessagePtr message = copy.message;
    reader_.publisher().Publish(std::move(copy),
                                [this, message, target](const PublishResult& result) {
                                  --open_;
                                  if (result.outcome == PublishOutcome::kConfirmed) {
                                    ++tally_.targets[target];
                                    Remove(message);
                                  } else {
                                    NoteFailure(target, result);
                                    reader_.Keep(message);
                                  }
                                  if (!abandoned_) Advance();
                                });
  }

  void NoteFailure(const CopyTarget& target, const PublishResult& result) {
    constexpr std::uint16_t kForbidden = 403;
    constexpr std::uint16_t kNoExchange = 404;
    constexpr std::uint16_t kDoesNotFit = 501;
    const std::string where = Describe(target);
    std::string why;
    if (result.outcome == PublishOutcome::kReturned) {
      why = absl::StrCat(where, " does not exist or leads to no queue (", EscapedText(result.text),
                         "); remedy: declare it, or ", action_.elsewhere);
    } else if (result.outcome == PublishOutcome::kNacked) {
      why = absl::StrCat(where,
                         " refuses them, as a full queue does (x-max-length with x-overflow "
                         "reject-publish); remedy: ",
                         action_.again, " when there is room");
    } else if (result.code == kDoesNotFit) {
      why =
          "their headers do not fit into a frame; remedy: raise frame_max in the broker's "
          "configuration";
    } else if (result.code == kNoExchange) {
      why = where + " does not exist";
    } else if (result.code == kForbidden) {
      why = "the user may not publish to " + where;
    } else {
      ++tally_.in_doubt;
      return;
    }
    tally_.is_refused = true;
    ++tally_.kept[why];
  }

  EventLoop& loop_;
  QueueReader& reader_;
  const Action& action_;
  const Source& source_;
  Tally& tally_;
  const std::uint16_t window_;  // copies that are unconfirmed at a time
  Pacer pacer_;
  std::unique_ptr<Timer> again_;
  std::deque<Turn> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t open_ = 0;
  bool abandoned_ = false;
};

// Reads one queue once.
class Pass {
 public:
  // The arguments must outlive it.
  Pass(const MessagesOptions& options, const Source& source, std::optional<std::uint64_t> limit,
       const Action& action)
      : options_(options),
        source_(source),
        limit_(limit),
        action_(action),
        now_(loop_.clock().Now()) {}

  // Returns the errors of QueueReader::Run and AskBeforeReading; a delay queue that has expired
  // meanwhile counts as empty.
  absl::Status Run();

  // The number of matches that were removed or, if none are, of all.
  std::uint64_t done() const { return remover_ ? tally_.removed : matched_; }
  // Whether another pass may remove more.
  bool MayGoOn() const;

  // Adds its figures. If another pass follows, that one sees the messages that stay.
  void AddTo(ReadResult* result, bool is_last) const;
  // Adds the reasons why messages stay or were not seen.
  void AddProblemsTo(ReadResult* result, bool has_reached_limit) const;

 private:
  absl::StatusOr<QueueReader::Options> ReaderOptions() const;
  absl::StatusOr<QueueReader::Options> ParkedOptions(QueueReader::Options reader) const;
  QueueReader::Options WaitingOptions(QueueReader::Options reader) const;
  bool Acts() const { return action_.removes && !options_.dry_run; }
  void OnMessage(amqp::MessagePtr message);
  bool IsCandidate(const amqp::Message& message);
  bool MayBeTaken(const amqp::Message& message);
  void Carry(Decision decision, const amqp::MessagePtr& message);
  std::uint64_t Total() const {
    return source_.delay ? waiting_ : (reader_ ? reader_->total() : 0);
  }
  // Whether messages of the queue have been read so often that a few more reads would send them to
  // the work queue early.
  bool IsWornOut() const {
    return source_.delay && source_.delay->delivery_limit &&
           returns_ * 2 >= *source_.delay->delivery_limit;
  }

  const MessagesOptions& options_;
  const Source& source_;
  const std::optional<std::uint64_t> limit_;
  const Action& action_;
  EventLoop loop_;
  const absl::Time now_;
  std::optional<QueueReader> reader_;
  std::optional<Remover> remover_;
  std::uint64_t waiting_ = 0;  // seen messages that wait for the work queue
  std::uint64_t matched_ = 0;
  std::uint64_t foreign_ = 0;  // matches that stay, as retryq did not park them
  // The highest number of returns of a message that stays, including this pass. 0 if the queue does
  // not count them.
  std::int64_t returns_ = 0;
  Tally tally_;
};

absl::StatusOr<QueueReader::Options> Pass::ReaderOptions() const {
  QueueReader::Options reader{
      .connection = Named(options_.place.connection,
                          options_.is_waiting ? "retryq waiting" : "retryq parked"),
      .queue = source_.queue};
  // The broker's limit: it delivers headers that are larger than a lower one, and does not take
  // them back (F34 in doc/rabbitmq_facts.md).
  reader.connection.frame_max = 0;
  return source_.delay ? WaitingOptions(std::move(reader)) : ParkedOptions(std::move(reader));
}

absl::StatusOr<QueueReader::Options> Pass::ParkedOptions(QueueReader::Options reader) const {
  const auto before = AskBeforeReading(options_.place, source_.queue);
  if (!before.ok()) return before.status();
  reader.connection = WithPatience(reader.connection, absl::Seconds(6));
  reader.window = Acts() ? WindowInTime(options_, kLongestTurnSeconds) : kReadingWindow;
  if (Acts() && options_.rate <= 0) reader.later_window = kReadingWindow;
  reader.may_collect = Acts() && options_.rate <= 0 && before->is_classic;
  if (!Acts() && limit_ && options_.filter.empty()) {
    reader.window = static_cast<std::uint16_t>(std::min<std::uint64_t>(*limit_, kReadingWindow));
  }
  reader.move_at = before->move_at;
  reader.figures = before->figures;
  reader.if_missing =
      ": --queue is the work queue, whose messages are parked in QUEUE.parked unless --parked "
      "names another queue; its vhost is the one in the --url";
  return reader;
}

QueueReader::Options Pass::WaitingOptions(QueueReader::Options reader) const {
  constexpr std::uint16_t kAll = std::numeric_limits<std::uint16_t>::max();
  reader.window = source_.delay->is_quorum ? kAll : kReadingWindow;
  reader.keep_order = source_.delay->is_quorum;
  reader.longest = kLongestRead;
  reader.figures = source_.delay->figures;
  // If every message is taken in the order in which it is shown, none is held for longer than its
  // turn takes.
  if (Acts() && source_.delay->is_owned && options_.filter.empty() && !limit_) {
    reader.window = WindowInTime(options_, kTurnSeconds);
    reader.longest = kLongestTaking;
  }
  return reader;
}

absl::Status Pass::Run() {
  absl::StatusOr<QueueReader::Options> reader = ReaderOptions();
  if (!reader.ok()) return reader.status();
  reader->on_message = [this](amqp::MessagePtr message) { OnMessage(std::move(message)); };
  reader->on_abandoned = [this] {
    if (remover_) remover_->Abandon();
  };
  reader_.emplace(loop_, *std::move(reader));
  if (Acts()) remover_.emplace(loop_, *reader_, options_, action_, source_, tally_);
  absl::Status status = reader_->Run();
  return source_.delay && absl::IsNotFound(status) && !reader_->began() ? absl::OkStatus() : status;
}

void Pass::OnMessage(amqp::MessagePtr message) {
  const bool matches = IsCandidate(*message) && matched_ != limit_ &&
                       options_.filter.Matches(*message, now_) && MayBeTaken(*message);
  if (!matches) return reader_->Keep(message);
  ++matched_;
  if (remover_ && remover_->waiting_bytes() > kMostBytes) {
    reader_->Keep(message);
    return reader_->CutShort();
  }
  Carry(action_.decide(message, source_), message);
  // A quorum delay queue that is read only in part gets out of order.
  if (matched_ == limit_ && !source_.delay) reader_->Stop();
}

bool Pass::IsCandidate(const amqp::Message& message) {
  if (!source_.delay) return action_.applies == nullptr || action_.applies(message);
  if (source_.delay->delivery_limit) {
    returns_ = std::max(returns_, MessageHistory(message).returns + 1);
  }
  if (!WaitsFor(message, *source_.delay, options_.work_queue)) return false;
  ++waiting_;
  return true;
}

bool Pass::MayBeTaken(const amqp::Message& message) {
  const bool ours_only = !source_.delay && !options_.foreign && Removes(options_.action);
  if (!ours_only || MessageHistory(message).is_parked()) return true;
  ++foreign_;
  return false;
}

void Pass::Carry(Decision decision, const amqp::MessagePtr& message) {
  if (const Keep* keep = std::get_if<Keep>(&decision)) {
    if (!keep->why.empty()) ++tally_.kept[keep->why];
    return reader_->Keep(message);
  }
  MessageCopy* const copy = std::get_if<MessageCopy>(&decision);
  if (remover_) {
    return copy != nullptr ? remover_->Add(std::move(*copy), /*is_published=*/true)
                           : remover_->Add({.message = message}, /*is_published=*/false);
  }
  if (copy != nullptr) ++tally_.targets[copy->target];
  if (action_.on_removed) action_.on_removed(*message, source_);
  reader_->Keep(message);
}

bool Pass::MayGoOn() const {
  return reader_->cut_short() && tally_.removed > 0 && !tally_.is_refused && !IsWornOut();
}

void Pass::AddTo(ReadResult* result, bool is_last) const {
  result->began = result->began || (reader_ && reader_->began());
  result->total += is_last ? Total() : done();
  result->matched += is_last ? matched_ : done();
  if (is_last && Total() > 0) ++result->queues;
  for (const auto& [target, count] : tally_.targets) result->targets[target] += count;
  if (tally_.removed == 0) return;
  result->removed += tally_.removed;
  result->removed_from[source_.queue] += tally_.removed;
}

void Pass::AddProblemsTo(ReadResult* result, bool has_reached_limit) const {
  const auto add = [&](std::uint64_t count, const std::string& why) {
    if (count == 0) return;
    result->problems.push_back(absl::StrCat(count, " stay in ", source_.queue, why));
  };
  for (const auto& [why, count] : tally_.kept) add(count, ": " + why);
  add(tally_.in_doubt + (remover_ ? remover_->open() : 0),
      ", and their copies may still have arrived: the reply of the broker is missing");
  add(foreign_,
      ": retryq did not park them (they have no x-retry-parked); remedy: look at them, and add "
      "--foreign to include them");
  if (IsWornOut()) {
    WriteErrors(absl::StrCat("retryq waiting: messages in ", source_.queue, " have been read ",
                             returns_, " times, and go to the work queue early once that exceeds ",
                             *source_.delay->delivery_limit,
                             " (delivery limit); RabbitMQ before 4.3 counts each read\n"));
  }
  if (!reader_ || (has_reached_limit && options_.action != MessageAction::kList)) return;
  if (reader_->others_hold() && result->status.ok()) {
    const absl::Status held = HeldByOthers(options_.place, source_.queue);
    if (!held.ok()) result->problems.emplace_back(held.message());
  }
  if (!reader_->cut_short()) return;
  result->problems.push_back(absl::StrCat(
      "not all of the ", reader_->total(), " messages in ", source_.queue,
      " were read, so that due messages are not held up; remedy: run the command again when fewer "
      "messages wait"));
}

}  // namespace

ReadResult ReadQueues(const MessagesOptions& options, const Scope& scope,
                      std::optional<std::uint64_t> limit, const Action& action) {
  ReadResult result;
  for (const Source& source : scope.sources) {
    for (bool goes_on = limit != 0 && result.status.ok(); goes_on;) {
      Pass pass(options, source, limit, action);
      result.status = pass.Run();
      if (limit) *limit -= pass.done();
      goes_on = result.status.ok() && limit != 0 && pass.MayGoOn();
      pass.AddTo(&result, !goes_on);
      if (!goes_on) pass.AddProblemsTo(&result, limit == 0);
    }
  }
  return result;
}

absl::Status StatusOf(const MessagesOptions& options, const Scope& scope,
                      const ReadResult& result) {
  // Messages can wait for a deleted work queue. If none do, its name is probably wrong.
  const bool finds_nothing = result.status.ok() || absl::IsNotFound(result.status);
  if (finds_nothing && result.total == 0 && !scope.has_work_queue) return NoWorkQueue(options);
  if (result.problems.empty()) return result.status;
  const std::string text = absl::StrJoin(result.problems, "\n");
  if (result.status.ok()) return absl::UnavailableError(text);
  return absl::Status(result.status.code(),
                      absl::StrCat(std::string(result.status.message()), "\n", text));
}

}  // namespace retryq::cli
