#include "support/broker_node.h"

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <sstream>

#include "support/standard.h"

namespace retryq::testing {
namespace {

// For the shell.
std::string Quoted(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

std::string BrokerScript() { return RETRYQ_BROKER_SCRIPT; }

BrokerNode::BrokerNode(Options options) : options_(std::move(options)) {
  std::vector<std::string> arguments = options_.arguments;
  arguments.insert(arguments.begin(), {"start", "--owner", std::to_string(::getpid())});
  std::istringstream lines(Run(std::move(arguments)));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) settings_[line.substr(0, equals)] = line.substr(equals + 1);
  }
  for (const char* name : {"RETRYQ_URL", "RETRYQ_MANAGEMENT_URL", "RETRYQ_BROKER"}) {
    if (settings_.count(name) == 0) {
      throw std::runtime_error(absl::StrCat("third_party/rabbitmq/broker start printed no ", name));
    }
  }
}

BrokerNode::~BrokerNode() {
  try {
    RunHere({"stop"});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());  // its watcher stops it with this process
  }
}

void BrokerNode::Kill() const { RunHere({"kill"}); }

void BrokerNode::Freeze() const { RunHere({"kill", "STOP"}); }

void BrokerNode::Thaw() const { RunHere({"kill", "CONT"}); }

void BrokerNode::Shutdown() const { RunHere({"shutdown"}); }

void BrokerNode::Restart() const { RunHere({"restart"}); }

void BrokerNode::RestartAs(const std::string& version) const {
  RunHere({"restart", "--version", version});
}

std::string BrokerNode::Control(const std::vector<std::string>& arguments) const {
  std::vector<std::string> all = {"ctl"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return RunHere(std::move(all));
}

std::string BrokerNode::RunHere(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {"--broker", directory()});
  return Run(std::move(arguments));
}

std::string BrokerNode::Run(std::vector<std::string> arguments) const {
  std::string command;
  if (!options_.parent.empty()) absl::StrAppend(&command, "TMPDIR=", Quoted(options_.parent), " ");
  command += Quoted(BrokerScript());
  for (const std::string& argument : arguments) absl::StrAppend(&command, " ", Quoted(argument));
  if (!options_.log.empty()) absl::StrAppend(&command, " 2>>", Quoted(options_.log));
  std::FILE* const pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 4096> chunk;
  while (const std::size_t size = std::fread(chunk.data(), 1, chunk.size(), pipe)) {
    output.append(chunk.data(), size);
  }
  if (::pclose(pipe) != 0) throw std::runtime_error(command + " failed: " + output);
  return output;
}

}  // namespace retryq::testing
