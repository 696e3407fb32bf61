#ifndef RETRYQ_SRC_LOOP_ESCAPED_TEXT_H_
#define RETRYQ_SRC_LOOP_ESCAPED_TEXT_H_

// The former place of these functions.
#include "base/escaped_text.h"
#include "base/utf8.h"

#endif  // RETRYQ_SRC_LOOP_ESCAPED_TEXT_H_
