#include "base/quoting.h"

#include "support/test.h"

namespace retryq::quoting_test {

TEST(InQuotes, EscapesControlsAndCutsLongTexts) {
  EXPECT_EQ(InQuotes("orders"), "'orders'");
  EXPECT_EQ(InQuotes("a\nb"), R"('a\u{A}b')");
  EXPECT_EQ(InQuotes(std::string(400, 'x')), "'" + std::string(300, 'x') + "...'");
}

TEST(ShellQuoted, IsOneWord) {
  EXPECT_EQ(ShellQuoted(""), "''");
  EXPECT_EQ(ShellQuoted("a b $HOME"), "'a b $HOME'");
  EXPECT_EQ(ShellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellQuoted("it's\x1B[31m \\ \xC3\xA9"), "$'it\\x27s\\x1B[31m \\x5C \\xC3\\xA9'");
}

TEST(RegexEscaped, MatchesOnlyTheText) {
  EXPECT_EQ(RegexEscaped("orders-2_x é"), "orders-2_x é");
  EXPECT_EQ(RegexEscaped("a.b*(c)[d]{e}|f?g+h$"), "a[.]b[*][(]c[)][[]d[]][{]e[}][|]f[?]g[+]h[$]");
  EXPECT_EQ(RegexEscaped("\\^"), "\\\\\\^");
}

TEST(PercentEncoded, KeepsUnreservedBytesOnly) {
  EXPECT_EQ(PercentEncoded("aZ0-._~"), "aZ0-._~");
  EXPECT_EQ(PercentEncoded("/a b%é"), "%2Fa%20b%25%C3%A9");
}

TEST(UrlPath, EncodesEachSegment) {
  EXPECT_EQ(UrlPath({"queues", "/", "a b"}), "/queues/%2F/a%20b");
  EXPECT_EQ(UrlPath({}), "");
}

}  // namespace retryq::quoting_test
