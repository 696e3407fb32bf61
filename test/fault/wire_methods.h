#ifndef RETRYQ_TEST_FAULT_WIRE_METHODS_H_
#define RETRYQ_TEST_FAULT_WIRE_METHODS_H_

#include <cstdint>

namespace retryq::fault {

// The numbers in AMQP 0-9-1 of the frames and methods that the suite looks for.
struct Method {
  std::uint16_t class_id;
  std::uint16_t method_id;
  friend bool operator==(const Method&, const Method&) = default;
};

inline constexpr Method kConnectionStart{10, 10};
inline constexpr Method kConnectionStartOk{10, 11};
inline constexpr Method kConnectionTune{10, 30};
inline constexpr Method kConnectionTuneOk{10, 31};
inline constexpr Method kConnectionOpen{10, 40};
inline constexpr Method kConnectionOpenOk{10, 41};
inline constexpr Method kChannelOpen{20, 10};
inline constexpr Method kExchangeDeclare{40, 10};
inline constexpr Method kExchangeDeclareOk{40, 11};
inline constexpr Method kQueueDeclare{50, 10};
inline constexpr Method kQueueDeclareOk{50, 11};
inline constexpr Method kQueueBind{50, 20};
inline constexpr Method kQueueBindOk{50, 21};
inline constexpr Method kBasicPublish{60, 40};
inline constexpr Method kBasicAck{60, 80};
inline constexpr Method kBasicNack{60, 120};

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_WIRE_METHODS_H_
