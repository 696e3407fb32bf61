#ifndef RETRYQ_TEST_INTEGRATION_TEMPORARY_USER_H_
#define RETRYQ_TEST_INTEGRATION_TEMPORARY_USER_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "support/management.h"
#include "support/test_vhost.h"

namespace retryq::amqp {

// A user of the broker with the given password, and rights in vhost "/" if there are any, such as
// {{"configure", ""}, {"write", ".*"}, {"read", ""}}. Gone with the object.
class TemporaryUser {
 public:
  TemporaryUser(const std::string& name, const std::string& password,
                const std::optional<testing::Json>& rights)
      : path_("/users/" + testing::Management::Segment(name)) {
    SetPassword(password);
    if (rights) {
      management_.Put("/permissions/%2f/" + testing::Management::Segment(name), *rights);
    }
  }
  ~TemporaryUser() { management_.Delete(path_); }
  TemporaryUser(const TemporaryUser&) = delete;
  TemporaryUser& operator=(const TemporaryUser&) = delete;

  void SetPassword(const std::string& password) const {
    management_.Put(path_, {{"password", password}, {"tags", ""}});
  }

 private:
  const testing::Management management_{testing::ManagementUrl()};
  const std::string path_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_TEST_INTEGRATION_TEMPORARY_USER_H_
