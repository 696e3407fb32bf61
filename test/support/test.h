#ifndef RETRYQ_TEST_SUPPORT_TEST_H_
#define RETRYQ_TEST_SUPPORT_TEST_H_

// The headers and matchers that most tests use. They are compiled once for all tests.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/standard.h"

namespace retryq {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

}  // namespace retryq

#endif  // RETRYQ_TEST_SUPPORT_TEST_H_
