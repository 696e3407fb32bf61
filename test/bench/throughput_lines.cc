// Throughput and CPU time of the retry cycle (deliver, fail, publish the copy, confirm, ack), of
// the success path (deliver, ack), and of `floor`, the least that a retry cycle can cost. The work
// queue is filled before.

#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "absl/strings/str_split.h"
#include "bench/baselines/workload.h"
#include "bench/fill.h"
#include "bench/line.h"
#include "bench/program.h"
#include "retryq/amqp/properties.h"
#include "retryq/consumer.h"
#include "support/peer.h"
#include "support/standard.h"
#include "support/test_vhost.h"

namespace retryq::bench {
namespace {

// Messages that do not count, until the delay queues are declared and the prefetch has been used up
// once.
constexpr std::size_t kWarmup = 2'000;
constexpr std::size_t kLargeWarmup = 600;
constexpr absl::Duration kPatience = absl::Seconds(20);
// Lines with larger bodies have fewer messages.
constexpr std::size_t kLargeBody = 4'096;

struct Workload {
  bool fails = true;
  std::size_t body_size = 256;
  std::size_t ttls = 1;
  std::size_t workers = 1;  // each with a work queue of its own
  bool is_floor = false;    // measures `floor` instead of retryq
  std::size_t prefetch = kPrefetch;
  bool is_quorum = false;      // the work queue and the delay queues
  bool is_tls = false;         // the connections
  bool is_one_client = false;  // retryq's workers are consumers of one client

  const char* queue_type() const { return is_quorum ? "quorum" : "classic"; }
};

std::string QueueOf(std::size_t worker) {
  return absl::StrCat("work.", absl::Dec(worker, absl::kZeroPad2));
}

// Waits for the last acks.
void AwaitEmpty(testing::Peer& peer, const std::string& queue) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (const std::size_t left = peer.Count(queue)) {
    if (absl::Now() > deadline) {
      throw std::runtime_error(absl::StrCat(left, " messages are still in ", queue));
    }
    CheckInterrupted();
    absl::SleepFor(absl::Milliseconds(20));
  }
}

// Returns the delay queue with this TTL. retryq's quorum delay queues are named after the work
// queue, and their names end with a number that changes with time.
std::string DelayQueueOf(const testing::TestVhost& vhost, std::size_t ttl) {
  std::string name = absl::StrCat("retry.", ttl);
  if (vhost.HasQueue(name)) return name;
  for (int slot = 0; slot < 10; ++slot) {
    std::string quorum = absl::StrCat(name, ".", QueueOf(0), ".q", slot);
    if (vhost.HasQueue(quorum)) return quorum;
  }
  return name;
}

// Throws std::runtime_error unless each message is in the right queue and all copies have the same
// length.
void Check(const testing::TestVhost& vhost, testing::Peer& peer, const Workload& workload,
           std::size_t messages) {
  for (std::size_t i = 0; i < workload.workers; ++i) AwaitEmpty(peer, QueueOf(i));
  if (!workload.fails) return;
  std::size_t copies = 0;
  for (std::size_t i = 0; i < workload.ttls; ++i) {
    copies += peer.Count(DelayQueueOf(vhost, kFirstTtl + i * kTtlStep));
  }
  if (copies != messages) {
    throw std::runtime_error(absl::StrCat(copies, " copies of ", messages, " messages"));
  }
  const amqp::MessagePtr copy = peer.Get(DelayQueueOf(vhost, kFirstTtl));
  // The size of the first copy of each type of queue; all lines have the same properties. RabbitMQ
  // 3.10 adds x-delivery-count to what a quorum queue delivers.
  static std::map<bool, std::size_t> sizes;
  const std::size_t size = amqp::ContentHeaderSize(copy->properties);
  if (sizes.try_emplace(workload.is_quorum, size).first->second != size ||
      copy->body.size() != workload.body_size) {
    throw std::runtime_error("the copies of the two sides differ in length");
  }
}

// librabbitmq reads no parameters.
std::string WithoutParameters(const std::string& url) { return url.substr(0, url.find('?')); }

// What the private broker has used since its start.
struct BrokerUsage {
  double cpu_seconds = 0;
  double written_bytes = 0;  // to disk
};

// The directory of the private broker; null if RETRYQ_URL names another broker.
const char* PrivateBroker() { return std::getenv("RETRYQ_BROKER"); }

BrokerUsage UsageOfBroker() {
  const std::string broker = PrivateBroker();
  std::string process;
  std::ifstream(broker + "/data/pid") >> process;
  std::string stat;
  std::getline(std::ifstream("/proc/" + process + "/stat"), stat);
  // utime and stime are the 12th and 13th field after the name (proc(5)).
  const std::vector<std::string> fields = absl::StrSplit(stat.substr(stat.rfind(')') + 2), ' ');
  BrokerUsage usage{.cpu_seconds = (std::stod(fields.at(11)) + std::stod(fields.at(12))) /
                                   static_cast<double>(sysconf(_SC_CLK_TCK))};
  std::ifstream io("/proc/" + process + "/io");
  for (std::string name; io >> name >> usage.written_bytes;) {
    if (name == "write_bytes:") break;
  }
  return usage;
}

std::vector<double> Measure(const Workload& workload, Side side, const Setup& setup) {
  const bool is_large = workload.body_size > kLargeBody;
  const std::size_t messages = is_large ? setup.messages / 10 : setup.messages;
  const std::size_t warmup = is_large ? kLargeWarmup : kWarmup;
  const testing::TestVhost vhost;
  testing::Peer peer(vhost.Url());

  const bool is_retryq = side == Side::kRetryq && !workload.is_floor;
  const std::string url = !workload.is_tls ? vhost.Url()
                          : is_retryq      ? vhost.TlsUrl()
                                           : WithoutParameters(vhost.TlsUrl());
  std::vector<std::vector<std::string>> arguments;
  const auto add_program = [&](const std::string& queues, std::size_t number) {
    std::vector<std::string>& words = arguments.emplace_back();
    if (is_retryq) words.emplace_back(workload.fails ? "retry" : "success");
    for (const std::string& word :
         {url, queues, std::to_string(number * warmup), std::to_string(number * messages)}) {
      words.push_back(word);
    }
    if (is_retryq || workload.fails) words.push_back(std::to_string(workload.ttls));
    if (workload.is_floor && side == Side::kRetryq) return;
    words.push_back(std::to_string(workload.prefetch));
    if (is_retryq || workload.fails) words.emplace_back(workload.queue_type());
  };
  std::vector<std::string> queues;
  for (std::size_t i = 0; i < workload.workers; ++i) {
    queues.push_back(QueueOf(i));
    Fill(peer, queues.back(), warmup + messages, workload.body_size, absl::ZeroDuration(),
         {{"x-queue-type", workload.queue_type()}});
    if (!is_retryq || !workload.is_one_client) add_program(queues.back(), 1);
  }
  if (arguments.empty()) add_program(absl::StrJoin(queues, ","), queues.size());
  std::string program = workload.fails ? "retry_cycle" : "success_path";
  if (side == Side::kRetryq) program = workload.is_floor ? "floor" : "bench_cycle_worker";
  const bool is_private = PrivateBroker() != nullptr;
  const BrokerUsage before = is_private ? UsageOfBroker() : BrokerUsage();
  double measured = 0;
  double seconds = 0;  // of the slowest program
  double cpu = 0;
  for (const nlohmann::json& used : RunPrograms(setup.programs + program, arguments)) {
    measured += used.at("messages").get<double>();
    seconds = std::max(seconds, used.at("seconds").get<double>());
    cpu += used.at("user_seconds").get<double>() + used.at("system_seconds").get<double>();
  }
  const std::size_t all = workload.workers * (warmup + messages);
  Check(vhost, peer, workload, all);
  std::vector<double> figures = {measured / seconds, cpu / measured * 1e6};
  if (is_private) {
    const BrokerUsage after = UsageOfBroker();
    figures.push_back((after.cpu_seconds - before.cpu_seconds) / static_cast<double>(all) * 1e6);
    const double written = after.written_bytes - before.written_bytes;
    if (workload.fails) figures.push_back(written / static_cast<double>(all));
  }
  return figures;
}

Line ThroughputLine(std::string name, std::string title, const Workload& workload) {
  std::vector<Metric> metrics = {{.name = "throughput", .unit = "messages/s"},
                                 {.name = "client CPU", .unit = "µs a message"}};
  if (PrivateBroker() != nullptr) {
    metrics.push_back({.name = "broker CPU", .unit = "µs a message"});
    if (workload.fails) metrics.push_back({.name = "broker writes", .unit = "bytes a message"});
  }
  return {.name = std::move(name),
          .title = std::move(title),
          .metrics = std::move(metrics),
          .measure = [workload](Side side, const Setup& setup) {
            return Measure(workload, side, setup);
          }};
}

}  // namespace

std::vector<Line> ThroughputLines() {
  std::vector<Line> lines;
  for (const std::size_t size : {0U, 256U, 4'096U, 65'536U}) {
    lines.push_back(ThroughputLine(absl::StrCat("retry-", size),
                                   absl::StrCat("retry cycle, ", size, " bytes"),
                                   {.body_size = size}));
  }
  for (const std::size_t ttls : {1U, 16U, 256U}) {
    lines.push_back(ThroughputLine(
        absl::StrCat("ttls-", ttls),
        absl::StrCat("retry cycle, ", ttls, ttls == 1 ? " TTL" : " TTLs"), {.ttls = ttls}));
  }
  lines.push_back(ThroughputLine("success", "success path", {.fails = false}));
  const std::size_t kDefaultPrefetch = ConsumerOptions().prefetch;
  lines.push_back(ThroughputLine("default-retry", "retry cycle, default prefetch",
                                 {.prefetch = kDefaultPrefetch}));
  lines.push_back(ThroughputLine("default-success", "success path, default prefetch",
                                 {.fails = false, .prefetch = kDefaultPrefetch}));
  for (const std::size_t prefetch : {32U, 64U, 128U, 256U}) {
    for (const bool fails : {true, false}) {
      lines.push_back(ThroughputLine(
          absl::StrCat("prefetch-", prefetch, fails ? "-retry" : "-success"),
          absl::StrCat(fails ? "retry cycle" : "success path", ", prefetch ", prefetch),
          {.fails = fails, .prefetch = prefetch}));
      lines.back().is_extra = true;
    }
  }
  lines.push_back(ThroughputLine("quorum", "retry cycle, quorum queues", {.is_quorum = true}));
  lines.push_back(ThroughputLine("tls", "retry cycle, TLS", {.is_tls = true}));
  lines.push_back(ThroughputLine("consumers-8",
                                 "retry cycle, eight consumers of one client and eight loops",
                                 {.workers = 8, .is_one_client = true}));
  lines.push_back(ThroughputLine("workers-50", "retry cycle, 50 workers at once", {.workers = 50}));
  lines.back().is_extra = true;
  for (const std::size_t size : {256U, 4'096U, 65'536U}) {
    lines.push_back(ThroughputLine(absl::StrCat("floor-", size),
                                   absl::StrCat("floor of a retry cycle, ", size, " bytes"),
                                   {.body_size = size, .is_floor = true}));
    lines.back().is_extra = true;
    lines.back().subject = "floor";
  }
  return lines;
}

}  // namespace retryq::bench
