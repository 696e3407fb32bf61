#ifndef RETRYQ_TEST_SUPPORT_STANDARD_H_
#define RETRYQ_TEST_SUPPORT_STANDARD_H_

// The headers of the standard library and of Abseil that most tests and their programs use.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#endif  // RETRYQ_TEST_SUPPORT_STANDARD_H_
