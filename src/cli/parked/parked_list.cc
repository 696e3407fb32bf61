#include "cli/parked/parked_list.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/parked/parked_row.h"

namespace retryq::cli {
namespace {

class Listing final : public ParkedPass {
 public:
  explicit Listing(const ParkedOptions& options)
      : ParkedPass(options, ReadingWindow(options)), json_(options.json) {}

  std::string TakeLines() { return std::move(lines_); }

 private:
  void OnMatch(amqp::MessagePtr message) override {
    lines_.append(json_ ? ParkedJsonRow(*message) : ParkedTableRow(*message)).append("\n");
    reader().Keep(message);
  }

  const bool json_;
  // Printed when the queue has all back: a reader of this output that takes its time must not hold
  // up the connection.
  std::string lines_;
};

}  // namespace

ParkedResult ListParked(const ParkedOptions& options) {
  Listing listing(options);
  absl::Status status = listing.Run();
  std::string lines = listing.TakeLines();
  if (options.json || !listing.began()) {
    return {.text = std::move(lines), .status = std::move(status)};
  }
  if (!lines.empty()) lines = absl::StrCat(ParkedTableHead(), "\n", lines, "\n");
  absl::StrAppend(&lines, listing.matched(), " of ", listing.total(), " messages in ",
                  options.queue, "\n");
  return {.text = std::move(lines), .status = std::move(status)};
}

}  // namespace retryq::cli
