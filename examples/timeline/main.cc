// What examples/run shows: one timeline of all that happens, and how each message ended.
//
//   timeline QUEUE PREFIX [COUNT]
//
// of the worker that consumes QUEUE and whose delay queues' names begin with PREFIX. Ends when
// COUNT messages have ended, or after a minute, which is a failure; without COUNT it goes on. The
// broker is the one that RETRYQ_URL names, its management API the one that RETRYQ_MANAGEMENT_URL
// names, by default port 15672 of the same host.
//
// Three witnesses are heard. On stdin come JSON objects, one a line: from the script that sends the
// messages ("sending", "sent"), from flaky_endpoint ("answered") and from webhook_worker (what its
// observer hears). The broker itself is asked which queues there are, and what is in them.
#include <event2/buffer.h>
#include <event2/event.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "retryq/amqp/connection_options.h"
#include "retryq/event_loop.h"
#include "timeline/queue_watch.h"
#include "timeline/screen.h"
#include "timeline/tally.h"
#include "webhook_worker/event_http_client.h"

namespace examples {
namespace {

constexpr absl::Duration kWithoutManagement = absl::Seconds(10);
constexpr absl::Duration kLongest = absl::Minutes(1);

struct Options {
  std::string queue;
  std::string prefix;
  std::optional<std::int64_t> count;  // of messages; none: goes on
};

// Nothing if they are wrong.
std::optional<Options> ParseOptions(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2 && arguments.size() != 3) return std::nullopt;
  Options options{.queue = arguments[0], .prefix = arguments[1]};
  if (arguments.size() == 3 && !absl::SimpleAtoi(arguments[2], &options.count.emplace())) {
    return std::nullopt;
  }
  return options;
}

// The address of the broker's management API: http://user:password@host:port.
std::string ManagementOf(const retryq::amqp::ConnectionOptions& broker) {
  if (const char* url = std::getenv("RETRYQ_MANAGEMENT_URL")) return url;
  return absl::StrCat("http://", PercentEncode(broker.user), ":", PercentEncode(broker.password),
                      "@", broker.endpoints[0].host, ":15672");
}

// Lines of stdin, as they come.
class LineReader {
 public:
  // `ended` is called at the end of the input, after which no line comes.
  LineReader(event_base* base, std::function<void(const std::string&)> line,
             std::function<void()> ended)
      : line_(std::move(line)),
        ended_(std::move(ended)),
        input_(evbuffer_new(), &evbuffer_free),
        readable_(
            event_new(
                base, STDIN_FILENO, EV_READ | EV_PERSIST,
                [](evutil_socket_t, short, void* self) { static_cast<LineReader*>(self)->Read(); },
                this),
            &event_free) {
    evutil_make_socket_nonblocking(STDIN_FILENO);
    event_add(readable_.get(), nullptr);
  }

 private:
  void Read() {
    if (evbuffer_read(input_.get(), STDIN_FILENO, -1) == 0) {
      event_del(readable_.get());
      ended_();
      return;
    }
    std::size_t size = 0;
    while (char* text = evbuffer_readln(input_.get(), &size, EVBUFFER_EOL_LF)) {
      const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
      line_(std::string(text, size));
    }
  }

  const std::function<void(const std::string&)> line_;
  const std::function<void()> ended_;
  const std::unique_ptr<evbuffer, decltype(&evbuffer_free)> input_;
  const std::unique_ptr<event, decltype(&event_free)> readable_;
};

// One line of a witness.
class Statement {
 public:
  explicit Statement(const std::string& line)
      : json_(nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false)) {}

  bool valid() const { return json_.is_object() && json_.contains("event"); }
  std::string Text(const char* name) const {
    const auto found = json_.find(name);
    return found != json_.end() && found->is_string() ? found->get<std::string>() : "";
  }
  std::int64_t Number(const char* name) const {
    const auto found = json_.find(name);
    return found != json_.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
  }
  absl::Time Time() const {
    absl::Time time;
    return absl::ParseTime(absl::RFC3339_full, Text("time"), &time, nullptr) ? time : absl::Now();
  }

 private:
  nlohmann::json json_;
};

// "503", "429 wait 3s", "nothing": a word of flaky_endpoint's plan, for people.
std::string AnswerText(const std::string& word) {
  if (word == "hang") return "nothing";
  if (word == "drop") return "hangs up";
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos) return word;
  return absl::StrCat(word.substr(0, colon), " wait ", word.substr(colon + 1), "s");
}

class Timeline {
 public:
  Timeline(retryq::EventLoop& loop, const Options& options, const std::string& management,
           const std::string& vhost)
      : loop_(loop),
        options_(options),
        screen_(std::max<std::size_t>(options.prefix.size() + 6, 12)),
        tally_(options.queue, options.queue + ".parked"),
        http_(loop),
        watch_(loop, http_, management, vhost,
               absl::StrCat("^(", options.queue, "|", options.prefix, "[.])"),
               [this](const absl::StatusOr<QueueInfos>& queues) { OnQueues(queues); }),
        input_(
            loop.base(), [this](const std::string& line) { OnLine(line); },
            [this] { loop_.Fail(absl::AbortedError("the witnesses left before the end")); }),
        deadline_(options.count ? loop.After(kLongest, [this] { Conclude(); }) : nullptr) {
    screen_.PrintHeader();
  }

 private:
  void OnLine(const std::string& line) {
    const Statement said(line);
    if (said.valid()) {
      OnStatement(said);
    } else {
      std::cerr << line << '\n';
    }
  }

  void OnStatement(const Statement& said) {
    const std::string event = said.Text("event");
    if (said.Text("id").empty()) {
      OnWorkerItself(event, said);
      return;
    }
    MessageStory& message = tally_.message(said.Text("id"));
    if (event == "sending") {
      message.sending = said.Time();
      screen_.Print({.time = message.sending,
                     .subject = said.Text("id"),
                     .what = absl::StrCat("sent; the endpoint will say ", said.Text("plan"))});
    } else if (event == "sent") {
      message.sent = true;
    } else if (event == "answered") {
      message.answers.push_back(AnswerText(said.Text("answer")));
    } else if (event != "delivered" && event != "failed") {  // what follows is its own event
      OnDecision(event, said, message);
    }
  }

  // What the worker decided about a message.
  void OnDecision(const std::string& event, const Statement& said, MessageStory& message) {
    const auto attempt = static_cast<std::size_t>(said.Number("attempt"));
    Row row{.time = said.Time(),
            .subject = said.Text("id"),
            .attempt = absl::StrCat(attempt + 1),
            .answer = attempt < message.answers.size() ? message.answers[attempt] : ""};
    if (event == "retried") {
      row.what = absl::StrCat("again in ", Short(absl::Milliseconds(said.Number("delay_ms"))),
                              ", waits in ", said.Text("delay_queue"));
      row.color = Color::kYellow;
    } else if (event == "acked" || event == "parked") {
      message.end = event == "acked" ? "handled" : "parked";
      message.ended = row.time;
      row.what = message.end;
      if (!said.Text("error").empty()) absl::StrAppend(&row.what, ": ", said.Text("error"));
      row.color = event == "acked" ? Color::kGreen : Color::kRed;
    } else {
      row.what = absl::StrCat(event, " ", said.Text("error"));
      row.color = Color::kRed;
    }
    screen_.Print(row);
  }

  // That a delay queue was declared or lapsed, the broker says itself.
  void OnWorkerItself(const std::string& event, const Statement& said) {
    if (event == "declared" || event == "renewed" || event == "lapsed") return;
    std::string what = event;
    for (const char* detail : {"queue", "delay_queue", "error"}) {
      if (const std::string text = said.Text(detail); !text.empty())
        absl::StrAppend(&what, " ", text);
    }
    const bool usual = event == "connected" || event == "consuming";
    screen_.Print({.time = said.Time(),
                   .subject = "worker",
                   .what = what,
                   .color = usual ? Color::kFaint : Color::kRed});
  }

  void OnQueues(const absl::StatusOr<QueueInfos>& queues) {
    const absl::Time now = absl::Now();
    if (!queues.ok()) {
      if (now - broker_answered_ < kWithoutManagement) return;
      loop_.Fail(absl::UnavailableError(absl::StrCat(
          "the broker's management API does not say which queues there are (is the plugin on? "
          "RETRYQ_MANAGEMENT_URL names its address): ",
          std::string(queues.status().message()))));
      return;
    }
    broker_answered_ = now;
    for (const Row& row : tally_.Update(*queues)) screen_.Print(row);
    const bool all_sent = options_.count && tally_.balance().sent >= *options_.count;
    if (all_sent && tally_.Verdict().ok()) Conclude();
  }

  void Conclude() {
    screen_.PrintLine("");
    tally_.Print(screen_);
    const absl::Status verdict = tally_.Verdict();
    verdict.ok() ? loop_.Stop() : loop_.Fail(verdict);
  }

  retryq::EventLoop& loop_;
  const Options& options_;
  const Screen screen_;
  Tally tally_;
  absl::Time broker_answered_ = absl::Now();
  HttpClient http_;
  QueueWatch watch_;
  LineReader input_;
  std::unique_ptr<retryq::Timer> deadline_;
};

int Fail(const absl::Status& status) {
  std::cerr << "timeline: " << status << '\n';
  return retryq::ExitCode(status);
}

int Main(int argc, char** argv) {
  const std::optional<Options> options = ParseOptions({argv + 1, argv + argc});
  if (!options) {
    return Fail(absl::InvalidArgumentError("usage: timeline QUEUE PREFIX [COUNT]"));
  }
  const char* url = std::getenv("RETRYQ_URL");
  const absl::StatusOr<retryq::amqp::ConnectionOptions> broker =
      retryq::amqp::ParseUri(url != nullptr ? url : "amqp://localhost");
  if (!broker.ok()) return Fail(broker.status());

  retryq::EventLoop loop;
  const Timeline timeline(loop, *options, ManagementOf(*broker), broker->vhost);
  const absl::Status end = loop.RunUntilSignal(absl::ZeroDuration());
  return end.ok() ? EXIT_SUCCESS : Fail(end);
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) { return examples::Main(argc, argv); }
