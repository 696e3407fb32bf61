#ifndef RETRYQ_SRC_BASE_ESCAPED_TEXT_H_
#define RETRYQ_SRC_BASE_ESCAPED_TEXT_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace retryq {

// Makes text of any origin safe to write to a terminal. Each byte that is not UTF-8 becomes `\xNN`.
// Characters that move the cursor, break a line or change the direction of writing become
// `\u{NNNN}`: controls, U+2028, U+2029 and the controls of bidirectional text. A backslash is not
// escaped, so that escaping twice has no further effect.
//
// The library escapes each text from a server on arrival, before it becomes part of a status or an
// event. The command also escapes what it writes to stdout, stderr and its log, because that
// includes texts from messages, handlers and the management API.
std::string EscapedText(std::string_view text);

// The same for text of several lines: keeps line feeds and tabs.
std::string EscapedLines(std::string_view text);

// The same for JSON on one line: the characters become `\uNNNN` in strings, so the values do not
// change.
std::string EscapedJson(std::string_view json);

// Returns EscapedText of at most `max_size` bytes, for names and texts that may be long. "..."
// replaces the rest.
std::string Printable(std::string_view text, std::size_t max_size = 300);

// Whether the text is UTF-8 that needs no escapes, apart from line feeds, tabs and carriage
// returns.
bool IsPlainText(std::string_view text);

}  // namespace retryq

#endif  // RETRYQ_SRC_BASE_ESCAPED_TEXT_H_
