#ifndef RETRYQ_SRC_RETRY_CLIENT_BROKER_VERSIONS_H_
#define RETRYQ_SRC_RETRY_CLIENT_BROKER_VERSIONS_H_

#include <cstdio>
#include <string>

namespace retryq {

// Whether at-least-once dead-lettering, which quorum delay queues rely on, may stop for good in
// this version of RabbitMQ: 4.3.0 to 4.3.2 (F48 in doc/rabbitmq_facts.md). What is no version does
// not.
inline bool DeadLetteringMayStop(const std::string& version) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  return std::sscanf(version.c_str(), "%d.%d.%d", &major, &minor, &patch) == 3 && major == 4 &&
         minor == 3 && patch < 3;
}

}  // namespace retryq

#endif  // RETRYQ_SRC_RETRY_CLIENT_BROKER_VERSIONS_H_
