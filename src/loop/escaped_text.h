#ifndef RETRYQ_SRC_LOOP_ESCAPED_TEXT_H_
#define RETRYQ_SRC_LOOP_ESCAPED_TEXT_H_

#include <string>
#include <string_view>

namespace retryq {

// Text of any origin, made safe to write to a terminal: what is not UTF-8 becomes `\xNN` a byte,
// and `\u{NNNN}` what moves the cursor, breaks a line or turns the direction of writing: controls,
// U+2028, U+2029 and those for bidirectional text. A backslash stays one, so that text that is
// escaped twice is the same.
//
// The library escapes each text of a server where it arrives, before it becomes part of a status or
// an event; the command escapes once more where it writes to stdout, stderr and its log, as texts
// of messages, handlers and the management API come there too.
std::string EscapedText(std::string_view text);

// The same for a text of several lines: line feeds and tabs stay.
std::string EscapedLines(std::string_view text);

// JSON on one line, with the same characters as `\uNNNN` in its strings: the values stay.
std::string EscapedJson(std::string_view json);

bool IsUtf8(std::string_view text);

// Whether text is UTF-8 that needs no escapes except for line feeds, tabs and carriage returns.
bool IsPlainText(std::string_view text);

}  // namespace retryq

#endif  // RETRYQ_SRC_LOOP_ESCAPED_TEXT_H_
