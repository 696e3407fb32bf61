#include "cli/parked/parked_list.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/parked/parked_message.h"
#include "cli/parked/parked_row.h"
#include "cli/text/escaped_text.h"

namespace retryq::cli {
namespace {

class Listing final : public ParkedPass {
 public:
  explicit Listing(const ParkedOptions& options)
      : ParkedPass(options, ReadingWindow(options)), options_(options) {}

  // The table, or a JSON object a line; empty where nothing is meant.
  std::string Text() const {
    if (options_.by_error) return Counts();
    if (options_.json || lines_.empty()) return lines_;
    return absl::StrCat(ParkedTableHead(options_.columns), "\n", lines_);
  }

 private:
  void OnMatch(amqp::MessagePtr message) override {
    if (options_.by_error) {
      ++counts_[std::string(ParkedMessage(*message).error.value_or(""))];
    } else {
      lines_
          .append(options_.json ? ParkedJsonRow(*message, options_.columns)
                                : ParkedTableRow(*message, options_.columns))
          .append("\n");
    }
    reader().Keep(message);
  }

  // The most frequent error first.
  std::string Counts() const {
    std::vector<std::pair<std::string, std::uint64_t>> counts(counts_.begin(), counts_.end());
    std::stable_sort(counts.begin(), counts.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    if (!options_.json && !counts.empty()) text = "   count  error\n";
    for (const auto& [error, count] : counts) {
      if (options_.json) {
        nlohmann::ordered_json json = {{"count", count}};
        if (!error.empty()) json["error"] = error;
        text.append(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
        text.push_back('\n');
      } else {
        absl::StrAppendFormat(&text, "%8d  %s\n", count,
                              error.empty() ? std::string("-") : EscapedText(error));
      }
    }
    return text;
  }

  const ParkedOptions& options_;
  // Printed when the queue has all back: a reader of this output that takes its time must not hold
  // up the connection.
  std::string lines_;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace

ParkedResult ListParked(const ParkedOptions& options) {
  Listing listing(options);
  absl::Status status = listing.Run();
  std::string text = listing.Text();
  if (!options.json && listing.began()) {
    if (!text.empty()) text.push_back('\n');
    absl::StrAppend(&text, listing.matched(), " of ", listing.total(), " messages in ",
                    options.queue, "\n");
  }
  return {.text = std::move(text), .status = std::move(status)};
}

}  // namespace retryq::cli
