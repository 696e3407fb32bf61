#include "base/escaped_text.h"

#include "support/test.h"

namespace retryq::escaped_text_test {

TEST(EscapedText, LeavesPlainTextUnchanged) {
  EXPECT_EQ(EscapedText("plain \\ \"text\" äöü € \xF0\x9F\x90\x87"),
            "plain \\ \"text\" äöü € \xF0\x9F\x90\x87");
  EXPECT_EQ(EscapedText(""), "");
}

TEST(EscapedText, EscapesCursorMovements) {
  EXPECT_EQ(EscapedText("a\nb\r\tc\x1b[2J\x7f"), R"(a\u{A}b\u{D}\u{9}c\u{1B}[2J\u{7F})");
  EXPECT_EQ(EscapedText(std::string("\0", 1)), R"(\u{0})");
  EXPECT_EQ(EscapedText("\xC2\x9B"), R"(\u{9B})");  // CSI in one
  EXPECT_EQ(EscapedText("\xE2\x80\xA8\xE2\x80\xAE\xE2\x81\xA6"), R"(\u{2028}\u{202E}\u{2066})");
}

TEST(EscapedText, EscapesInvalidUtf8) {
  EXPECT_EQ(EscapedText("caf\xe9!"), R"(caf\xE9!)");
  EXPECT_EQ(EscapedText("\xE2\x82"), R"(\xE2\x82)");                  // cut off
  EXPECT_EQ(EscapedText("\xC0\x80"), R"(\xC0\x80)");                  // longer than need be
  EXPECT_EQ(EscapedText("\xE0\x80\x80"), R"(\xE0\x80\x80)");          // likewise
  EXPECT_EQ(EscapedText("\xED\xA0\x80"), R"(\xED\xA0\x80)");          // a surrogate
  EXPECT_EQ(EscapedText("\xF4\x90\x80\x80"), R"(\xF4\x90\x80\x80)");  // above U+10FFFF
  EXPECT_EQ(EscapedText("\xC3("), R"(\xC3()");
}

TEST(EscapedText, KeepsLineFeedsOfSeveralLines) {
  EXPECT_EQ(EscapedLines("a\n\tb\x1b"), "a\n\tb\\u{1B}");
}

TEST(EscapedText, IsNotEscapedAgain) {
  const std::string once = EscapedText("\x1b\xff\xE2\x80\xAE\\");
  EXPECT_EQ(EscapedText(once), once);
}

TEST(EscapedText, OfJsonHasTheSameValues) {
  EXPECT_EQ(EscapedJson("[\"\\u001b ü\x7f\xC2\x9B\xE2\x80\xAE\"]"),
            R"(["\u001b ü\u007f\u009b\u202e"])");
}

TEST(EscapedText, RecognizesPlainText) {
  EXPECT_TRUE(IsPlainText("a\r\n\tb ü"));
  EXPECT_FALSE(IsPlainText("a\x1b"));
  EXPECT_FALSE(IsPlainText("a\xff"));
}

TEST(Printable, CutsALongTextBetweenCodePoints) {
  EXPECT_EQ(Printable("a\nb"), R"(a\u{A}b)");
  EXPECT_EQ(Printable("four", 4), "four");
  EXPECT_EQ(Printable("fiveé", 5), "five...");
}

}  // namespace retryq::escaped_text_test
