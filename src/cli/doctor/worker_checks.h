#ifndef RETRYQ_CLI_DOCTOR_WORKER_CHECKS_H_
#define RETRYQ_CLI_DOCTOR_WORKER_CHECKS_H_

#include <vector>

#include "cli/connect/broker_session.h"
#include "cli/doctor/doctor_command.h"
#include "cli/doctor/doctor_report.h"

namespace retryq::cli {

// Checks of a worker with these options over AMQP, on an open session.

// Check the work queue, the work exchange and the parked queue, if they are named.
std::vector<Finding> CheckWorkQueue(BrokerSession& session, const DoctorOptions& options);
std::vector<Finding> CheckWorkExchange(BrokerSession& session, const DoctorOptions& options);
std::vector<Finding> CheckParkedQueue(BrokerSession& session, const DoctorOptions& options);

// Tries all permissions that a worker needs. It consumes no message and publishes none to an
// existing target. Returns a finding for each missing permission.
std::vector<Finding> CheckPermissions(BrokerSession& session, const DoctorOptions& options);

// Checks that a repeated declare of a classic queue renews its lease. Takes some seconds.
Finding CheckLease(BrokerSession& session, const DoctorOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_WORKER_CHECKS_H_
