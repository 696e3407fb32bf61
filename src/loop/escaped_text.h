#ifndef RETRYQ_SRC_LOOP_ESCAPED_TEXT_H_
#define RETRYQ_SRC_LOOP_ESCAPED_TEXT_H_

// These functions have moved to src/base/escaped_text.h.
#include "base/escaped_text.h"
#include "base/utf8.h"

#endif  // RETRYQ_SRC_LOOP_ESCAPED_TEXT_H_
