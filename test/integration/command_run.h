#ifndef RETRYQ_TEST_INTEGRATION_COMMAND_RUN_H_
#define RETRYQ_TEST_INTEGRATION_COMMAND_RUN_H_

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>

#include "support/peer.h"
#include "support/temporary_directory.h"
#include "support/test.h"
#include "support/test_vhost.h"

namespace retryq::testing {

// One run of the built command. It is killed with its owner.
class CommandRun {
 public:
  // `url` becomes RETRYQ_URL; `input` is its stdin. `program`: another program that runs the
  // command.
  CommandRun(const std::vector<std::string>& arguments, const std::string& url,
             const std::string& input = "", const std::string& program = RETRYQ_COMMAND);
  CommandRun(const CommandRun&) = delete;
  CommandRun& operator=(const CommandRun&) = delete;
  ~CommandRun();

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;

  // Its exit code, or minus the signal that killed it; nullopt if it does not exit in time.
  std::optional<int> Wait(absl::Duration patience = absl::Seconds(30));

  // Stops it with SIGTERM. Returns whether it exited with 0.
  ::testing::AssertionResult Stop();

  std::string out() const { return files_.Read("stdout"); }
  std::string err() const { return files_.Read("stderr"); }

  // With --json: its events so far. Throws if a line is no JSON.
  std::vector<nlohmann::json> events(std::string_view name = "") const;

  // Waits until there is this number of events with that name.
  ::testing::AssertionResult Says(std::string_view name, std::size_t count = 1);

  // Waits until the condition holds while the command runs.
  ::testing::AssertionResult Until(const std::function<bool()>& condition,
                                   std::string_view what = "it");

  std::string Story() const;

  static bool WaitUntil(const std::function<bool()>& condition, absl::Duration patience);

 private:
  bool Ended();

  TemporaryDirectory files_;
  pid_t pid_ = -1;
  std::optional<int> exit_code_;
};

// A test of the command on a real broker: in its own vhost, with the queue "orders".
class CommandTest : public ::testing::Test {
 protected:
  using Arguments = std::vector<std::string>;

  struct End {
    std::optional<int> code;
    std::string out;
    std::string err;
  };

  // Runs the command to its end.
  End RunToEnd(const Arguments& arguments) { return RunToEnd(arguments, vhost_.Url()); }
  static End RunToEnd(const Arguments& arguments, const std::string& url,
                      const std::string& input = "");

  void SetUp() override { peer_.DeclareQueue("orders"); }

  // `retryq work --json --queue orders --base 50ms FLAGS -- sh -c SCRIPT`
  CommandRun Work(const Arguments& flags, const std::string& script);

  void Publish(std::string_view body) { peer_.Publish("", "orders", body); }

  // A file that scripts can write to or wait for, in single quotes.
  std::string File(const std::string& name) const { return "'" + files_.File(name) + "'"; }

  // A command of a script that notes the process `pid` in the file `name`: all of it or nothing, as
  // several may do so at once while the test reads it.
  std::string NotePid(const std::string& name, const std::string& pid = "$$") const;

  // Whether the process whose id is in the file `name` is gone, now or soon.
  bool IsGone(const std::string& name) const;

  // The x-retry-error of the first parked message; empty if there is none.
  std::string ParkedError();

  TestVhost vhost_;
  Peer peer_{vhost_.Url()};
  TemporaryDirectory files_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_INTEGRATION_COMMAND_RUN_H_
