#ifndef RETRYQ_SRC_BASE_BROKER_VERSION_H_
#define RETRYQ_SRC_BASE_BROKER_VERSION_H_

#include <charconv>
#include <compare>
#include <string_view>
#include <system_error>

namespace retryq {

// A version of RabbitMQ, and how versions differ. An unknown version is older than every known one.
struct BrokerVersion {
  int major = 0;
  int minor = 0;
  int patch = 0;

  // Parses a version such as "3.10.8" or "4.3.0-rc.1". Missing parts are zero. Text that does not
  // begin with a number is an unknown version.
  static BrokerVersion Parse(std::string_view text) {
    BrokerVersion version;
    for (int* const part : {&version.major, &version.minor, &version.patch}) {
      const char* const begin = text.data();
      const auto [end, error] = std::from_chars(begin, begin + text.size(), *part);
      if (error != std::errc()) break;
      text.remove_prefix(static_cast<std::size_t>(end - begin));
      if (!text.starts_with('.')) break;
      text.remove_prefix(1);
    }
    return version;
  }

  friend auto operator<=>(const BrokerVersion&, const BrokerVersion&) = default;

  bool is_known() const { return *this > BrokerVersion(); }

  // Whether quorum queues have a delivery limit unless their declaration sets another one.
  bool HasDefaultDeliveryLimit() const { return *this >= BrokerVersion{4, 0}; }

  // Whether quorum queues count only failures, and neither messages that are requeued by basic.nack
  // nor consumer timeouts (F41, F42 in doc/rabbitmq_facts.md).
  bool CountsFailuresOnly() const { return *this >= BrokerVersion{4, 3}; }

  // Whether at-least-once dead-lettering, which quorum delay queues rely on, may stop for good (F48
  // in doc/rabbitmq_facts.md).
  bool DeadLetteringMayStop() const {
    return *this >= BrokerVersion{4, 3, 0} && *this < BrokerVersion{4, 3, 3};
  }
};

}  // namespace retryq

#endif  // RETRYQ_SRC_BASE_BROKER_VERSION_H_
