#include "base/remedy.h"

#include "absl/strings/str_cat.h"

namespace retryq {

absl::Status WithRemedy(const absl::Status& error, std::string_view remedy) {
  return absl::Status(error.code(),
                      absl::StrCat(error.message(), "; remedy: ", std::string(remedy)));
}

std::string GrantRemedy(std::string_view rights) {
  return absl::StrCat("grant the user ", std::string(rights), " (rabbitmqctl set_permissions)");
}

}  // namespace retryq
