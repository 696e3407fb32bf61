#include "support/private_broker.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "absl/strings/str_cat.h"

namespace retryq::testing {
namespace {

constexpr const char* kDirectory = "RETRYQ_BROKER";

}  // namespace

PrivateBroker::PrivateBroker() {
  std::istringstream lines(Run(absl::StrCat("start --owner ", ::getpid())));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = line.substr(0, equals);
    const std::string value = line.substr(equals + 1);
    if (name == kDirectory) {
      directory_ = value;
      continue;
    }
    if (const char* former = std::getenv(name.c_str())) former_[name] = former;
    ::setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
  }
  if (directory_.empty())
    throw std::runtime_error("a private broker that does not say where it is");
}

PrivateBroker::~PrivateBroker() {
  for (const auto& [name, value] : former_) ::setenv(name.c_str(), value.c_str(), /*overwrite=*/1);
  try {
    Run(absl::StrCat("--broker ", directory_, " stop"));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());  // its watcher ends it with this process
  }
}

bool PrivateBroker::Possible() { return std::getenv(kDirectory) != nullptr; }

void PrivateBroker::Kill() const { Run(absl::StrCat("--broker ", directory_, " kill")); }

void PrivateBroker::Restart() const { Run(absl::StrCat("--broker ", directory_, " restart")); }

void PrivateBroker::RaiseAlarm() const {
  Evaluate("rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).");
}

void PrivateBroker::ClearAlarm() const {
  Evaluate("rabbit_alarm:clear_alarm({resource_limit, memory, node()}).");
}

void PrivateBroker::Evaluate(const std::string& expression) const {
  Run(absl::StrCat("--broker ", directory_, " ctl eval '", expression, "'"));
}

std::string PrivateBroker::Run(const std::string& arguments) {
  const std::filesystem::path root =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  const std::string command =
      absl::StrCat((root / "third_party/rabbitmq/broker").string(), " ", arguments);
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
