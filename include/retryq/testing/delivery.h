#ifndef RETRYQ_TESTING_DELIVERY_H_
#define RETRYQ_TESTING_DELIVERY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "retryq/amqp/properties.h"
#include "retryq/amqp/table.h"
#include "retryq/delivery.h"
#include "retryq/outcome.h"
#include "retryq/settlement.h"

namespace retryq::testing {

// A message for a handler that a test calls directly. All members are optional.
struct DeliveryFields {
  std::string body = {};
  amqp::Table headers = {};
  std::uint64_t attempt = 0;         // number of calls that failed before
  std::string last_error = {};       // of the last one
  amqp::Properties properties = {};  // all except the headers; copied
  std::string queue = "queue";
  std::string exchange = {};
  std::string routing_key = {};
  bool redelivered = false;
};

// Makes a delivery, as a handler receives it. The headers must be encodable.
//
//   EXPECT_FALSE(Handle(MakeDelivery({.body = "order 42", .attempt = 3})).ok());
Delivery MakeDelivery(DeliveryFields fields = {});

// Makes the Settlement for a call of an asynchronous handler, and records how it is settled. The
// members are thread-safe, because a handler may settle on any thread; the object may be destroyed
// before the settlement.
//
//   RecordedSettlement settlement;
//   handler(MakeDelivery({.body = "order 42"}), settlement.Make());
//   EXPECT_EQ(settlement.outcome()->status(), absl::OkStatus());
class RecordedSettlement {
 public:
  RecordedSettlement();

  // Each new settlement replaces the outcome of earlier ones.
  Settlement Make();

  // nullopt as long as nothing is settled. A settlement that is dropped has an error that reports
  // this, as in production.
  std::optional<Outcome> outcome() const;

  // From now on `abandoned` of the settlements returns true, as after the connection was lost.
  void Abandon();

 private:
  class Recorder;
  const std::shared_ptr<Recorder> recorder_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TESTING_DELIVERY_H_
