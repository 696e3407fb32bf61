#include "cli/messages/message_flags.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

namespace retryq::cli {
namespace {

constexpr std::array<std::pair<std::string_view, BodyFormat>, 5> kBodyFormats = {
    {{"auto", BodyFormat::kAuto},
     {"text", BodyFormat::kText},
     {"json", BodyFormat::kJson},
     {"hex", BodyFormat::kHex},
     {"raw", BodyFormat::kRaw}}};

void ReadAge(std::string_view flag, const FlagText& text, FlagReader& reader,
             std::optional<absl::Duration>* age) {
  if (!text) return;
  absl::Duration duration;
  reader.Read(flag, text, &duration);
  *age = duration;
}

}  // namespace

void AddFlags(FlagParser& parser, ChoiceFlags& flags, const std::string& since, bool with_limit) {
  parser.Group("Which messages (default: all); all that are given must hold");
  parser.Add("--id", "ID", &flags.ids,
             "Its x-retry-id or message-id (without one, its correlation-id); again for more");
  parser.Add("--error", "TEXT", &flags.error, "Its last error contains TEXT, case-insensitive");
  parser.Add("--older-than", "DURATION", &flags.older_than,
             absl::StrCat("It ", since, " longer ago: 30m, 2d"));
  parser.Add("--newer-than", "DURATION", &flags.newer_than,
             absl::StrCat("It ", since, " less long ago"));
  parser.Add("--header", "NAME=VALUE", &flags.headers,
             "It has this header: a text, a whole number, true or false; again for more");
  if (with_limit) {
    parser.Add("--limit", "NUMBER", &flags.limit, "At most so many of them, from the front");
  }
}

void ReadFlags(const ChoiceFlags& flags, FlagReader& reader, MessageChoice* choice) {
  choice->filter.ids = flags.ids;
  choice->filter.error = flags.error;
  ReadAge("--older-than", flags.older_than, reader, &choice->filter.older_than);
  ReadAge("--newer-than", flags.newer_than, reader, &choice->filter.newer_than);
  for (const std::string& header : flags.headers) {
    const std::size_t equals = header.find('=');
    if (equals == std::string::npos || equals == 0) {
      reader.Complain("--header '" + header + "': write NAME=VALUE");
    } else {
      choice->filter.headers.emplace_back(header.substr(0, equals), header.substr(equals + 1));
    }
  }
  if (flags.limit) {
    std::uint64_t limit = 0;
    reader.Read("--limit", flags.limit, 1, INT64_MAX, &limit);
    choice->limit = limit;
  }
}

void AddFlags(FlagParser& parser, PaceFlags& flags) {
  parser.Add("--rate", "NUMBER", &flags.rate, "At most so many a second, such as 20 or 0.5");
  parser.Add("--window", "NUMBER", &flags.window,
             "Copies that are unconfirmed at a time, which bounds memory (default: 256)");
}

void ReadFlags(const PaceFlags& flags, FlagReader& reader, double* rate, std::uint16_t* window) {
  reader.Read("--rate", flags.rate, rate);
  constexpr double kSlowest = 0.001;  // a message in a quarter of an hour
  if (flags.rate && *rate < kSlowest) {
    reader.Complain("--rate '" + *flags.rate +
                    "': write a number from 0.001; leave it out for no limit");
  }
  reader.Read("--window", flags.window, 1, 10000, window);
}

void AddBodyFlag(FlagParser& parser, FlagText& body) {
  parser.Add("--body", "auto|text|json|hex|raw", &body,
             "How it is shown; raw: its bytes and nothing else (default: auto)");
}

void ReadBodyFlag(const FlagText& body, bool json, FlagReader& reader, BodyFormat* format) {
  if (!body) return;
  if (json) reader.Complain("--body: is for people; leave it out, or --json");
  const auto* const known = std::find_if(kBodyFormats.begin(), kBodyFormats.end(),
                                         [&body](const auto& each) { return each.first == *body; });
  if (known == kBodyFormats.end()) {
    reader.Complain("--body '" + *body + "': write auto, text, json, hex or raw");
  } else {
    *format = known->second;
  }
}

void AddColumnFlag(FlagParser& parser, std::vector<std::string>& columns) {
  parser.Add("--column", "NAME", &columns,
             "Show this property (such as correlation-id or type) or header, too; again for\n"
             "more");
}

void ReadColumnFlag(const std::vector<std::string>& columns, const FlagText& by, FlagReader& reader,
                    Columns* read) {
  *read = columns;
  if (std::find(columns.begin(), columns.end(), "") != columns.end()) {
    reader.Complain("--column '': name a property or a header");
  }
  if (by && !columns.empty()) {
    reader.Complain("--column: cannot be combined with --by; give one or the other");
  }
}

}  // namespace retryq::cli
