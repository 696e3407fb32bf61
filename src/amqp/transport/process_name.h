#ifndef RETRYQ_SRC_AMQP_TRANSPORT_PROCESS_NAME_H_
#define RETRYQ_SRC_AMQP_TRANSPORT_PROCESS_NAME_H_

#include <string>

namespace retryq::amqp {

// "program[pid]": how this process is called in the management UI where nobody said else.
std::string ProcessName();

// "host.program.pid": told apart on the broker too.
std::string HostAndProcessName();

}  // namespace retryq::amqp

#endif  // RETRYQ_SRC_AMQP_TRANSPORT_PROCESS_NAME_H_
