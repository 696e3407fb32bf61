#include "cli/declare/declare_command.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/text/json_line.h"
#include "retryq/retryq.h"

namespace retryq::cli {
namespace {

constexpr HelpText kDeclareHelp = {
    .description =
        "Declares a durable work queue, and durable exchanges with bindings to it. Does not change "
        "objects\nthat exist, so it can be repeated.",
    .usage = "retryq declare --queue QUEUE [OPTIONS] [--exchange EXCHANGE --routing-key KEY]...",
    .footer =
        R"(Exit status: 0 all objects exist as requested; 64 wrong options; 69 an object exists with other
arguments (the message names the difference and the remedy), or the broker does not answer within
10s; 77 refused by the broker.

Example: a quorum queue for all orders of the exchange shop, with a TTL of one hour
  retryq declare --queue orders --queue-type quorum --argument x-message-ttl=3600000 \
    --exchange shop --exchange-type topic --routing-key 'order.#'
)",
};

// An --exchange, and the --exchange-type and --routing-key flags that follow it.
struct ExchangeFlags {
  std::string exchange;
  std::optional<std::string> type = std::nullopt;
  std::vector<std::string> keys = {};
};

void ReadBindings(const ExchangeFlags& flags, FlagReader& reader,
                  std::vector<WorkQueueBinding>* bindings) {
  const std::string type = flags.type.value_or("topic");
  if (flags.keys.empty() && (type == "topic" || type == "direct")) {
    reader.Complain("--routing-key is required after --exchange " + flags.exchange +
                    ", as it is a " + type + " exchange; '#' matches all keys of a topic exchange");
  }
  const std::vector<std::string> any_key = {""};
  for (const std::string& key : flags.keys.empty() ? any_key : flags.keys) {
    bindings->push_back({.exchange = flags.exchange, .exchange_type = type, .routing_key = key});
  }
}

void AddBindingFlags(FlagParser& parser, WorkQueue* queue) {
  const auto exchanges = std::make_shared<std::vector<ExchangeFlags>>();
  const auto complaints = std::make_shared<std::vector<std::string>>();
  // Returns the exchange that a flag belongs to; null if there is none.
  const auto last = [exchanges, complaints](const std::string& flag) -> ExchangeFlags* {
    if (!exchanges->empty()) return &exchanges->back();
    complaints->push_back(flag + " must follow the --exchange that it belongs to");
    return nullptr;
  };
  parser.Group("Bindings");
  parser.AddInOrder(
      "--exchange", "EXCHANGE",
      [exchanges](const std::string& name) { exchanges->push_back({.exchange = name}); },
      "Declare an exchange and bind the queue to it. Repeatable, each with the --exchange-type and "
      "the --routing-key flags that follow it");
  parser.AddInOrder(
      "--exchange-type", "TYPE",
      [last, complaints](const std::string& type) {
        ExchangeFlags* const exchange = last("--exchange-type");
        if (exchange == nullptr || !std::exchange(exchange->type, type)) return;
        complaints->push_back("--exchange-type is given twice for --exchange " +
                              exchange->exchange + "; give it once");
      },
      "Set the type: direct, topic, fanout, headers or a plugin's x-... Default: topic");
  parser.AddInOrder(
      "--routing-key", "KEY",
      [last](const std::string& key) {
        ExchangeFlags* const exchange = last("--routing-key");
        if (exchange != nullptr) exchange->keys.push_back(key);
      },
      "Bind with this key, or this pattern for a topic exchange. Repeatable");
  parser.Check([exchanges, complaints, queue](FlagReader& reader) {
    for (const std::string& complaint : *complaints) reader.Complain(complaint);
    for (const ExchangeFlags& flags : *exchanges) ReadBindings(flags, reader, &queue->bindings);
  });
}

void ReadArguments(const std::vector<std::string>& arguments, FlagReader& reader,
                   amqp::Table* table) {
  for (const std::string& argument : arguments) {
    const auto pair = reader.SplitPair("--argument", argument);
    if (!pair) continue;
    const auto& [name, value] = *pair;
    if (name == "x-queue-type") {
      reader.Complain("--argument x-queue-type: use --queue-type");
    } else if (table->Find(name) != nullptr) {
      reader.Complain("--argument " + name + " is given more than once; give it once");
    } else {
      table->Set(name, ScalarOrText(value));
    }
  }
}

void AddQueueFlags(FlagParser& parser, WorkQueue* queue) {
  const auto arguments = std::make_shared<std::vector<std::string>>();
  parser.Group("Queue");
  parser.AddName("--queue", "QUEUE", &queue->name, "Declare this work queue. Required");
  parser.Add("--queue-type", "classic|quorum", &queue->type,
             "Set the type of the queue. Default: classic");
  parser.Add("--argument", "NAME=VALUE", arguments.get(),
             "Set an argument of the queue, such as x-max-length=1000. A JSON number, true, false "
             "or \"text\" has that type; any other value is a text. Repeatable");
  parser.Check([arguments, queue](FlagReader& reader) {
    reader.Require("--queue", "name the queue to declare");
    ReadArguments(*arguments, reader, &queue->arguments);
  });
}

}  // namespace

Parsed<DeclareCommandOptions> ParseDeclare(const Arguments& arguments) {
  DeclareCommandOptions options;
  FlagParser parser(kDeclareHelp);
  AddQueueFlags(parser, &options.work_queue);
  AddBindingFlags(parser, &options.work_queue);
  parser.Group("Broker");
  AddBrokerFlags(parser, &options.client, &options.wait);
  return parser.ParseInto(arguments, options);
}

absl::Status Declare(const DeclareCommandOptions& options) {
  EventLoop loop;
  BrokerWatch watch(loop, options.client, options.wait,
                    "the broker has not answered the declare yet");
  ClientOptions client_options = options.client;
  client_options.observer = &watch;
  Client client(loop, std::move(client_options));
  absl::Status declared;
  watch.WhenConnected([&] {
    client.Declare(options.work_queue, {.deadline = kLongestOperation}, [&](absl::Status status) {
      declared = std::move(status);
      loop.Stop();
    });
  });
  return watch.Run(declared);
}

}  // namespace retryq::cli
