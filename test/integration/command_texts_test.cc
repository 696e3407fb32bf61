// Texts that a hostile broker, management API, queue name, message or handler chooses, on their way
// to a terminal: escape sequences, a forged line, C1 controls, the other direction of
// writing.

#include <nlohmann/json.hpp>

#include "absl/strings/str_replace.h"
#include "base/escaped_text.h"
#include "integration/command_run.h"
#include "support/canned_server.h"
#include "support/test.h"
#include "unit/amqp/fake_server.h"
#include "unit/amqp/run_until.h"

namespace retryq::testing::command_texts_test {

using amqp::FakeServer;

const std::string kEvil =
    "\x1b[2J\x1b]0;pwned\x07\xc2\x9b"
    "31m\xe2\x80\xae\nroot# ";
const std::string kBroken = kEvil + "\xff";  // what is not UTF-8, too

// Whether it can be written to a terminal, and each line is one of the command's.
void ExpectHarmless(const CommandRun& run) {
  const std::string all = run.out() + run.err();
  EXPECT_EQ(EscapedLines(all), all) << run.Story();
  EXPECT_EQ(all.find("\nroot#"), std::string::npos) << run.Story();
}

class CommandTexts : public CommandTest {
 protected:
  // Against a server on this thread's loop.
  void RunAgainst(const Arguments& arguments, const std::string& url) {
    CommandRun run(arguments, url);
    const bool goes_on = arguments[0] == "work";
    amqp::RunUntil(
        loop_, [&] { return run.Wait(absl::ZeroDuration()) || (goes_on && !run.err().empty()); });
    EXPECT_NE(run.out() + run.err(), "");
    ExpectHarmless(run);
  }

  void RunToEnd(const Arguments& arguments) {
    CommandRun run(arguments, vhost_.Url());
    ASSERT_TRUE(run.Wait().has_value()) << run.Story();
    ExpectHarmless(run);
  }

  EventLoop loop_;
};

void SayClose(FakeServer& server, std::uint16_t code) {
  server.Say(0, amqp::method::ConnectionClose{.reply_code = code, .reply_text = kBroken});
}

// Closes the connection at a step of the handshake.
std::function<void(FakeServer&)> ClosesAt(FakeServer::Step step, std::uint16_t code) {
  return [=](FakeServer& server) {
    server.on_step = [=, &server](FakeServer::Step now) {
      if (now == step) SayClose(server, code);
      return now == step;
    };
  };
}

TEST_F(CommandTexts, EscapesTextsOfTheBroker) {
  const std::vector<std::pair<const char*, std::function<void(FakeServer&)>>> ways = {
      {"mechanisms", [](FakeServer& server) { server.mechanisms = "X" + kBroken; }},
      {"banner",
       [](FakeServer& server) {
         server.on_step = [&server](FakeServer::Step) {
           server.SayBytes("HTTP/1.1 400 " + kBroken + "\r\n\r\n");
           return true;
         };
       }},
      {"login", ClosesAt(FakeServer::Step::kStartOk, 403)},
      {"vhost", ClosesAt(FakeServer::Step::kOpen, 530)},
      {"connection",
       [](FakeServer& server) {
         server.on_method = [&server](std::uint16_t, const amqp::ClientMethod& method) {
           if (!std::holds_alternative<amqp::method::ChannelOpen>(method)) return false;
           SayClose(server, 320);
           return true;
         };
       }},
      {"channel", [](FakeServer& server) {
         server.on_method = [&server](std::uint16_t channel, const amqp::ClientMethod& method) {
           if (!std::holds_alternative<amqp::method::QueueDeclare>(method) &&
               !std::holds_alternative<amqp::method::BasicConsume>(method)) {
             return false;
           }
           server.Say(channel,
                      amqp::method::ChannelClose{.reply_code = 403, .reply_text = kBroken});
           return true;
         };
       }}};
  for (const auto& [name, prepare] : ways) {
    SCOPED_TRACE(name);
    FakeServer server(loop_);
    server.obliging = true;
    prepare(server);
    const std::string url = "amqp://127.0.0.1:" + std::to_string(server.port()) + "/";
    RunAgainst({"declare", "--queue", "q", "--wait", "200ms"}, url);
    RunAgainst({"work", "--queue", "q", "--", "true"}, url);
    RunAgainst({"parked", "list", "--queue", "q"}, url);
  }
}

// Ten seconds, and some for a machine under load.
TEST_F(CommandTexts, SoonReportsABrokerThatIsSilentAfterTheLogin) {
  FakeServer server(loop_);
  const std::string url = "amqp://127.0.0.1:" + std::to_string(server.port()) + "/";
  std::vector<std::unique_ptr<CommandRun>> runs;
  for (const Arguments& arguments :
       {Arguments{"send", "--queue", "q", "body"},
        {"send", "--queue", "q", "--delay", "1m", "body"},
        {"send", "--declare", "--queue", "q", "body"},
        {"declare", "--queue", "q"},
        {"doctor", "--queue", "q"},
        {"parked", "list", "--queue", "q"},
        {"parked", "list", "--queue", "q", "--management", "http://127.0.0.1:1"}}) {
    runs.push_back(std::make_unique<CommandRun>(arguments, url));
  }
  // RabbitMQ blocks only connections that have published.
  FakeServer blocking(loop_);
  blocking.on_method = [&blocking](std::uint16_t, const amqp::ClientMethod& method) {
    if (!std::holds_alternative<amqp::method::ChannelOpen>(method)) return false;
    blocking.Say(0, amqp::method::ConnectionBlocked{.reason = "low on memory"});
    return true;
  };
  runs.push_back(
      std::make_unique<CommandRun>(Arguments{"parked", "list", "--queue", "q"},
                                   "amqp://127.0.0.1:" + std::to_string(blocking.port()) + "/"));
  const absl::Time began = absl::Now();
  amqp::RunUntil(loop_, [&] {
    return absl::Now() - began > absl::Seconds(18) ||
           std::all_of(runs.begin(), runs.end(),
                       [](const auto& run) { return run->Wait(absl::ZeroDuration()).has_value(); });
  });
  for (const auto& run : runs) {
    EXPECT_EQ(run->Wait(absl::ZeroDuration()), 69) << run->Story();
    EXPECT_THAT(run->out() + run->err(), ::testing::HasSubstr("remedy")) << run->Story();
  }
}

TEST_F(CommandTexts, EscapesTextsOfTheManagementApi) {
  const std::string evil = nlohmann::json(kEvil).dump();
  const std::string queue = R"({"name":"retry.1000","type":)" + evil + R"(,"state":)" + evil +
                            R"(,"policy":)" + evil + R"(,"arguments":{"x-message-ttl":1000,)" +
                            R"("x-dead-letter-exchange":)" + evil + "}}";
  for (const std::string& answer :
       {HttpAnswer("401 Unauthorized", R"({"reason":)" + evil + "}"),
        HttpAnswer("200 OK", R"({"page_count":1,"items":[)" + queue + R"(],"rabbitmq_version":)" +
                                 evil + R"(,"alarms":[{"resource":)" + evil + "}]}"),
        HttpAnswer("200 OK", kBroken)}) {
    SCOPED_TRACE(answer);
    const CannedServer server(loop_, answer);
    const std::string management = "http://127.0.0.1:" + std::to_string(server.port());
    RunAgainst({"queues", "--management", management}, vhost_.Url());
    RunAgainst({"doctor", "--queue", "orders", "--management", management}, vhost_.Url());
  }
}

TEST_F(CommandTexts, EscapesTextsOfQueuesMessagesAndHandlers) {
  // RabbitMQ takes line feeds out of the name of a queue that is declared.
  const std::string queue = "q" + absl::StrReplaceAll(kEvil, {{"\n", ""}});
  const std::string parked = queue + ".parked";
  peer_.DeclareQueue(queue);
  const std::string headers = amqp::Table{{"evil", kBroken}}.Encode().value();
  amqp::Properties properties;
  properties.headers = amqp::TableView(headers);
  properties.message_id = kEvil;
  properties.type = kEvil;
  for (const bool json : {true, false}) {
    peer_.Publish("", queue, kEvil, properties);
    Arguments arguments = {"work", "--lines", "--queue", queue};
    if (json) arguments.push_back("--json");
    arguments.insert(arguments.end(),
                     {"--", "sh", "-c", R"(read -r line; printf '%s\n' "$0"; read -r line)",
                      R"({"id":1,"park":)" + nlohmann::json(kEvil).dump() + "}"});
    CommandRun run(arguments, vhost_.Url());
    EXPECT_TRUE(run.Until([&] {
      return run.Story().find("parked queue") != std::string::npos ||
             run.Story().find("\"parked\"") != std::string::npos;
    }));
    EXPECT_TRUE(run.Stop());
    ExpectHarmless(run);
  }
  const TemporaryDirectory directory;
  for (Arguments arguments :
       {Arguments{"parked", "list", "--columns", "type,evil"},
        Arguments{"parked", "list", "--json"}, Arguments{"parked", "list", "--by", "error"},
        Arguments{"parked", "show"}, Arguments{"parked", "show", "--json"},
        Arguments{"parked", "replay", "--limit", "1"}, Arguments{"send", "--delay", "1h", kEvil},
        Arguments{"send", "--delay", kEvil, "body"}, Arguments{"doctor"},
        Arguments{"doctor", "--json"}, Arguments{"waiting", "list"}, Arguments{"waiting", "show"},
        Arguments{"waiting", "drop", "--all", "--yes"},
        Arguments{"parked", "drop", "--all", "--yes"}}) {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    if (arguments[0] == "waiting" || arguments[0] == "doctor") {
      arguments.insert(arguments.end(), {"--management", ManagementUrl()});
    }
    if (arguments[1] == "drop") {
      arguments.insert(arguments.end(), {"--backup", directory.File(arguments[0])});
    }
    arguments.insert(arguments.end(), {"--queue", queue});
    RunToEnd(arguments);
  }
  RunToEnd({"queues", "--management", ManagementUrl()});
}

}  // namespace retryq::testing::command_texts_test
