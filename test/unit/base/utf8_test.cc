#include "base/utf8.h"

#include <random>

#include "support/test.h"

namespace retryq::utf8_test {

constexpr std::size_t kAnySize = 1024;

std::string Utf8(std::string_view text, std::size_t max_size = kAnySize) {
  std::string repaired = "what was there before";
  return std::string(AsUtf8(text, max_size, &repaired));
}

TEST(IsUtf8, AcceptsControlsButNoInvalidByte) {
  EXPECT_TRUE(IsUtf8("a\x1b ü"));
  EXPECT_FALSE(IsUtf8("a\xff"));
}

TEST(AsUtf8, KeepsValidTextOfEveryLength) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\x01\n";
  EXPECT_EQ(Utf8(text), text);
  EXPECT_EQ(Utf8(""), "");
  EXPECT_EQ(Utf8(std::string_view("\0", 1)), std::string(1, '\0'));
}

TEST(AsUtf8, KeepsTheEdgesOfEachRange) {
  for (const std::string text :
       {"\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(Utf8(text), text);
  }
}

TEST(AsUtf8, ReplacesEachByteThatIsNotValid) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(Utf8("a\xFFz"), "a" + bad + "z");
  EXPECT_EQ(Utf8("\x80"), bad);
  EXPECT_EQ(Utf8("\xC0\xAF"), bad + bad) << "overlong";
  EXPECT_EQ(Utf8("\xE0\x9F\xBF"), bad + bad + bad) << "overlong";
  EXPECT_EQ(Utf8("\xED\xA0\x80"), bad + bad + bad) << "surrogate";
  EXPECT_EQ(Utf8("\xF0\x8F\xBF\xBF"), bad + bad + bad + bad) << "overlong";
  EXPECT_EQ(Utf8("\xF4\x90\x80\x80"), bad + bad + bad + bad) << "beyond U+10FFFF";
  EXPECT_EQ(Utf8("\xE2\x82"), bad + bad) << "cut short";
  EXPECT_EQ(Utf8("\xE2\x82z"), bad + bad + "z") << "cut short";
}

TEST(AsUtf8, FindsAnInvalidByteAtAnyPosition) {
  for (std::size_t size = 1; size < 40; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      text[at] = '\x80';
      EXPECT_EQ(Utf8(text),
                std::string(at, 'a') + "\xEF\xBF\xBD" + std::string(size - at - 1, 'a'));
    }
  }
}

TEST(AsUtf8, DoesNotCopyValidText) {
  const std::string_view text = "UNAVAILABLE: caf\xC3\xA9";
  std::string repaired;
  EXPECT_EQ(AsUtf8(text, kAnySize, &repaired).data(), text.data());
  EXPECT_EQ(AsUtf8(text, 3, &repaired).data(), text.data());
  EXPECT_EQ(repaired, "");
}

TEST(AsUtf8, CutsBetweenCodePoints) {
  const std::string text = "ab\xE2\x82\xAC";
  EXPECT_EQ(Utf8(text, 5), text);
  EXPECT_EQ(Utf8(text, 4), "ab");
  EXPECT_EQ(Utf8(text, 3), "ab");
  EXPECT_EQ(Utf8(text, 1), "a");
  EXPECT_EQ(Utf8(text, 0), "");
  EXPECT_EQ(Utf8("ab\xFF", 4), "ab") << "the replacement does not fit";
}

TEST(AsUtf8, TurnsAnyBytesIntoTextThatItLeavesUnchanged) {
  std::mt19937 random(7);  // NOLINT: the same bytes each time
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 64, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    const std::size_t max_size = random() % 80;
    const std::string text = Utf8(bytes, max_size);
    ASSERT_LE(text.size(), max_size);
    ASSERT_EQ(Utf8(text), text);
  }
}

TEST(CutUtf8, SplitsNoCodePoint) {
  const std::string_view text = "ab\xF0\x9F\x98\x80";
  EXPECT_EQ(CutUtf8(text, 7), text);
  EXPECT_EQ(CutUtf8(text, 6), text);
  EXPECT_EQ(CutUtf8(text, 5), "ab");
  EXPECT_EQ(CutUtf8(text, 3), "ab");
  EXPECT_EQ(CutUtf8(text, 2), "ab");
  EXPECT_EQ(CutUtf8(text, 0), "");
}

TEST(CutUtf8, CutsInvalidTextAnywhere) {
  const std::string bytes(10, '\x80');
  EXPECT_EQ(CutUtf8(bytes, 6).size(), 3u);
}

}  // namespace retryq::utf8_test
