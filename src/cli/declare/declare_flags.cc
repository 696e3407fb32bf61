#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/declare/declare_command.h"
#include "cli/text/typed_value.h"

namespace retryq::cli {
namespace {

constexpr HelpText kDeclareHelp = {
    .description =
        "Declares a work queue, durable, and exchanges with bindings that lead to it. What is "
        "there already\nstays; it can be repeated.",
    .usage = "retryq declare --queue QUEUE [OPTIONS] [--exchange EXCHANGE --routing-key KEY]...",
    .footer =
        R"(Exits with 0 when all is there as asked, made or found. Exit codes: 64 wrong options; 69 something
exists with other arguments (the message names the difference and the remedy), or no answer; 77
refused by the broker.

Example: a quorum queue that takes all orders of the exchange shop, an hour each
  retryq declare --queue orders --queue-type quorum --argument x-message-ttl=3600000 \
    --exchange shop --exchange-type topic --routing-key 'order.#'
)",
};

// --exchange begins a binding; --exchange-type and --routing-key belong to the last one.
class BindingFlags {
 public:
  void Exchange(const std::string& name) { bindings_.push_back({.exchange = name}); }

  void Type(const std::string& type) {
    if (bindings_.empty()) return Misplace("--exchange-type");
    if (std::exchange(bindings_.back().type, type)) {
      complaints_.emplace_back("--exchange-type: is given twice for one --exchange; give it once");
    }
  }

  void Key(const std::string& key) {
    if (bindings_.empty()) return Misplace("--routing-key");
    bindings_.back().keys.push_back(key);
  }

  void Read(FlagReader& reader, std::vector<WorkQueueBinding>* bindings) const {
    for (const std::string& complaint : complaints_) reader.Complain(complaint);
    for (const Binding& binding : bindings_) {
      const std::string type = binding.type.value_or("topic");
      if (binding.keys.empty() && (type == "topic" || type == "direct")) {
        reader.Complain("--routing-key is missing: --exchange " + binding.exchange +
                        " needs one behind it, as it is a " + type + " exchange; '#' is all keys " +
                        "of a topic exchange");
      }
      const std::vector<std::string> any_key = {""};
      for (const std::string& key : binding.keys.empty() ? any_key : binding.keys) {
        bindings->push_back(
            {.exchange = binding.exchange, .exchange_type = type, .routing_key = key});
      }
    }
  }

 private:
  struct Binding {
    std::string exchange;
    std::optional<std::string> type = std::nullopt;
    std::vector<std::string> keys = {};
  };

  void Misplace(const std::string& flag) {
    complaints_.push_back(flag + ": belongs to an --exchange; write it behind that");
  }

  std::vector<Binding> bindings_;
  std::vector<std::string> complaints_;
};

struct DeclareFlags {
  BrokerFlags broker;
  FlagText queue, queue_type;
  std::vector<std::string> arguments;
  BindingFlags bindings;
};

void AddFlags(FlagParser& parser, DeclareFlags& flags) {
  parser.Group("Queue");
  parser.Add("--queue", "QUEUE", &flags.queue, "The work queue; required");
  parser.Add("--queue-type", "classic|quorum", &flags.queue_type,
             "What it becomes (default: classic)");
  parser.Add("--argument", "NAME=VALUE", &flags.arguments,
             "An argument, such as x-max-length=1000: a JSON number, true, false or \"text\"\n"
             "has that type, anything else is text; again for more");
  parser.Group("Bindings");
  parser.AddInOrder(
      "--exchange", "EXCHANGE",
      [&flags](const std::string& name) { flags.bindings.Exchange(name); },
      "An exchange that leads to the queue, durable; again for more, each with what\n"
      "follows it");
  parser.AddInOrder(
      "--exchange-type", "TYPE", [&flags](const std::string& type) { flags.bindings.Type(type); },
      "Its type: direct, topic, fanout, headers or a plugin's x-... (default: topic)");
  parser.AddInOrder(
      "--routing-key", "KEY", [&flags](const std::string& key) { flags.bindings.Key(key); },
      "The key, or pattern of a topic exchange, that leads to the queue; again for more");
  parser.Group("Broker");
  AddBrokerFlags(parser, flags.broker);
}

void ReadArguments(const std::vector<std::string>& arguments, FlagReader& reader,
                   amqp::Table* table) {
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0) {
      reader.Complain("--argument '" + argument + "': write NAME=VALUE");
      continue;
    }
    const std::string name = argument.substr(0, equals);
    if (name == "x-queue-type") {
      reader.Complain("--argument x-queue-type: use --queue-type");
    } else if (table->Find(name) != nullptr) {
      reader.Complain("--argument " + name + ": is given more than once; give it once");
    } else {
      table->Set(name, ScalarOrText(argument.substr(equals + 1)));
    }
  }
}

DeclareCommandOptions ReadOptions(const DeclareFlags& flags, FlagReader& reader) {
  DeclareCommandOptions options;
  if (!flags.queue) reader.Complain("--queue is missing: name the queue to declare");
  reader.Read("--queue", flags.queue, &options.work_queue.name);
  reader.Read("--queue-type", flags.queue_type, &options.work_queue.type);
  ReadArguments(flags.arguments, reader, &options.work_queue.arguments);
  flags.bindings.Read(reader, &options.work_queue.bindings);
  ReadBrokerFlags(flags.broker, reader, &options.client, &options.wait);
  return options;
}

}  // namespace

absl::StatusOr<std::variant<DeclareCommandOptions, Answer>> ParseDeclare(
    const Arguments& arguments) {
  DeclareFlags flags;
  FlagParser parser(kDeclareHelp);
  AddFlags(parser, flags);
  return parser.ParseInto(arguments,
                          [&flags](FlagReader& reader) { return ReadOptions(flags, reader); });
}

}  // namespace retryq::cli
