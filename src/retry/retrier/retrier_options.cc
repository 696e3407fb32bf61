#include "retry/retrier/retrier_options.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/name_size.h"
#include "retry/policy/decide.h"

namespace retryq {
namespace {

// Any valid heartbeat: others check the margin against the connection's heartbeat.
constexpr absl::Duration kAnyHeartbeat = absl::Milliseconds(1);

constexpr std::size_t kMostFormerQueues = 16;

void CheckName(const std::string& field, const std::string& name,
               std::vector<std::string>* errors) {
  if (name.size() > kMaxNameSize) {
    errors->push_back(absl::StrCat(field, " must be at most 255 bytes long"));
  }
  if (name.find_first_of("\r\n") != std::string::npos) {
    errors->push_back(absl::StrCat(field, " must not contain line breaks"));
  }
  if (name.find('\0') != std::string::npos) {
    errors->push_back(absl::StrCat(field, " must not contain NUL"));
  }
}

void Check(const absl::Status& status, std::vector<std::string>* errors) {
  if (!status.ok()) errors->emplace_back(status.message());
}

}  // namespace

absl::Status Validate(const RetrierOptions& options, const DelayQueueOptions& delay_queues) {
  std::vector<std::string> errors;
  if (options.queue.empty()) errors.emplace_back("queue must be named");
  CheckName("queue", options.queue, &errors);
  CheckName("work_exchange", options.work_exchange, &errors);
  const RetrierOptions complete = WithDefaults(options);
  CheckName("parked_queue", complete.parked_queue, &errors);
  if (options.former_queues.size() > kMostFormerQueues) {
    errors.push_back(absl::StrCat("former_queues must name at most ", kMostFormerQueues,
                                  " queues, but names ", options.former_queues.size()));
  }
  for (const std::string& former : options.former_queues) {
    if (former.empty()) errors.emplace_back("former_queues must not contain an empty name");
    CheckName("former_queues", former, &errors);
  }
  if (!options.queue.empty() && complete.parked_queue == options.queue) {
    errors.emplace_back("parked_queue must be another queue than queue");
  }
  if (const absl::Status retry = Validate(options.retry); !retry.ok()) {
    Check(retry, &errors);
  } else if (Validate(delay_queues, kAnyHeartbeat).ok()) {  // else no lease can be checked
    Check(ValidateLease(LongestDelay(options.retry), delay_queues), &errors);
  }
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(errors, "; "));
}

RetrierOptions WithDefaults(RetrierOptions options) {
  if (options.parked_queue.empty()) options.parked_queue = options.queue + ".parked";
  return options;
}

}  // namespace retryq
