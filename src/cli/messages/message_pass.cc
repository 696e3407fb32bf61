#include "cli/messages/message_pass.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace retryq::cli {
namespace {

Progress StderrProgress(const std::string& queue, absl::Duration start) {
  Progress::Options options{.is_terminal = ::isatty(STDERR_FILENO) != 0, .what = queue};
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = size.ws_col;
  }
  return Progress(std::move(options), start);
}

}  // namespace

MessagePass::MessagePass(const MessageChoice& choice)
    : choice_(choice), now_(loop_.clock().Now()) {}

MessagePass::~MessagePass() = default;

absl::Status MessagePass::Run(MessageReader::Options options) {
  progress_.emplace(StderrProgress(options.queue, loop_.clock().SinceBoot()));
  reader_.emplace(loop_, std::move(options), static_cast<MessageVisitor&>(*this), *progress_);
  return reader_->Run();
}

void MessagePass::OnMessage(amqp::MessagePtr message) {
  const bool is_meant = IsCandidate(*message) && matched_ != choice_.limit &&
                        choice_.filter.Matches(*message, now_) && MayBeTaken(*message);
  if (!is_meant) return reader_->Keep(message);
  ++matched_;
  OnMatch(std::move(message));
  if (matched_ == choice_.limit) OnLimit();
}

std::uint16_t ReadingWindow(const MessageChoice& choice) {
  if (!choice.limit || !choice.filter.empty()) return kReadingWindow;
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(*choice.limit, kReadingWindow));
}

}  // namespace retryq::cli
