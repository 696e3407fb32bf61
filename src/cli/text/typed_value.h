#ifndef RETRYQ_CLI_TEXT_TYPED_VALUE_H_
#define RETRYQ_CLI_TEXT_TYPED_VALUE_H_

#include "cli/text/json_line.h"

#endif  // RETRYQ_CLI_TEXT_TYPED_VALUE_H_
