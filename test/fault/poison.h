#ifndef RETRYQ_TEST_FAULT_POISON_H_
#define RETRYQ_TEST_FAULT_POISON_H_

#include <string>

#include "fault/messages.h"

namespace retryq::fault {

// The header table of poison of this kind, as bytes: headers that no honest publisher writes.
std::string PoisonousHeaders(Poison poison);

}  // namespace retryq::fault

#endif  // RETRYQ_TEST_FAULT_POISON_H_
