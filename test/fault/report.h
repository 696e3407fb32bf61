#ifndef RETRYQ_TEST_FAULT_REPORT_H_
#define RETRYQ_TEST_FAULT_REPORT_H_

#include <mutex>
#include <nlohmann/json_fwd.hpp>

#include "fault/fault.h"
#include "fault/scene.h"
#include "support/standard.h"

namespace retryq::fault {

// Prints the table: one line per run on stdout as soon as the run is over, and the current runs on
// stderr. Thread-safe.
class Report {
 public:
  // Prints the head of the table.
  Report();
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  void Begin(const Fault& fault, const std::string& queue_type);
  void End(const Fault& fault, const std::string& queue_type, const SceneResult& result);
  void Skip(const Fault& fault, const std::string& queue_type, std::string_view why);

  // The version of RabbitMQ that the runs were made with.
  void SetVersion(const std::string& version);

  // Prints "N passed, N failed"; returns whether some passed and none failed.
  bool Finish();

  // All of it.
  nlohmann::json ToJson() const;

 private:
  mutable std::mutex mutex_;
  std::string version_;
  const std::unique_ptr<nlohmann::json> runs_;
  int passed_ = 0;
  int failed_ = 0;
  int skipped_ = 0;
};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_REPORT_H_
