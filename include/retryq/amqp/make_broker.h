#ifndef RETRYQ_AMQP_MAKE_BROKER_H_
#define RETRYQ_AMQP_MAKE_BROKER_H_

#include <memory>

#include "retryq/amqp/connection_options.h"
#include "retryq/broker.h"
#include "retryq/event_loop.h"
#include "retryq/export.h"

namespace retryq::amqp {

// The real broker: publishes and declares on one connection and consumes on
// another, because RabbitMQ stops reading a publishing connection while an
// alarm is on, acks included. Both connect at once and again by themselves.
// `loop` must outlive it; used on its thread. Destroying it closes both connections without
// waiting. Each of them asks `source`, unless that is null.
RETRYQ_EXPORT std::unique_ptr<Broker> MakeBroker(EventLoop& loop, const ConnectionOptions& options,
                                                 const OptionsSource& source = nullptr);

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_MAKE_BROKER_H_
