#ifndef RETRYQ_TEST_SUPPORT_WELL_FORMED_H_
#define RETRYQ_TEST_SUPPORT_WELL_FORMED_H_

#include "support/test.h"

namespace retryq::testing {

// Whether `xml` is one element, whose inner elements begin and end in order, with quoted attributes
// and no bare '<' or '&' in texts. No comments, no declarations: what our own images are made of.
inline ::testing::AssertionResult IsWellFormed(std::string_view xml) {
  const auto fail = [&](std::size_t at, const char* what) {
    return ::testing::AssertionFailure() << what << ": " << xml.substr(at, 60);
  };
  std::vector<std::string_view> open;
  bool done = false;
  for (std::size_t at = 0; at < xml.size();) {
    if (xml[at] == '&') {
      const std::string_view rest = xml.substr(at);
      if (!rest.starts_with("&amp;") && !rest.starts_with("&lt;") && !rest.starts_with("&gt;") &&
          !rest.starts_with("&quot;")) {
        return fail(at, "a bare '&'");
      }
    }
    if (xml[at] != '<') {
      if (open.empty() && xml[at] != '\n') return fail(at, "text outside of all elements");
      ++at;
      continue;
    }
    if (done) return fail(at, "more than one element");
    const std::size_t end = xml.find('>', at);
    if (end == std::string_view::npos) return fail(at, "no end of a tag");
    std::string_view tag = xml.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string_view::npos) return fail(at, "a tag inside a tag");
    at = end + 1;
    if (tag.starts_with("/")) {
      if (open.empty() || open.back() != tag.substr(1)) return fail(end, "ends what is not open");
      open.pop_back();
      done = open.empty();
      continue;
    }
    const bool empty = tag.ends_with("/");
    if (empty) tag.remove_suffix(1);
    std::size_t quotes = 0;
    for (const char c : tag) quotes += c == '"' ? 1 : 0;
    std::size_t equals = 0;
    for (const char c : tag) equals += c == '=' ? 1 : 0;
    if (quotes != 2 * equals) return fail(end, "an attribute without quotes");
    if (!empty) open.push_back(tag.substr(0, tag.find(' ')));
  }
  return done ? ::testing::AssertionSuccess() : fail(0, "no end");
}

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_WELL_FORMED_H_
