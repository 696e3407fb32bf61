// `retryq work --metrics`: what a scraper and an operator see. test/monitoring
// asks a real Prometheus.

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "command_run.h"
#include "retryq/amqp/connection_options.h"
#include "support/loopback_listener.h"
#include "support/test.h"

namespace retryq::testing::command_metrics_test {

class CommandMetrics : public CommandTest {
 protected:
  // The response of the worker that logged `serving_metrics`, with its status line.
  static std::string Get(const CommandRun& run, const std::string& path) {
    const std::string url = run.events("serving_metrics").at(0).at("url");
    const int port = std::stoi(url.substr(url.rfind(':') + 1));
    const int socket = ConnectTo(static_cast<std::uint16_t>(port));
    std::string answer;
    const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
    if (::write(socket, request.data(), request.size()) > 0) {
      std::array<char, 4096> piece;
      for (ssize_t size = 0; (size = ::read(socket, piece.data(), piece.size())) > 0;) {
        answer.append(piece.data(), static_cast<std::size_t>(size));
      }
    }
    ::close(socket);
    return answer;
  }
};

TEST_F(CommandMetrics, ReportTheOutcomesOfMessages) {
  CommandRun run = Work({"--metrics", "127.0.0.1:0", "--max-attempts", "2"}, "exit 1");
  ASSERT_TRUE(run.Says("consuming"));
  EXPECT_THAT(Get(run, "/healthz"), HasSubstr(" 200 "));
  Publish("an order");
  ASSERT_TRUE(run.Says("parked"));
  const std::string metrics = Get(run, "/metrics");
  // Each metric also has the labels broker and vhost.
  const auto broker = amqp::ParseUri(vhost_.Url()).value();
  const std::string place = "broker=\"" + amqp::Describe(broker.endpoints.front()) + "\",vhost=\"" +
                            vhost_.name() + "\"} ";
  for (const auto& [metric, value] : std::map<std::string, std::string>{
           {R"(retryq_outcomes_total{outcome="retried",queue="orders",)", "1"},
           {R"(retryq_outcomes_total{outcome="parked",queue="orders",)", "1"},
           {R"(retryq_retries_total{attempt="1",queue="orders",)", "1"},
           {R"(retryq_handler_duration_seconds_count{queue="orders",)", "2"},
           {R"(retryq_delay_lateness_seconds_count{queue="orders",)", "1"},
           {R"(retryq_in_flight{queue="orders",)", "0"},
           {R"(retryq_consuming{queue="orders",)", "1"},
           {"retryq_confirm_duration_seconds_count{", "2"},
           {"retryq_delay_queues{", "1"},
           {"retryq_connected{", "1"}}) {
    EXPECT_THAT(metrics, HasSubstr("\n" + metric + place + value + "\n"));
  }
  EXPECT_TRUE(run.Stop());
}

TEST_F(CommandMetrics, ReportWhyNothingIsConsumed) {
  CommandRun run({"work", "--json", "--queue", "orders", "--metrics", "127.0.0.1:0", "--", "true"},
                 "amqp://guest:guest@127.0.0.1:1/");
  ASSERT_TRUE(run.Says("serving_metrics"));
  EXPECT_THAT(Get(run, "/healthz"), HasSubstr(" 503 "));
  EXPECT_THAT(Get(run, "/metrics"),
              HasSubstr("\nretryq_connected{broker=\"127.0.0.1:1\",vhost=\"/\"} 0\n"));
  EXPECT_TRUE(run.Stop());
}

TEST_F(CommandMetrics, ReportAProgramThatHandlesNoMessages) {
  CommandRun run = Work({"--metrics", "127.0.0.1:0", "--lines", "--max-attempts", "1"},
                        "read -r line; echo bad >&2; exit 1");
  Publish("poison");
  ASSERT_TRUE(run.Says("parked"));
  const std::string health = Get(run, "/healthz");
  EXPECT_THAT(health, HasSubstr(" 503 "));
  EXPECT_THAT(health, HasSubstr("without having handled a message: exit 1: bad"));
  const std::string metrics = Get(run, "/metrics");
  EXPECT_THAT(metrics, HasSubstr("\nretryq_program_exits_total{queue=\"orders\","));
  EXPECT_THAT(metrics, ContainsRegex("retryq_consuming[{]queue=\"orders\",[^}]*[}] 0"));
  EXPECT_LE(run.events("consuming").size(), 1U) << run.Story();
  EXPECT_TRUE(run.Stop());
}

TEST_F(CommandMetrics, ReportAMessageThatTakesMuchLongerThanUsual) {
  CommandRun run =
      Work({"--metrics", "127.0.0.1:0"}, "read -r body; case $body in slow) exec sleep 600;; esac");
  Publish("quick");
  ASSERT_TRUE(run.Says("acked"));
  Publish("slow");
  ASSERT_TRUE(run.Says("still_running"));
  EXPECT_THAT(Get(run, "/healthz"), HasSubstr("ok: a message has been running for "));
  EXPECT_THAT(Get(run, "/metrics"),
              ContainsRegex("retryq_oldest_running_seconds[{]queue=\"orders\",[^}]*[}] [1-9]"));
  run.Signal(SIGTERM);
  run.Signal(SIGTERM);
  run.Wait();
  EXPECT_EQ(run.events("still_running").size(), 1U);
}

}  // namespace retryq::testing::command_metrics_test
