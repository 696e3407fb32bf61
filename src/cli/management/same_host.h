#ifndef RETRYQ_CLI_MANAGEMENT_SAME_HOST_H_
#define RETRYQ_CLI_MANAGEMENT_SAME_HOST_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace retryq::cli {

// Returns the numeric addresses of a host; empty if it cannot be resolved. May block, and is called
// on separate threads.
using LookUpHost = std::function<std::vector<std::string>(const std::string& host)>;

// Resolves the host with getaddrinfo.
std::vector<std::string> AddressesOf(const std::string& host);

// Returns whether both names or addresses are of the same host: they are equal, ignoring case and a
// dot at the end, or have a common address, where all loopback addresses are equal. Returns nullopt
// if one of them cannot be resolved within `timeout`.
std::optional<bool> IsSameHost(const std::string& a, const std::string& b, absl::Duration timeout,
                               const LookUpHost& look_up = AddressesOf);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MANAGEMENT_SAME_HOST_H_
