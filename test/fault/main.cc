// The fault suite; see README.md. test/fault/run builds and runs it.

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "absl/strings/numbers.h"
#include "fault/fault.h"
#include "fault/lanes.h"
#include "fault/report.h"
#include "support/standard.h"

namespace retryq::fault {
namespace {

constexpr int kUsageError = 64;

struct Flags {
  std::vector<std::string> faults;
  std::vector<std::string> queue_types;
  std::vector<std::string> broker_arguments;
  std::string directory;
  std::string json;
  bool list = false;
  bool quick = false;
  bool stop = false;
  absl::Duration most_late = absl::Seconds(1);
};

// In the order of the table.
std::vector<Fault> AllFaults() {
  std::vector<Fault> all;
  for (auto* const part : {&NetworkFaults, &PhaseFaults, &WorkerFaults, &QueueFaults, &VhostFaults,
                           &IsolationFaults, &BrokerFaults, &DiskFaults, &ClusterFaults}) {
    std::vector<Fault> faults = part();
    all.insert(all.end(), std::make_move_iterator(faults.begin()),
               std::make_move_iterator(faults.end()));
  }
  return all;
}

// Creates `directory` and mounts a disk of 192 MB, in memory, there. Only this process and its
// children see it, and it exists until the last of them has exited. Needs root. Call it before
// there are threads.
absl::Status MountSmallDisk(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("making ", directory));
  }
  if (::unshare(CLONE_NEWNS) != 0) {
    return absl::ErrnoToStatus(errno, "a mount namespace of its own needs root");
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tmpfs", directory.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=192m") != 0) {
    return absl::ErrnoToStatus(errno, "mounting a small disk needs root");
  }
  return absl::OkStatus();
}

int Complain(const std::string& what) {
  std::cerr << "test/fault: " << what << '\n';
  return kUsageError;
}

// Returns the error in the arguments; empty if there is none.
std::string Parse(const std::vector<std::string>& arguments, Flags* flags) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& flag = arguments[i];
    if (flag == "--list") {
      flags->list = true;
      continue;
    }
    if (flag == "--quick") {
      flags->quick = true;
      continue;
    }
    if (flag == "--stop") {
      flags->stop = true;
      continue;
    }
    if (i + 1 == arguments.size()) return "'" + flag + "' is unknown or needs a value; see --help";
    const std::string& value = arguments[++i];
    if (flag == "--fault") {
      flags->faults.push_back(value);
    } else if (flag == "--queue-type") {
      if (value != "classic" && value != "quorum") return "no queue type '" + value + "'";
      flags->queue_types.push_back(value);
    } else if (flag == "--version") {
      flags->broker_arguments.insert(flags->broker_arguments.end(), {"--version", value});
    } else if (flag == "--late") {
      int seconds = 0;
      if (!absl::SimpleAtoi(value, &seconds) || seconds < 1) return "--late '" + value + "'";
      flags->most_late = absl::Seconds(seconds);
    } else if (flag == "--json") {
      flags->json = value;
    } else if (flag == "--directory") {
      flags->directory = value;
    } else {
      return "unknown argument '" + flag + "'; see --help";
    }
  }
  return "";
}

int Run(const std::string& worker_program, const std::vector<std::string>& arguments) {
  Flags flags;
  if (const std::string wrong = Parse(arguments, &flags); !wrong.empty()) return Complain(wrong);
  const std::vector<Fault> all = AllFaults();
  if (flags.list) {
    for (const Fault& fault : all) std::cout << fault.name << "\n    " << fault.what << '\n';
    return EXIT_SUCCESS;
  }
  if (flags.directory.empty()) return Complain("--directory is missing");
  if (flags.queue_types.empty()) flags.queue_types = {"classic", "quorum"};
  for (const std::string& name : flags.faults) {
    if (std::none_of(all.begin(), all.end(),
                     [&](const Fault& fault) { return fault.name == name; })) {
      return Complain("no fault '" + name + "'; see --list");
    }
  }

  std::vector<Job> jobs;
  bool needs_small_disk = false;
  for (const Fault& fault : all) {
    const bool is_named =
        std::find(flags.faults.begin(), flags.faults.end(), fault.name) != flags.faults.end();
    if (flags.faults.empty() ? flags.quick && !fault.quick : !is_named) continue;
    needs_small_disk |= fault.place == Fault::Place::kSmallDisk;
    for (const std::string& type : flags.queue_types) {
      jobs.push_back({.fault = &fault, .queue_type = type});
    }
  }

  LaneOptions options{.directory = flags.directory,
                      .worker_program = worker_program,
                      .broker_arguments = flags.broker_arguments,
                      .small_disk = flags.directory + "/disk",
                      .stops = flags.stop,
                      .quick = flags.quick,
                      .most_late = flags.most_late};
  if (needs_small_disk) options.small_disk_status = MountSmallDisk(options.small_disk);

  Report report;
  RunLanes(jobs, options, report);
  const bool passed = report.Finish();
  if (!flags.json.empty()) std::ofstream(flags.json) << report.ToJson().dump(2) << '\n';
  return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace retryq::fault

int main(int argc, char** argv) {
  const std::string self = argv[0];
  return retryq::fault::Run(self.substr(0, self.rfind('/') + 1) + "fault_worker",
                            {argv + 1, argv + argc});
}
