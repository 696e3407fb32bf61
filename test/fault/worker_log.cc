#include "fault/worker_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "support/standard.h"

namespace retryq::fault {

WorkerLog::WorkerLog(const std::string& path)
    : file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw std::runtime_error("cannot open " + path + ": " + std::strerror(errno));
}

WorkerLog::~WorkerLog() { ::close(file_); }

void WorkerLog::Append(WorkerAct act, const MessageName& name, std::uint64_t failures) {
  const std::string line = std::string(1, static_cast<char>(act)) + " " + name.Text() + " " +
                           std::to_string(absl::ToUnixMillis(absl::Now())) + " " +
                           std::to_string(failures) + "\n";
  if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    std::perror("cannot write down what the worker does");
    std::abort();
  }
}

std::vector<WorkerEntry> ReadWorkerLog(const std::string& path, std::size_t* offset) {
  std::ifstream file(path);
  file.seekg(static_cast<std::streamoff>(*offset));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text.resize(text.rfind('\n') + 1);  // 0 if there is no complete line
  *offset += text.size();

  std::vector<WorkerEntry> entries;
  std::istringstream lines(text);
  char act = 0;
  std::string name;
  std::int64_t milliseconds = 0;
  std::uint64_t failures = 0;
  while (lines >> act >> name >> milliseconds >> failures) {
    const std::optional<MessageName> parsed = MessageName::Parse(name);
    if (!parsed.has_value()) throw std::runtime_error(path + " names a message '" + name + "'");
    entries.push_back({.act = static_cast<WorkerAct>(act),
                       .name = *parsed,
                       .at = absl::FromUnixMillis(milliseconds),
                       .failures = failures});
  }
  return entries;
}

}  // namespace retryq::fault
