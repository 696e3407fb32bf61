#ifndef RETRYQ_CLI_TEXT_HEADERS_JSON_H_
#define RETRYQ_CLI_TEXT_HEADERS_JSON_H_

#include "cli/text/json_line.h"

#endif  // RETRYQ_CLI_TEXT_HEADERS_JSON_H_
