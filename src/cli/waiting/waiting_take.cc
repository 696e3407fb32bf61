#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cli/messages/copy_sender.h"
#include "cli/messages/question.h"
#include "cli/text/json_line.h"
#include "cli/waiting/waiting_actions.h"
#include "cli/waiting/waiting_pass.h"
#include "cli/waiting/waiting_row.h"

namespace retryq::cli {
namespace {

// The limit of waiting bodies; further matches are left to the next pass.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

struct TakeWords {
  std::string release;   // "release"
  std::string released;  // "released"
  std::string elsewhere;
};

TakeWords WordsFor(const WaitingOptions& options) {
  switch (options.action) {
    case WaitingAction::kPark:
      return {"park", "parked", "name another queue by --parked"};
    case WaitingAction::kDrop:
      return {"drop", "dropped", ""};
    default:
      return {"release", "released", "park them (retryq waiting park)"};
  }
}

class TakingWaiting final : public WaitingPass {
 public:
  // Appends a line to `*rows` for each message that is taken or would be, if the options ask for
  // it.
  TakingWaiting(const WaitingOptions& options, const WaitingQueue& queue,
                const MessageChoice& choice, std::string* rows)
      : WaitingPass(options, queue, choice),
        rows_(rows),
        sender_(loop(), {.rate = options.rate,
                         .window = options.window,
                         .again = WordsFor(options).release + " again",
                         .elsewhere = WordsFor(options).elsewhere,
                         .on_taken = [this](const amqp::Message& message) { OnTaken(message); }}) {}

  const CopySender& sender() const { return sender_; }

 private:
  void OnMatch(amqp::MessagePtr message) override {
    if (options().ask || options().dry_run) {
      if (options().dry_run) AddRow(*message);
      return reader().Keep(message);
    }
    if (sender_.waiting_bytes() > kMostBytes) {
      reader().Keep(message);
      return reader().CutShort();
    }
    switch (options().action) {
      case WaitingAction::kDrop:
        return sender_.Discard(reader(), std::move(message));
      case WaitingAction::kPark:
        return sender_.Send(reader(), {.message = std::move(message),
                                       .plan = {.path = CopyPath::kRelease,
                                                .parked = loop().clock().Now(),
                                                .work_queue = options().work_queue},
                                       .exchange = "",
                                       .routing_key = options().parked_queue});
      default:
        return sender_.Send(reader(), {.message = std::move(message),
                                       .plan = {.path = CopyPath::kRelease},
                                       .exchange = "",
                                       .routing_key = options().work_queue});
    }
  }

  void OnAbandoned() override { sender_.Abandon(); }

  void OnTaken(const amqp::Message& message) {
    if (options().json) AddRow(message);
  }

  void AddRow(const amqp::Message& message) const {
    rows_
        ->append(options().json ? JsonLine(WaitingJsonRow(message, queue(), {}))
                                : WaitingTableRow(message, queue(), {}))
        .push_back('\n');
  }

  std::string* const rows_;
  CopySender sender_;
};

// Takes messages from all queues and sums up the results.
class Takings {
 public:
  Takings(const WaitingOptions& options, const WaitingPlace& place)
      : options_(options), place_(place), choice_(options.choice) {}

  absl::Status Run() {
    for (const WaitingQueue& queue : place_.queues) {
      if (choice_.limit == 0) break;
      if (absl::Status status = Empty(queue); !status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const WaitingSum& sum() const { return sum_; }
  std::uint64_t taken() const { return taken_; }
  const std::map<std::string, std::uint64_t>& taken_from() const { return taken_from_; }
  const std::string& rows() const { return rows_; }

 private:
  // Repeats passes as long as they make progress.
  absl::Status Empty(const WaitingQueue& queue) {
    for (;;) {
      TakingWaiting pass(options_, queue, choice_, &rows_);
      absl::Status status = pass.Run();
      const std::uint64_t taken = pass.sender().taken();
      taken_ += taken;
      if (taken > 0) taken_from_[queue.name] += taken;
      if (choice_.limit) {
        *choice_.limit -= options_.ask || options_.dry_run ? pass.matched() : taken;
      }
      const bool goes_on = status.ok() && pass.cut_short() && taken > 0 &&
                           pass.sender().kept().empty() && choice_.limit != 0 &&
                           !IsWornOut(queue, pass.returns());
      if (goes_on) {
        sum_.waiting += taken;  // the next pass sees the others again
        sum_.matched += taken;
        continue;
      }
      sum_.Add(pass);
      Note(pass, queue);
      WarnOfLimit(queue, pass.returns());
      return status;
    }
  }

  static bool IsWornOut(const WaitingQueue& queue, std::int64_t returns) {
    return queue.delivery_limit && returns * 2 >= *queue.delivery_limit;
  }

  void Note(const TakingWaiting& pass, const WaitingQueue& queue) {
    for (const auto& [why, count] : pass.sender().kept()) {
      sum_.problems.push_back(absl::StrCat(count, " stay in ", queue.name, ": ", why));
    }
    if (pass.sender().in_doubt() > 0) {
      sum_.problems.push_back(absl::StrCat(
          pass.sender().in_doubt(), " stay in ", queue.name,
          ", and their copies may still have arrived: the broker's answer is missing"));
    }
    if (choice_.limit != 0) sum_.NoteUnseen(pass, queue);
  }

  const WaitingOptions& options_;
  const WaitingPlace& place_;
  MessageChoice choice_;
  WaitingSum sum_{.options = options_, .place = place_};
  std::uint64_t taken_ = 0;
  std::map<std::string, std::uint64_t> taken_from_;
  std::string rows_;
};

MessagesResult TakeAgreed(const WaitingOptions& options, const WaitingPlace& place) {
  const TakeWords words = WordsFor(options);
  Takings takings(options, place);
  absl::Status status = takings.Run();
  status = takings.sum().StatusWith(status);
  if (!status.ok() && takings.sum().waiting == 0) return {.status = std::move(status)};
  std::string text = takings.rows();
  if (!options.json) {
    if (!text.empty()) text = absl::StrCat(WaitingTableHead({}), "\n", text, "\n");
    absl::StrAppend(&text, options.dry_run ? "would " + words.release : words.released, " ",
                    options.dry_run ? takings.sum().matched : takings.taken(), " of ",
                    takings.sum().waiting, " messages that wait for ", options.work_queue, "\n");
    for (const auto& [queue, count] : takings.taken_from()) {
      absl::StrAppend(&text, "  ", count, " from ", queue, "\n");
    }
  }
  return {.text = std::move(text), .status = std::move(status)};
}

}  // namespace

MessagesResult TakeWaiting(const WaitingOptions& options, const WaitingPlace& place) {
  if (!options.ask) return TakeAgreed(options, place);
  Takings counting(options, place);
  const absl::Status status = counting.sum().StatusWith(counting.Run());
  if (!status.ok()) return {.status = status};
  const TakeWords words = WordsFor(options);
  const std::uint64_t count = counting.sum().matched;
  const std::string of =
      absl::StrCat(counting.sum().waiting, " messages that wait for ", options.work_queue);
  if (count == 0) {
    return {.text = absl::StrCat("0 of ", of, " are meant: nothing to ", words.release, "\n")};
  }
  std::string question = absl::StrCat(words.release, " ", count, " of the ", of,
                                      options.action == WaitingAction::kDrop ? " for good?" : "?");
  question.front() = absl::ascii_toupper(static_cast<unsigned char>(question.front()));
  if (!Agrees(question)) return {.text = absl::StrCat("nothing was ", words.released, "\n")};
  // Excludes messages that arrived after the question.
  WaitingOptions agreed = options;
  agreed.ask = false;
  agreed.choice.limit = count;
  return TakeAgreed(agreed, place);
}

}  // namespace retryq::cli
