#ifndef RETRYQ_SRC_BASE_QUOTING_H_
#define RETRYQ_SRC_BASE_QUOTING_H_

#include <initializer_list>
#include <string>
#include <string_view>

namespace retryq {

// Ways to write a text so that its reader, a person or a program, sees where it begins and ends.

// Returns the printable text (see `Printable`) in single quotes, for a message to a person.
std::string InQuotes(std::string_view text);

// Returns the text as one word for a POSIX shell, in single quotes. Control characters and invalid
// UTF-8 are written in the form that bash and zsh know: $'\x1B'.
std::string ShellQuoted(std::string_view text);

// Returns a regular expression that matches exactly this text. A dot becomes [.] and not \., so
// that a person can also copy the expression out of JSON, which doubles each backslash.
std::string RegexEscaped(std::string_view text);

// Returns the text with each byte percent-encoded that is not unreserved in RFC 3986.
std::string PercentEncoded(std::string_view text);

// Returns the path of a URL with these segments, percent-encoded: UrlPath({"queues", "/", "a b"})
// is "/queues/%2F/a%20b".
std::string UrlPath(std::initializer_list<std::string_view> segments);

}  // namespace retryq

#endif  // RETRYQ_SRC_BASE_QUOTING_H_
