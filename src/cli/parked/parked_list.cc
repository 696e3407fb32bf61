#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/messages/message_past.h"
#include "cli/parked/parked_actions.h"
#include "cli/parked/parked_pass.h"
#include "cli/parked/parked_row.h"
#include "cli/text/json_line.h"

namespace retryq::cli {
namespace {

class Listing final : public ParkedPass {
 public:
  explicit Listing(const ParkedOptions& options)
      : ParkedPass(options, ReadingWindow(options.choice)), options_(options) {}

  // The table, or one JSON object per line; empty if no message matches.
  std::string Text() const {
    if (options_.by_error) return CountsText(counts_, "error", options_.json);
    if (options_.json || lines_.empty()) return lines_;
    return absl::StrCat(ParkedTableHead(options_.columns), "\n", lines_);
  }

 private:
  void OnMatch(amqp::MessagePtr message) override {
    if (options_.by_error) {
      ++counts_[std::string(MessagePast(*message).error.value_or(""))];
    } else {
      lines_
          .append(options_.json ? JsonLine(MessageJsonRow(*message, options_.columns))
                                : ParkedTableRow(*message, options_.columns))
          .append("\n");
    }
    reader().Keep(message);
  }

  const ParkedOptions& options_;
  // Printed after all messages are requeued: a slow reader of the output must not block the
  // connection.
  std::string lines_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace

MessagesResult ListParked(const ParkedOptions& options) {
  Listing listing(options);
  absl::Status status = listing.WithUnseen(listing.Run());
  std::string text = listing.Text();
  if (!options.json && listing.began()) {
    if (!text.empty()) text.push_back('\n');
    absl::StrAppend(&text, listing.matched(), " of ", listing.total(), " messages in ",
                    options.queue, "\n");
  }
  return {.text = std::move(text), .status = std::move(status)};
}

}  // namespace retryq::cli
