// `retryq work --otlp` and `retryq send --otlp`, with a collector in this process.

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <netinet/in.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "integration/command_run.h"
#include "support/test.h"

namespace retryq::testing::command_otlp_test {

using Json = nlohmann::json;

constexpr char kPublisher[] = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";

// Accepts OTLP as JSON, on the thread of the test.
class Collector {
 public:
  Collector() {
    if (socket_ == nullptr) throw std::runtime_error("no port to listen on");
    const auto take = [](evhttp_request* request, void* self) {
      static_cast<Collector*>(self)->Take(request);
    };
    evhttp_set_gencb(http_.get(), take, this);
  }

  std::string Url() const {
    sockaddr_in address = {};
    socklen_t size = sizeof(address);
    getsockname(evhttp_bound_socket_get_fd(socket_), reinterpret_cast<sockaddr*>(&address), &size);
    return "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }

  // Replies to the requests that have arrived. Returns whether they had this number of spans.
  bool Has(std::size_t spans) {
    event_base_loop(base_.get(), EVLOOP_NONBLOCK);
    return spans_.size() >= spans;
  }

  const Json& span(std::size_t i) const { return spans_.at(i); }
  const std::string& request() const { return request_; }  // the last one
  std::string resource() const { return resource_.dump(); }

 private:
  void Take(evhttp_request* request) {
    request_ = std::string(evhttp_request_get_uri(request)) + " " +
               evhttp_find_header(evhttp_request_get_input_headers(request), "Content-Type");
    evbuffer* const input = evhttp_request_get_input_buffer(request);
    std::string body(evbuffer_get_length(input), '\0');
    evbuffer_remove(input, body.data(), body.size());
    const Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
    if (json.is_object()) {
      for (const Json& resource : json.at("resourceSpans")) {
        resource_ = resource.at("resource");
        for (const Json& scope : resource.at("scopeSpans")) {
          for (const Json& span : scope.at("spans")) spans_.push_back(span);
        }
      }
    }
    evhttp_send_reply(request, HTTP_OK, "OK", nullptr);
  }

  const std::unique_ptr<event_base, decltype(&event_base_free)> base_{event_base_new(),
                                                                      event_base_free};
  const std::unique_ptr<evhttp, decltype(&evhttp_free)> http_{evhttp_new(base_.get()), evhttp_free};
  evhttp_bound_socket* const socket_ = evhttp_bind_socket_with_handle(http_.get(), "127.0.0.1", 0);
  std::string request_;
  std::vector<Json> spans_;
  Json resource_;
};

// The `traceparent` of a span or a link.
std::string ContextOf(const Json& span) {
  return "00-" + span.at("traceId").get<std::string>() + "-" +
         span.at("spanId").get<std::string>() + "-01";
}

std::vector<std::string> LinksOf(const Json& span) {
  std::vector<std::string> links;
  for (const Json& link : span.at("links")) links.push_back(ContextOf(link));
  return links;
}

class CommandOtlp : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    ::setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", 1);
  }
  void TearDown() override {
    for (const char* name : {"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TIMEOUT",
                             "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"}) {
      ::unsetenv(name);
    }
  }

  // Runs `retryq send --otlp ARGUMENTS` until it has exited and sent this number of spans.
  void Send(Arguments arguments, const std::string& input, std::size_t spans) {
    arguments.insert(arguments.begin(), {"send", "--otlp", collector_.Url()});
    CommandRun run(arguments, vhost_.Url(), input);
    const auto has_ended = [&] {
      return collector_.Has(spans) && run.Wait(absl::ZeroDuration()).has_value();
    };
    ASSERT_TRUE(CommandRun::WaitUntil(has_ended, absl::Seconds(30))) << run.Story();
    EXPECT_EQ(run.Wait(), 0) << run.Story();
    EXPECT_EQ(run.err(), "");
  }

  void PublishTraced() {
    const std::string headers =
        amqp::Table{{"traceparent", kPublisher}, {"tracestate", "vendor=1"}}.Encode().value();
    peer_.Publish("", "orders", "an order", {.headers = amqp::TableView(headers)});
  }

  // Both attempts of the message of PublishTraced, of which the command `contexts` knew.
  void ExpectTwoAttempts(const std::string& contexts) {
    const Json& first = collector_.span(0);
    const Json& second = collector_.span(1);
    EXPECT_EQ(first.at("name"), "process orders");
    EXPECT_EQ(first.at("kind"), 5);  // CONSUMER
    EXPECT_THAT(LinksOf(first), ElementsAre(kPublisher));
    EXPECT_THAT(LinksOf(second), ElementsAre(kPublisher, ContextOf(first)));
    EXPECT_NE(ContextOf(first), ContextOf(second));
    EXPECT_EQ(contexts, ContextOf(first) + " .\n" + ContextOf(second) + " .\n");
  }

  Collector collector_;
};

TEST_F(CommandOtlp, SendsASpanOfAPublish) {
  Send({"--queue", "orders", "an order"}, "", 1);
  const Json& span = collector_.span(0);
  EXPECT_EQ(collector_.request(), "/v1/traces application/json");
  EXPECT_EQ(span.at("name"), "publish orders");
  EXPECT_EQ(span.at("kind"), 4);  // PRODUCER
  EXPECT_THAT(collector_.resource(), HasSubstr(R"("retryq")"));
  EXPECT_EQ(peer_.Get("orders")->properties.headers->FindString("traceparent"), ContextOf(span));
}

TEST_F(CommandOtlp, SendsASpanOfEachLineInTheNameOfTheEnvironment) {
  ::setenv("OTEL_SERVICE_NAME", "shop", 1);
  ::setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test", 1);
  Send({"--lines", "--queue", "orders"}, "{\"body\":\"a\"}\n{\"body\":\"b\"}\n", 2);
  EXPECT_THAT(collector_.resource(), HasSubstr(R"("shop")"));
  EXPECT_THAT(collector_.resource(), HasSubstr(R"("deployment.environment")"));
  EXPECT_NE(collector_.span(0).at("traceId"), collector_.span(1).at("traceId"));
}

TEST_F(CommandOtlp, SendsProtobufUnlessTheEnvironmentAsksForJson) {
  ::unsetenv("OTEL_EXPORTER_OTLP_PROTOCOL");
  Send({"--queue", "orders", "an order"}, "", 0);
  EXPECT_EQ(collector_.request(), "/v1/traces application/x-protobuf");
}

TEST_F(CommandOtlp, GivesACommandTheContextOfItsAttempt) {
  PublishTraced();
  CommandRun run =
      Work({"--otlp", collector_.Url()}, "echo \"$TRACEPARENT $TRACESTATE.\" >>" +
                                             File("contexts") + "; test $RETRYQ_ATTEMPT = 1");
  ASSERT_TRUE(run.Until([&] { return collector_.Has(2); }));
  ASSERT_TRUE(run.Stop());
  ExpectTwoAttempts(files_.Read("contexts"));
  EXPECT_EQ(run.events("acked").front().at("trace_id"), "0123456789abcdef0123456789abcdef");
  EXPECT_TRUE(run.events("spans_lost").empty());
}

TEST_F(CommandOtlp, GivesAProgramTheContextOfEachAttempt) {
  PublishTraced();
  CommandRun run = Work({"--otlp", collector_.Url(), "--lines"},
                        "read -r a; echo \"$a\" >>" + File("lines") +
                            R"(; echo '{"id":1,"error":"busy"}'; read -r b; echo "$b" >>)" +
                            File("lines") + R"(; echo '{"id":2,"ok":true}'; read -r end)");
  ASSERT_TRUE(run.Until([&] { return collector_.Has(2); }));
  ASSERT_TRUE(run.Stop());
  std::string contexts;
  std::istringstream lines(files_.Read("lines"));
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    contexts += json.at("traceparent").get<std::string>() + " " +
                json.at("tracestate").get<std::string>() + ".\n";
  }
  ExpectTwoAttempts(contexts);
}

TEST_F(CommandOtlp, StopsThoughTheCollectorDoesNotReply) {
  ::setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "120s", 1);
  CommandRun run = Work({"--otlp", collector_.Url()}, "true");
  Publish("an order");
  ASSERT_TRUE(run.Says("acked"));
  run.Signal(SIGTERM);
  EXPECT_EQ(run.Wait(absl::Seconds(30)), 0) << run.Story();
  ASSERT_EQ(run.events("spans_lost").size(), 1U) << run.Story();
  EXPECT_THAT(run.events("spans_lost").front().at("error").get<std::string>(),
              HasSubstr(collector_.Url() + "/v1/traces may be lost: no reply"));
}

TEST_F(CommandOtlp, ReportsOnceThatThereIsNoCollector) {
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += "{\"body\":\"an order\"}\n";
  // Nothing listens on port 1.
  const End end = RunToEnd({"send", "--otlp", "http://127.0.0.1:1", "--lines", "--queue", "orders"},
                           vhost_.Url(), lines);
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.err,
              HasSubstr("retryq send: spans to http://127.0.0.1:1/v1/traces may be lost: "));
  EXPECT_EQ(std::count(end.err.begin(), end.err.end(), '\n'), 1) << end.err;
  EXPECT_EQ(std::count(end.out.begin(), end.out.end(), '\n'), 2000);
}

}  // namespace retryq::testing::command_otlp_test
