#include "cli/management/management_queues.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "cli/management/json_fields.h"
#include "cli/management/management_answer.h"

namespace retryq::cli {
namespace {

using Json = nlohmann::json;

constexpr int kPageSize = 100;   // the statistics make each queue large
constexpr int kMostPages = 100;  // more pages cannot be real

// The broker's finest statistics: publishes of ten minutes, lengths of one minute.
constexpr char kStatistics[] = "&msg_rates_age=600&msg_rates_incr=5&lengths_age=60&lengths_incr=5";

// A regular expression for texts that begin with `text`.
std::string Beginning(const std::string& text) {
  std::string pattern = "^";
  for (const char c : text) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::string PagePath(const std::string& vhost, const std::string& beginning, int page) {
  return absl::StrCat("/queues/", PercentEncode(vhost), "?page=", page, "&page_size=", kPageSize,
                      "&use_regex=true&name=", PercentEncode(Beginning(beginning)), kStatistics);
}

}  // namespace

absl::Status VisitQueues(ManagementApi& api, const std::string& vhost, const std::string& beginning,
                         const std::function<void(const Json&, absl::Time)>& visit) {
  std::int64_t pages = 1;
  for (int page = 1; page <= std::min<std::int64_t>(pages, kMostPages); ++page) {
    const auto answer = api.Get(PagePath(vhost, beginning, page));
    if (absl::IsNotFound(answer.status())) {
      return absl::NotFoundError(absl::StrCat(
          Describe(api.url()), ": there is no vhost '", Printable(vhost), "', or the user '",
          Printable(api.url().user), "' has no rights to it; see the end of --url"));
    }
    // The broker refuses pages that do not exist any more because queues were deleted meanwhile.
    if (page > 1 && !answer.ok()) break;
    if (!answer.ok()) return answer.status();
    const Json& items = FieldOf(answer->json, "items");
    if (!items.is_array()) {
      return absl::FailedPreconditionError(
          absl::StrCat(Describe(api.url()),
                       ": the answer lists no queues; retryq knows the management API of RabbitMQ "
                       "3.10 and newer"));
    }
    for (const Json& item : items) visit(item, answer->at);
    pages = IntegerOf(answer->json, "page_count").value_or(1);
  }
  return absl::OkStatus();
}

}  // namespace retryq::cli
