#ifndef RETRYQ_SRC_AMQP_TRANSPORT_PROCESS_NAME_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_PROCESS_NAME_H_

#include <string>

namespace retryq::amqp {

// Returns "program[pid]": the default name of this process in the management UI.
std::string ProcessName();

// Returns "host.program.pid", which is unique among the clients of a broker.
std::string HostAndProcessName();

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_PROCESS_NAME_H_
