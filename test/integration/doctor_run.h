#ifndef RETRYQ_TEST_INTEGRATION_DOCTOR_RUN_H_
#define RETRYQ_TEST_INTEGRATION_DOCTOR_RUN_H_

#include <cstdio>
#include <nlohmann/json.hpp>

#include "integration/command_run.h"
#include "support/broker_node.h"
#include "support/test.h"

namespace retryq::testing {

// A test of `retryq doctor` on a real broker.
class CommandDoctor : public CommandTest {
 protected:
  // One run with --json.
  struct Diagnosis {
    std::optional<int> code;
    nlohmann::json checks;
    std::string story;

    std::vector<nlohmann::json> Of(const std::string& check, const std::string& result = "") const {
      std::vector<nlohmann::json> found;
      for (const auto& each : checks) {
        if (each.at("check") != check) continue;
        if (result.empty() || each.at("result") == result) found.push_back(each);
      }
      return found;
    }
    // The result of a check, and its text.
    std::string Result(const std::string& check) const {
      const auto found = Of(check);
      return found.size() == 1 ? found[0].at("result").get<std::string>() : story;
    }
    std::string Finding(const std::string& check) const {
      std::string all;
      for (const auto& each : Of(check)) all += each.at("finding").get<std::string>() + "\n";
      return all;
    }
  };

  Diagnosis Doctor(const Arguments& flags, const std::string& url = "",
                   const std::string& management = ManagementUrl()) {
    Arguments all = {"doctor", "--json", "--management", management};
    all.insert(all.end(), flags.begin(), flags.end());
    CommandRun run(all, url.empty() ? vhost_.Url() : url);
    const std::optional<int> code = run.Wait(absl::Seconds(120));
    const auto json = nlohmann::json::parse(run.out(), nullptr, /*allow_exceptions=*/false);
    EXPECT_TRUE(json.is_object()) << run.Story();
    // Every problem has a remedy.
    for (const auto& each : json.at("checks")) {
      if (each.at("result") == "problem" || each.at("result") == "warning") {
        EXPECT_NE(each.at("remedy"), "") << each;
      }
    }
    return {code, json.at("checks"), run.Story()};
  }

  // The private broker that the tests are on; empty on any other, where there is no rabbitmqctl.
  virtual std::string BrokerDirectory() const {
    const char* directory = std::getenv("RETRYQ_BROKER");
    return directory == nullptr ? "" : directory;
  }

  // Carries out a remedy like an operator: runs its rabbitmqctl commands in a shell.
  void Paste(const std::string& commands) const {
    ASSERT_NE(BrokerDirectory(), "") << "rabbitmqctl needs a private broker";
    const std::string script = "rabbitmqctl() { '" + BrokerScript() + "' --broker '" +
                               BrokerDirectory() + "' ctl \"$@\" >/dev/null; }\n" + commands;
    ASSERT_EQ(std::system(script.c_str()), 0) << commands;
  }
  // All commands that a diagnosis names.
  void PasteAll(const Diagnosis& diagnosis) const {
    for (const auto& each : diagnosis.checks) {
      const std::string remedy = each.at("remedy");
      if (remedy.starts_with("rabbitmqctl ")) Paste(remedy);
    }
  }

  void SetPolicy(const std::string& kind, const std::string& pattern,
                 const nlohmann::json& definition) {
    vhost_.management().Put(
        "/" + kind + "/" + Management::Segment(vhost_.name()) + "/override",
        {{"pattern", pattern}, {"apply-to", "queues"}, {"definition", definition}});
  }

  // The problems, one per line.
  static std::string Wrong(const Diagnosis& diagnosis, const std::string& check) {
    std::string all;
    for (const char* result : {"problem", "warning"}) {
      for (const auto& each : diagnosis.Of(check, result)) {
        all += each.at("finding").get<std::string>() + "\n";
      }
    }
    return all;
  }
  // Of all findings about queues.
  static std::string Wrong(const Diagnosis& diagnosis) {
    return Wrong(diagnosis, "work queue") + Wrong(diagnosis, "parked queue") +
           Wrong(diagnosis, "work exchange") + Wrong(diagnosis, "limits");
  }

  // Waits until the management API shows whether a policy sets this for a queue.
  void AwaitPolicy(const std::string& queue, const std::string& key, bool set = true) {
    ASSERT_TRUE(CommandRun::WaitUntil(
        [&] {
          const auto shown = vhost_.Queue(queue);
          if (!shown || !shown->contains("effective_policy_definition")) return false;
          return shown->at("effective_policy_definition").contains(key) == set;
        },
        absl::Seconds(60)));
  }

  bool IsAtLeast(int major, int minor) const {
    const std::string version =
        vhost_.management().Get("/overview")->at("rabbitmq_version").get<std::string>();
    int is_major = 0;
    int is_minor = 0;
    EXPECT_EQ(std::sscanf(version.c_str(), "%d.%d", &is_major, &is_minor), 2) << version;
    return std::pair(is_major, is_minor) >= std::pair(major, minor);
  }

  // The objects of the broker except its default ones.
  std::vector<std::string> Exchanges() {
    std::vector<std::string> names;
    const auto all = vhost_.management().Get("/exchanges/" + vhost_.name());
    for (const auto& exchange : all.value()) {
      const std::string name = exchange.at("name");
      if (!name.empty() && !name.starts_with("amq.")) names.push_back(name);
    }
    return names;
  }
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_INTEGRATION_DOCTOR_RUN_H_
