#include "cli/parked/parked_pass.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/parked/delivery_limit.h"
#include "cli/parked/parked_message.h"

namespace retryq::cli {
namespace {

constexpr std::uint16_t kReadingWindow = 2000;

Progress StderrProgress(const std::string& queue, absl::Duration start) {
  Progress::Options options{
      .fd = STDERR_FILENO, .is_terminal = ::isatty(STDERR_FILENO) != 0, .what = queue};
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = size.ws_col;
  }
  return Progress(std::move(options), start);
}

}  // namespace

ParkedPass::ParkedPass(const ParkedOptions& options, std::uint16_t window)
    : options_(options),
      window_(window),
      ours_only_(!options.foreign && (options.action == ParkedAction::kReplay ||
                                      options.action == ParkedAction::kDrop)),
      now_(loop_.clock().Now()) {}

ParkedPass::~ParkedPass() = default;

absl::Status ParkedPass::Run() {
  const auto move_at = FindMoveAt(options_.management, options_.connection.vhost, options_.queue);
  if (!move_at.ok()) return move_at.status();
  progress_.emplace(StderrProgress(options_.queue, loop_.clock().SinceBoot()));
  reader_.emplace(loop_,
                  ParkedReader::Options{.connection = options_.connection,
                                        .queue = options_.queue,
                                        .window = window_,
                                        .move_at = *move_at},
                  static_cast<ParkedVisitor&>(*this), *progress_);
  return reader_->Run();
}

void ParkedPass::OnMessage(amqp::MessagePtr message) {
  const bool is_meant = matched_ != options_.limit && options_.filter.Matches(*message, now_);
  if (!is_meant) return reader_->Keep(message);
  if (ours_only_ && !ParkedMessage(*message).is_ours()) {
    ++foreign_;
    return reader_->Keep(message);
  }
  ++matched_;
  OnMatch(std::move(message));
  if (matched_ == options_.limit) reader_->Stop();
}

std::string ParkedPass::WhyForeignStay() const {
  return absl::StrCat(foreign_, " stay in ", options_.queue,
                      ": retryq did not park them (they have no x-retry-parked); remedy: look at "
                      "them, and where they are meant, add --foreign");
}

std::uint16_t ReadingWindow(const ParkedOptions& options) {
  if (!options.limit || !options.filter.empty()) return kReadingWindow;
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(*options.limit, kReadingWindow));
}

}  // namespace retryq::cli
