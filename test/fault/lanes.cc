#include "fault/lanes.h"

#include <atomic>
#include <exception>
#include <nlohmann/json.hpp>
#include <thread>

#include "fault/scene.h"
#include "support/broker_node.h"
#include "support/management.h"
#include "support/standard.h"

namespace retryq::fault {
namespace {

using testing::BrokerNode;

constexpr int kVhostsAtOnce = 3;
constexpr int kBrokersAtOnce = 2;
constexpr int kClusterNodes = 3;

// Releases, as for `broker start --version`.
constexpr char kUpgradeFrom[] = "trixie";
constexpr char kUpgradeTo[] = "sid";

using Nodes = std::vector<std::unique_ptr<BrokerNode>>;

// Calls `work(0)` to `work(size - 1)`, at most this number at once, and waits for all.
void InThreads(int at_once, std::size_t size, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < at_once; ++i) {
    threads.emplace_back([&] {
      for (std::size_t index = next++; index < size; index = next++) work(index);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class Lanes {
 public:
  Lanes(const LaneOptions& options, Report& report) : options_(options), report_(report) {}

  // Runs `jobs` on `nodes`, at most this number at once.
  void Run(const std::vector<Job>& jobs, int at_once, const std::function<Nodes()>& make_nodes) {
    if (jobs.empty()) return;
    Nodes nodes;
    try {
      nodes = make_nodes();
      NoteVersion(*nodes.front());
    } catch (const std::exception& error) {
      for (const Job& job : jobs) Fail(job, error.what());
      return;
    }
    InThreads(at_once, jobs.size(), [&](std::size_t index) { RunOne(jobs[index], nodes); });
  }

  // Runs each job on its own nodes, at most this number at once.
  void RunEach(const std::vector<Job>& jobs, int at_once,
               const std::function<Nodes()>& make_nodes) {
    InThreads(at_once, jobs.size(), [&](std::size_t index) { Run({jobs[index]}, 1, make_nodes); });
  }

  Nodes One(const std::string& parent) const {
    Nodes nodes;
    nodes.push_back(Start(parent, options_.broker_arguments));
    return nodes;
  }

  Nodes Cluster(const std::vector<std::string>& arguments) const {
    Nodes nodes;
    nodes.push_back(Start(options_.directory, arguments));
    while (nodes.size() < kClusterNodes) {
      nodes.push_back(Start(options_.directory, {"--join", nodes.front()->directory()}));
    }
    return nodes;
  }

 private:
  std::unique_ptr<BrokerNode> Start(const std::string& parent,
                                    std::vector<std::string> arguments) const {
    return std::make_unique<BrokerNode>(
        BrokerNode::Options{.arguments = std::move(arguments),
                            .parent = parent,
                            .log = absl::StrCat(options_.directory, "/broker.log")});
  }

  void NoteVersion(const BrokerNode& node) {
    const testing::Json overview =
        testing::Management(node.management_url()).Get("/overview").value();
    report_.SetVersion(overview.at("rabbitmq_version"));
  }

  void RunOne(const Job& job, const Nodes& nodes) {
    report_.Begin(*job.fault, job.queue_type);
    std::vector<const BrokerNode*> views;
    for (const auto& node : nodes) views.push_back(node.get());
    try {
      Scene scene({.fault = *job.fault,
                   .queue_type = job.queue_type,
                   .nodes = views,
                   .directory = options_.directory,
                   .worker_program = options_.worker_program,
                   .stops = options_.stops,
                   .quick = options_.quick,
                   .most_late = options_.most_late});
      report_.End(*job.fault, job.queue_type, scene.Run());
    } catch (const std::exception& error) {
      Fail(job, error.what());
    }
  }

  void Fail(const Job& job, const std::string& why) {
    report_.End(*job.fault, job.queue_type, {.failure = why});
  }

  const LaneOptions& options_;
  Report& report_;
};

}  // namespace

void RunLanes(const std::vector<Job>& jobs, const LaneOptions& options, Report& report) {
  const auto at = [&](Fault::Place place) {
    std::vector<Job> there;
    for (const Job& job : jobs) {
      if (job.fault->place == place) there.push_back(job);
    }
    return there;
  };
  Lanes lanes(options, report);
  std::thread vhosts([&] {
    lanes.Run(at(Fault::Place::kVhost), kVhostsAtOnce,
              [&] { return lanes.One(options.directory); });
  });
  std::thread brokers([&] {
    // The next run must not find objects of this run.
    lanes.RunEach(at(Fault::Place::kBroker), kBrokersAtOnce,
                  [&] { return lanes.One(options.directory); });
  });
  std::thread others([&] {
    if (options.small_disk_status.ok()) {
      lanes.RunEach(at(Fault::Place::kSmallDisk), 1, [&] { return lanes.One(options.small_disk); });
    } else {
      for (const Job& job : at(Fault::Place::kSmallDisk)) {
        report.Skip(*job.fault, job.queue_type, std::string(options.small_disk_status.message()));
      }
    }
    lanes.Run(at(Fault::Place::kCluster), 1,
              [&] { return lanes.Cluster(options.broker_arguments); });
    const std::vector<Job> upgrades = at(Fault::Place::kUpgrade);
    if (options.broker_arguments == std::vector<std::string>{"--version", kUpgradeTo}) {
      lanes.RunEach(upgrades, 1, [&] { return lanes.Cluster({"--version", kUpgradeFrom}); });
    } else {
      for (const Job& job : upgrades) {
        report.Skip(*job.fault, job.queue_type, absl::StrCat("only with --version ", kUpgradeTo));
      }
    }
  });
  vhosts.join();
  brokers.join();
  others.join();
}

}  // namespace retryq::fault
