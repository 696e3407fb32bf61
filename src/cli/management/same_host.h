#ifndef RETRYQ_CLI_MANAGEMENT_SAME_HOST_H_
#define RETRYQ_CLI_MANAGEMENT_SAME_HOST_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace retryq::cli {

// The addresses of a host, written as numbers; none if it cannot be resolved. May block, and is
// called on threads of its own.
using LookUpHost = std::function<std::vector<std::string>(const std::string& host)>;

// Asks the system (getaddrinfo).
std::vector<std::string> AddressesOf(const std::string& host);

// Whether both are names or addresses of one host: they are equal, case-insensitive and without the
// dot at the end, or have an address in common, where all loopback addresses are one. Nothing if
// one of them cannot be resolved within `timeout`.
std::optional<bool> IsSameHost(const std::string& a, const std::string& b, absl::Duration timeout,
                               const LookUpHost& look_up = AddressesOf);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_SAME_HOST_H_
