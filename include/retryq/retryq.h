#ifndef RETRYQ_RETRYQ_H_
#define RETRYQ_RETRYQ_H_

// Includes everything that a program needs to consume from RabbitMQ and to retry failed messages
// after a delay. Start at client.h.

#include "retryq/client.h"             // IWYU pragma: export
#include "retryq/consumer.h"           // IWYU pragma: export
#include "retryq/delayed_publisher.h"  // IWYU pragma: export
#include "retryq/delivery.h"           // IWYU pragma: export
#include "retryq/event_loop.h"         // IWYU pragma: export
#include "retryq/observer.h"           // IWYU pragma: export
#include "retryq/outcome.h"            // IWYU pragma: export
#include "retryq/publisher.h"          // IWYU pragma: export
#include "retryq/settlement.h"         // IWYU pragma: export
#include "retryq/tracing.h"            // IWYU pragma: export
#include "retryq/work_queue.h"         // IWYU pragma: export

#endif  // RETRYQ_RETRYQ_H_
