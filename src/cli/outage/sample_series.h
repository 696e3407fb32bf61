#ifndef RETRYQ_CLI_OUTAGE_SAMPLE_SERIES_H_
#define RETRYQ_CLI_OUTAGE_SAMPLE_SERIES_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "cli/outage/outage_report.h"

namespace retryq::cli {

// Collects samples of a simulation of unknown length: first of one second each, then twice as long
// whenever there are too many. Times must not decrease.
class SampleSeries {
 public:
  void AddCall(absl::Duration time, bool failed);

  // From `time` on, these numbers of messages wait and are parked.
  void SetMessages(absl::Duration time, std::uint64_t waiting, std::uint64_t parked);

  // Returns the samples until `end`, without their delay queues. Nothing may be added afterwards.
  std::vector<OutageReport::Sample> Finish(absl::Duration end);

  absl::Duration interval() const { return absl::Seconds(seconds_); }

 private:
  // The sample of the current second.
  OutageReport::Sample& Current();
  void Advance(absl::Duration time);
  void HalveSamples();

  std::int64_t seconds_ = 1;  // the length of a sample
  std::vector<OutageReport::Sample> samples_;
  std::int64_t second_ = 0;     // the current one
  std::uint64_t calls_ = 0;     // in it
  std::uint64_t failures_ = 0;  // in it
  std::uint64_t waiting_ = 0;
  std::uint64_t parked_ = 0;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_OUTAGE_SAMPLE_SERIES_H_
