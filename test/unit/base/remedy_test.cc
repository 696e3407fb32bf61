#include "base/remedy.h"

#include "support/test.h"

namespace retryq::remedy_test {

TEST(Remedy, EndsTheMessage) {
  EXPECT_EQ(WithRemedy(absl::PermissionDeniedError("access to queue 'q' refused"),
                       GrantRemedy("'read' on the queue")),
            absl::PermissionDeniedError("access to queue 'q' refused; remedy: grant the user "
                                        "'read' on the queue (rabbitmqctl set_permissions)"));
}

}  // namespace retryq::remedy_test
