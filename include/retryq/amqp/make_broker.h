#ifndef RETRYQ_AMQP_MAKE_BROKER_H_
#define RETRYQ_AMQP_MAKE_BROKER_H_

#include <memory>

#include "retryq/amqp/connection_options.h"
#include "retryq/broker/broker.h"
#include "retryq/event_loop.h"
#include "retryq/export.h"

namespace retryq::amqp {

// Makes the real broker: it publishes and declares on one connection and consumes on another,
// because RabbitMQ stops reading a publishing connection during an alarm, including acks.
// `frame_max` applies to the consuming connection; the publishing one requests the broker's limit,
// because a copy must fit whose original was delivered in a frame above `frame_max`. Both
// connect at once and reconnect by themselves. `loop` must outlive it; used on its thread. The
// destructor closes both connections without waiting. Each connection calls `source`, unless it is
// null.
RETRYQ_EXPORT std::unique_ptr<Broker> MakeBroker(EventLoop& loop, const ConnectionOptions& options,
                                                 const OptionsSource& source = nullptr);

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_MAKE_BROKER_H_
