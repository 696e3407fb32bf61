#ifndef RETRYQ_CLI_DOCTOR_DOCTOR_OPTIONS_H_
#define RETRYQ_CLI_DOCTOR_DOCTOR_OPTIONS_H_

#include <optional>
#include <string>

#include "cli/management/management_flags.h"
#include "retryq/delay_queue_options.h"
#include "retryq/retry_options.h"

namespace retryq::cli {

// What a user may do in a vhost: regular expressions.
struct GrantedRights {
  std::string configure;
  std::string write;
  std::string read;
};

// What `retryq doctor` is asked to look at: what a worker with these options needs.
struct DoctorOptions {
  BrokerPlace place;
  RetryOptions retry;
  DelayQueueOptions delay_queues;
  std::string queue;  // the work queue; empty: none in particular
  std::string work_exchange;
  std::string parked_queue;  // empty without `queue`
  bool json = false;
  // What the user may do already, by the management API; nothing where that does not tell.
  std::optional<GrantedRights> granted = std::nullopt;
};

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_DOCTOR_OPTIONS_H_
