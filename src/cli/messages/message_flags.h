#ifndef RETRYQ_CLI_MESSAGES_MESSAGE_FLAGS_H_
#define RETRYQ_CLI_MESSAGES_MESSAGE_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/flags/flag_parser.h"
#include "cli/flags/flag_reader.h"
#include "cli/messages/message_pass.h"
#include "cli/messages/message_row.h"
#include "cli/messages/message_text.h"

namespace retryq::cli {

// Flags of the commands that show and remove messages. Errors in values are reported to the reader.

// The filter.
struct ChoiceFlags {
  std::vector<std::string> ids, headers;
  FlagText error, older_than, newer_than, limit;
};

// `since` is the start of a message's age, as in "It was parked longer ago".
void AddFlags(FlagParser& parser, ChoiceFlags& flags, const std::string& since, bool with_limit);
void ReadFlags(const ChoiceFlags& flags, FlagReader& reader, MessageChoice* choice);

// The rate of publishing.
struct PaceFlags {
  FlagText rate, window;
};

void AddFlags(FlagParser& parser, PaceFlags& flags);
void ReadFlags(const PaceFlags& flags, FlagReader& reader, double* rate, std::uint16_t* window);

// The format of one message.
void AddBodyFlag(FlagParser& parser, FlagText& body);
void ReadBodyFlag(const FlagText& body, bool json, FlagReader& reader, BodyFormat* format);

// The columns of lists.
void AddColumnFlag(FlagParser& parser, std::vector<std::string>& columns);
// `by` is the value of --by, which shows no columns.
void ReadColumnFlag(const std::vector<std::string>& columns, const FlagText& by, FlagReader& reader,
                    Columns* read);

}  // namespace retryq::cli

#endif  // RETRYQ_CLI_MESSAGES_MESSAGE_FLAGS_H_
