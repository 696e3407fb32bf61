#include "support/private_broker.h"

#include <cstdlib>

namespace retryq::testing {
namespace {

// The broker of the whole suite, which the private node of a test does not replace.
constexpr const char* kDirectory = "RETRYQ_BROKER";

}  // namespace

PrivateBroker::PrivateBroker() {
  for (const auto& [name, value] : node_.settings()) {
    if (name == kDirectory) continue;
    if (const char* former = std::getenv(name.c_str())) former_[name] = former;
    ::setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
  }
}

PrivateBroker::~PrivateBroker() {
  for (const auto& [name, value] : former_) ::setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
}

bool PrivateBroker::Possible() { return std::getenv(kDirectory) != nullptr; }

void PrivateBroker::RaiseAlarm() const {
  node_.Control({"eval", "rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []})."});
}

void PrivateBroker::SetConsumerTimeout(absl::Duration timeout) const {
  const std::string milliseconds = std::to_string(absl::ToInt64Milliseconds(timeout));
  for (const std::string name : {"consumer_timeout", "channel_tick_interval"}) {
    node_.Control({"eval", "application:set_env(rabbit, " + name + ", " + milliseconds + ")."});
  }
}

void PrivateBroker::ClearAlarm() const {
  node_.Control({"eval", "rabbit_alarm:clear_alarm({resource_limit, memory, node()})."});
}

}  // namespace retryq::testing
