#ifndef RETRYQ_CLI_TEXT_ESCAPED_TEXT_H_
#define RETRYQ_CLI_TEXT_ESCAPED_TEXT_H_

#include <string>
#include <string_view>

namespace retryq::cli {

// Text of any origin, made safe to write to a terminal: what is not UTF-8 becomes `\xNN` a byte,
// and `\u{NNNN}` what moves the cursor, breaks a line or turns the direction of writing: controls,
// U+2028, U+2029 and those for bidirectional text. A backslash stays one.
std::string EscapedText(std::string_view text);

// The same for a text of several lines: line feeds and tabs stay.
std::string EscapedLines(std::string_view text);

bool IsUtf8(std::string_view text);

// Whether text is UTF-8 that needs no escapes except for line feeds, tabs and carriage returns.
bool IsPlainText(std::string_view text);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_TEXT_ESCAPED_TEXT_H_
