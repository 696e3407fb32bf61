#ifndef RETRYQ_CLI_DOCTOR_WORKER_CHECKS_H_
#define RETRYQ_CLI_DOCTOR_WORKER_CHECKS_H_

#include <vector>

#include "cli/connect/broker_session.h"
#include "cli/doctor/doctor_command.h"
#include "cli/doctor/doctor_report.h"

namespace retryq::cli {

// What AMQP itself can tell about a worker with these options, on an open session.

// The work queue, the work exchange and the parked queue: those that are named.
std::vector<Finding> CheckWorkQueue(BrokerSession& session, const DoctorOptions& options);
std::vector<Finding> CheckWorkExchange(BrokerSession& session, const DoctorOptions& options);
std::vector<Finding> CheckParkedQueue(BrokerSession& session, const DoctorOptions& options);

// All rights that a worker needs, tried out: nothing is consumed, and nothing is published to where
// anybody is. A finding for each that is missing.
std::vector<Finding> CheckPermissions(BrokerSession& session, const DoctorOptions& options);

// That declaring a classic queue again renews its lease. Takes some seconds.
Finding CheckLease(BrokerSession& session, const DoctorOptions& options);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_DOCTOR_WORKER_CHECKS_H_
