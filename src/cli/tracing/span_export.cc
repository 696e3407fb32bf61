#include "cli/tracing/span_export.h"

#include <curl/curl.h>

#include <utility>

#include "absl/strings/str_cat.h"

#ifdef RETRYQ_OTLP
#include <opentelemetry/exporters/otlp/otlp_http_exporter_factory.h>
#include <opentelemetry/exporters/otlp/otlp_http_exporter_options.h>
#include <opentelemetry/sdk/common/global_log_handler.h>
#include <opentelemetry/sdk/resource/resource.h>
#include <opentelemetry/sdk/resource/resource_detector.h>
#include <opentelemetry/sdk/trace/batch_span_processor_factory.h>
#include <opentelemetry/sdk/trace/batch_span_processor_options.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>

#include <chrono>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "base/escaped_text.h"
#include "retryq/opentelemetry.h"
#endif

namespace retryq::cli {
namespace {

// Returns a part of the URL; empty if it has none.
std::string PartOf(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (::curl_url_get(url, part, &text, 0) != CURLUE_OK) return "";
  const std::unique_ptr<char, decltype(&::curl_free)> owned(text, ::curl_free);
  return text;
}

// Returns the URL to which spans are sent: `text`, with the path /v1/traces if it has none. Returns
// kInvalidArgument with the remedy for anything but http and https URLs.
absl::StatusOr<std::string> ParseOtlpUrl(const std::string& text) {
  const std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)> url(::curl_url(), ::curl_url_cleanup);
  const bool is_url = ::curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) == CURLUE_OK;
  const std::string scheme = PartOf(url.get(), CURLUPART_SCHEME);
  if (!is_url || (scheme != "http" && scheme != "https") ||
      text.find_first_of("?#") != std::string::npos) {
    return absl::InvalidArgumentError(
        "write the URL of a collector's OTLP receiver for HTTP, such as http://localhost:4318");
  }
  if (text.find('@') != std::string::npos) {
    return absl::InvalidArgumentError(
        "must contain no user and no password; set OTEL_EXPORTER_OTLP_HEADERS instead");
  }
  if (PartOf(url.get(), CURLUPART_PATH) == "/") {
    ::curl_url_set(url.get(), CURLUPART_PATH, "/v1/traces", 0);
  }
  return PartOf(url.get(), CURLUPART_URL);
}

}  // namespace

void AddOtlpFlag(FlagParser& parser, const std::string& help, std::string* url) {
  parser.Add("--otlp", "URL", url, help);
  parser.Resolve([url](FlagReader& reader) {
    if (url->empty()) return;
    absl::StatusOr<std::string> parsed = ParseOtlpUrl(*url);
    if (parsed.ok()) {
      *url = *std::move(parsed);
    } else {  // without the URL, which may contain a password
      reader.Complain(absl::StrCat("--otlp: ", std::string(parsed.status().message())));
    }
  });
}

#ifdef RETRYQ_OTLP

namespace otel = opentelemetry;

class SpanExport::Pipeline {
 public:
  Pipeline(EventLoop& loop, const std::string& url, Say say)
      : loop_(loop), url_(url), say_(std::move(say)) {
    troubles_->executor = loop.executor();
    troubles_->on_first = [this] { Report(); };
    // Must come before any other call of the SDK, whose own handler writes to stdout.
    using otel::sdk::common::internal_log::GlobalLogHandler;
    GlobalLogHandler::SetLogHandler(
        otel::nostd::shared_ptr<otel::sdk::common::internal_log::LogHandler>(
            new LogHandler(troubles_)));
    otel::exporter::otlp::OtlpHttpExporterOptions options;
    options.url = url;
    // The shutdown of the SDK may miss a wake-up, and then lasts this long.
    otel::sdk::trace::BatchSpanProcessorOptions batches;
    batches.schedule_delay_millis = std::chrono::seconds(1);
    // A service name in the environment takes precedence.
    const auto resource = otel::sdk::resource::Resource::Create({{"service.name", "retryq"}})
                              .Merge(otel::sdk::resource::OTELResourceDetector().Detect());
    provider_ = otel::sdk::trace::TracerProviderFactory::Create(
        otel::sdk::trace::BatchSpanProcessorFactory::Create(
            otel::exporter::otlp::OtlpHttpExporterFactory::Create(options), batches),
        resource);
    tracer_.emplace(provider_->GetTracer("retryq", RETRYQ_VERSION));
  }

  ~Pipeline() {
    Finish();
    Report();
    troubles_->on_first = nullptr;
  }

  Tracer& tracer() { return *tracer_; }

 private:
  // Of the SDK, on any thread. Outlives the pipeline if a thread is abandoned.
  struct Troubles {
    // Keeps the first message since the last report, because it contains the cause. Returns whether
    // this message is the first.
    bool Keep(const std::string& message) {
      const std::lock_guard lock(mutex);
      if (!first.empty()) return false;
      first = message;
      return true;
    }
    std::string Take() {
      const std::lock_guard lock(mutex);
      return std::exchange(first, {});
    }

    std::shared_ptr<Executor> executor;
    std::function<void()> on_first;  // null after the shutdown; used on the loop's thread only
    std::mutex mutex;
    std::string first;  // guarded by mutex
  };

  class LogHandler final : public otel::sdk::common::internal_log::LogHandler {
   public:
    explicit LogHandler(std::shared_ptr<Troubles> troubles) : troubles_(std::move(troubles)) {}

    void Handle(otel::sdk::common::internal_log::LogLevel /*level*/, const char* /*file*/,
                int /*line*/, const char* message,
                const otel::sdk::common::AttributeMap& /*attributes*/) noexcept override {
      if (!troubles_->Keep(Printable(message))) return;
      troubles_->executor->Post([troubles = troubles_] {
        if (troubles->on_first != nullptr) troubles->on_first();
      });
    }

   private:
    const std::shared_ptr<Troubles> troubles_;
  };

  void Report() {
    if (timer_ != nullptr) return;
    const std::string why = troubles_->Take();
    if (why.empty()) return;
    say_(absl::StrCat("spans to ", url_, " may be lost: ", why));
    timer_ = loop_.After(kReportEvery, [this] {
      const std::unique_ptr<Timer> fired = std::move(timer_);
      Report();
    });
  }

  // Sends the remaining spans on a thread, which is abandoned if it takes too long: neither a
  // request nor the lookup of a name can be cancelled.
  void Finish() {
    std::packaged_task<void()> task([provider = provider_.release()] { delete provider; });
    const std::future<void> done = task.get_future();
    try {
      std::thread(std::move(task)).detach();
    } catch (const std::system_error&) {
      // The remaining spans are lost, rather than sent on this thread, which could take long.
    }
    if (done.wait_for(absl::ToChronoMicroseconds(kPatience)) != std::future_status::ready) {
      troubles_->Keep("no reply");
    }
  }

  EventLoop& loop_;
  const std::string url_;
  const Say say_;
  const std::shared_ptr<Troubles> troubles_ = std::make_shared<Troubles>();
  std::unique_ptr<otel::sdk::trace::TracerProvider> provider_;
  std::optional<OpenTelemetryTracer> tracer_;
  std::unique_ptr<Timer> timer_;  // until the next report
};

SpanExport::SpanExport(EventLoop& loop, const std::string& url, Say say) {
  if (url.empty()) return;
  try {
    pipeline_ = std::make_unique<Pipeline>(loop, url, std::move(say));
  } catch (const std::system_error& error) {
    status_ = absl::ResourceExhaustedError(absl::StrCat("--otlp: no thread: ", error.what()));
  }
}

Tracer* SpanExport::tracer() const { return pipeline_ == nullptr ? nullptr : &pipeline_->tracer(); }

std::string AttemptTraceparent(const Delivery& delivery) { return TraceparentOf(delivery); }

#else

class SpanExport::Pipeline {};

SpanExport::SpanExport(EventLoop& /*loop*/, const std::string& url, Say /*say*/) {
  if (url.empty()) return;
  status_ = absl::InvalidArgumentError(
      "--otlp: this retryq was built without opentelemetry-cpp; install it (third_party/install "
      "--tracing) and build retryq again");
}

Tracer* SpanExport::tracer() const { return nullptr; }

std::string AttemptTraceparent(const Delivery& /*delivery*/) { return ""; }

#endif

SpanExport::~SpanExport() = default;

}  // namespace retryq::cli
