#include "opentelemetry/exporters/memory/in_memory_span_data.h"
#include "opentelemetry/exporters/memory/in_memory_span_exporter_factory.h"
#include "opentelemetry/sdk/trace/simple_processor_factory.h"
#include "opentelemetry/sdk/trace/tracer_provider.h"
#include "opentelemetry/sdk/trace/tracer_provider_factory.h"
#include "retryq/client.h"
#include "retryq/opentelemetry.h"
#include "retryq/testing/delivery.h"
#include "retryq/testing/seeded_random.h"
#include "retryq/testing/simulated_broker.h"
#include "retryq/testing/simulated_rabbitmq.h"
#include "retryq/testing/simulated_time.h"
#include "support/test.h"

// The spans of a client, received by an exporter in memory.

namespace retryq::opentelemetry_tracer_test {

namespace otel = opentelemetry;
using otel::trace::SpanKind;
using otel::trace::StatusCode;
using Span = otel::sdk::trace::SpanData;

constexpr char kPublisher[] = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";

class OpenTelemetry : public ::testing::Test {
 protected:
  OpenTelemetry() {
    provider_ = otel::sdk::trace::TracerProviderFactory::Create(
        otel::sdk::trace::SimpleSpanProcessorFactory::Create(
            otel::exporter::memory::InMemorySpanExporterFactory::Create(exported_)));
    tracer_.emplace(provider_->GetTracer("test"));
    rabbit_.DeclareQueue("orders");
    Environment environment = testing::EnvironmentOf(time_, random_);
    environment.tracer = &*tracer_;
    client_.emplace(std::move(environment), broker_, ClientOptions{},
                    [](const absl::Status& fatal) { ADD_FAILURE() << fatal; });
    time_.Advance(absl::Seconds(1));
  }

  template <typename SomeHandler>
  void Consume(SomeHandler handler, ConsumerOptions options = {}) {
    options.queue = "orders";
    consumer_ = client_->Consume(std::move(options), std::move(handler)).value();
    time_.Advance(absl::Seconds(1));
  }
  void Publish(const amqp::Table& headers = {}) {
    const std::string encoded = headers.Encode().value();
    amqp::Properties properties{.correlation_id = "c-1", .message_id = "m-1"};
    properties.headers = amqp::TableView(encoded);
    ASSERT_TRUE(rabbit_.Publish("", "orders", properties, "paper"));
    time_.Advance(absl::Minutes(10));
  }

  // Those that have ended since the last call.
  std::vector<std::unique_ptr<Span>> Spans() { return exported_->GetSpans(); }

  static std::string Name(const Span& span) { return std::string(span.GetName()); }
  static std::string Text(const Span& span, const std::string& key) {
    const auto found = span.GetAttributes().find(key);
    if (found == span.GetAttributes().end()) return "";
    const auto* const text = otel::nostd::get_if<std::string>(&found->second);
    return text == nullptr ? "not a text" : *text;
  }
  static std::int64_t Number(const Span& span, const std::string& key) {
    const auto found = span.GetAttributes().find(key);
    if (found == span.GetAttributes().end()) return -1;
    const auto* const number = otel::nostd::get_if<std::int64_t>(&found->second);
    return number == nullptr ? -2 : *number;
  }
  static std::string Hex(const otel::trace::SpanContext& context) {
    char trace[32];
    char span[16];
    context.trace_id().ToLowerBase16(trace);
    context.span_id().ToLowerBase16(span);
    return "00-" + std::string(trace, 32) + "-" + std::string(span, 16) + "-01";
  }
  static std::string Hex(const Span& span) { return Hex(span.GetSpanContext()); }
  static std::vector<std::string> Links(const Span& span) {
    std::vector<std::string> links;
    for (const auto& link : span.GetLinks()) links.push_back(Hex(link.GetSpanContext()));
    return links;
  }

  std::shared_ptr<otel::exporter::memory::InMemorySpanData> exported_;
  std::unique_ptr<otel::sdk::trace::TracerProvider> provider_;
  std::optional<OpenTelemetryTracer> tracer_;
  testing::SimulatedTime time_;
  testing::SeededRandom random_;
  testing::SimulatedRabbitMq rabbit_{time_, random_};
  testing::SimulatedBroker broker_{rabbit_};
  std::optional<Client> client_;
  std::optional<Consumer> consumer_;
};

TEST_F(OpenTelemetry, LinksEachAttemptToThePublishAndToTheAttemptBefore) {
  std::vector<std::string> publishers;
  Consume([&](const Delivery& delivery) {
    publishers.emplace_back(delivery.headers().FindString("traceparent").value_or(""));
    return delivery.attempt() < 2 ? absl::UnavailableError("down") : absl::OkStatus();
  });
  Publish({{"traceparent", kPublisher}, {"tracestate", "vendor=1"}});
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 3U);
  EXPECT_THAT(Links(*spans[0]), ElementsAre(kPublisher));
  EXPECT_THAT(Links(*spans[1]), ElementsAre(kPublisher, Hex(*spans[0])));
  EXPECT_THAT(Links(*spans[2]), ElementsAre(kPublisher, Hex(*spans[1])));
  EXPECT_EQ(spans[0]->GetLinks()[0].GetSpanContext().trace_state()->ToHeader(), "vendor=1");
  EXPECT_THAT(publishers, ElementsAre(kPublisher, kPublisher, kPublisher));
}

TEST_F(OpenTelemetry, NamesAttemptsByTheConventions) {
  Consume([](const Delivery& delivery) {
    return delivery.attempt() == 0 ? absl::UnavailableError("down") : absl::OkStatus();
  });
  Publish();
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 2U);
  const Span& failed = *spans[0];
  EXPECT_EQ(Name(failed), "process orders");
  EXPECT_EQ(failed.GetSpanKind(), SpanKind::kConsumer);
  EXPECT_EQ(Text(failed, "messaging.system"), "rabbitmq");
  EXPECT_EQ(Text(failed, "messaging.operation.name"), "process");
  EXPECT_EQ(Text(failed, "messaging.operation.type"), "process");
  EXPECT_EQ(Text(failed, "messaging.destination.name"), "orders");
  EXPECT_EQ(Text(failed, "messaging.rabbitmq.destination.routing_key"), "orders");
  EXPECT_EQ(Number(failed, "messaging.rabbitmq.message.delivery_tag"), 1);
  EXPECT_EQ(Text(failed, "messaging.message.id"), "m-1");
  EXPECT_EQ(Text(failed, "messaging.message.conversation_id"), "c-1");
  EXPECT_EQ(Number(failed, "messaging.message.body.size"), 5);
  EXPECT_EQ(Number(failed, "retryq.attempt"), 0);
  EXPECT_EQ(Text(failed, "retryq.outcome"), "retried");
  EXPECT_GT(Number(failed, "retryq.delay_ms"), 0);
  EXPECT_EQ(Text(failed, "error.type"), "UNAVAILABLE");
  EXPECT_EQ(failed.GetStatus(), StatusCode::kError);
  EXPECT_EQ(std::string(failed.GetDescription()), "UNAVAILABLE: down");
  const Span& succeeded = *spans[1];
  EXPECT_EQ(Number(succeeded, "retryq.attempt"), 1);
  EXPECT_EQ(Text(succeeded, "retryq.outcome"), "acked");
  EXPECT_EQ(Text(succeeded, "error.type"), "");
  EXPECT_EQ(succeeded.GetStatus(), StatusCode::kUnset);
  EXPECT_EQ(Text(succeeded, "retryq.id"), "m-1");
}

TEST_F(OpenTelemetry, NamesADestinationByExchangeRoutingKeyAndQueue) {
  rabbit_.DeclareExchange("shop", "topic");
  rabbit_.Bind("shop", "orders", "order.#");
  Consume([](const Delivery&) { return Outcome::Ok(); });
  client_->Publish({.exchange = "shop", .routing_key = "order.new"});
  time_.Advance(absl::Seconds(1));
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 2U);
  for (const auto& span : spans) {
    const bool is_publish = span->GetSpanKind() == SpanKind::kProducer;
    EXPECT_EQ(Name(*span), is_publish ? "publish shop" : "process orders");
    EXPECT_EQ(Text(*span, "messaging.destination.name"),
              is_publish ? "shop:order.new" : "shop:order.new:orders");
    EXPECT_EQ(Text(*span, "messaging.operation.type"), is_publish ? "send" : "process");
  }
}

TEST_F(OpenTelemetry, PutsTheContextOfAPublishIntoItsMessage) {
  Consume([](const Delivery&) { return Outcome::Ok(); });
  client_->Publish({.routing_key = "orders"}, {.delay = absl::Seconds(7)}, nullptr);
  time_.Advance(absl::Minutes(1));
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(Name(*spans[0]), "publish orders");
  EXPECT_EQ(Number(*spans[0], "retryq.delay_ms"), 7000);
  EXPECT_EQ(spans[0]->GetStatus(), StatusCode::kUnset);
  EXPECT_THAT(Links(*spans[1]), ElementsAre(Hex(*spans[0])));
}

TEST_F(OpenTelemetry, KeepsTheContextThatAMessageHas) {
  client_->Publish({.routing_key = "orders", .headers = {{"traceparent", kPublisher}}});
  time_.Advance(absl::Seconds(1));
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_THAT(Links(*spans[0]), ElementsAre(kPublisher));
  const auto messages = rabbit_.Messages("orders");
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0]->properties.headers->FindString("traceparent"), kPublisher);
}

TEST_F(OpenTelemetry, ReportsAFailedPublish) {
  client_->Publish({.routing_key = "nowhere"});
  time_.Advance(absl::Seconds(1));
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0]->GetStatus(), StatusCode::kError);
  EXPECT_EQ(Text(*spans[0], "error.type"), "NOT_FOUND");
}

// The active span while the handler runs is that of its attempt.
TEST_F(OpenTelemetry, IsTheParentOfPublishesOfAHandler) {
  Consume([&](const Delivery& delivery) {
    EXPECT_EQ(otel::trace::Tracer::GetCurrentSpan()->GetContext(), SpanOf(delivery)->GetContext());
    EXPECT_EQ(TraceparentOf(delivery), Hex(SpanOf(delivery)->GetContext()));
    client_->Publish({.routing_key = "orders.parked"});
    return Outcome::Ok();
  });
  Publish();
  EXPECT_FALSE(otel::trace::Tracer::GetCurrentSpan()->GetContext().IsValid());
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 2U);
  const bool is_first = spans[0]->GetSpanKind() == SpanKind::kProducer;
  const Span& published = is_first ? *spans[0] : *spans[1];
  const Span& handled = is_first ? *spans[1] : *spans[0];
  EXPECT_EQ(published.GetParentSpanId(), handled.GetSpanId());
}

TEST_F(OpenTelemetry, IsTheParentOfPublishesOfAThread) {
  Consume(
      [&](const Delivery&) {
        return Outcome(client_->publisher().PublishAndWait({.routing_key = "orders.parked"}));
      },
      {.handler_threads = 1});
  Publish();
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0]->GetSpanKind(), SpanKind::kProducer);
  EXPECT_EQ(spans[0]->GetParentSpanId(), spans[1]->GetSpanId());
}

TEST_F(OpenTelemetry, EndsAnAttemptThatIsAbandoned) {
  std::optional<Settlement> open;
  Consume([&](Delivery, Settlement settlement) { open.emplace(std::move(settlement)); });
  Publish();
  EXPECT_THAT(Spans(), IsEmpty());
  consumer_.reset();
  time_.Advance(absl::Seconds(1));
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(Text(*spans[0], "retryq.outcome"), "abandoned");
}

TEST_F(OpenTelemetry, DoesNotFailForAMessageThatTheHandlerDiscards) {
  Consume([](const Delivery&) { return Outcome::Discard("stale"); });
  Publish();
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(Text(*spans[0], "retryq.outcome"), "discarded");
  EXPECT_EQ(spans[0]->GetStatus(), StatusCode::kUnset);
}

// An exporter refuses a batch with a text that is not UTF-8.
TEST_F(OpenTelemetry, ConvertsTextsToUtf8) {
  Consume([](const Delivery&) { return Outcome::Park(absl::InvalidArgumentError("a\xff")); });
  Publish();
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(std::string(spans[0]->GetDescription()), "INVALID_ARGUMENT: a\xEF\xBF\xBD");
}

TEST_F(OpenTelemetry, IgnoresAContextThatIsNotValid) {
  Consume([](const Delivery&) { return Outcome::Ok(); });
  Publish({{"traceparent", "rubbish"}, {"x-retry-traceparent", kPublisher}});
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_THAT(Links(*spans[0]), IsEmpty());  // the second one is an application's
}

TEST_F(OpenTelemetry, DoesNotReadAStateThatIsTooLong) {
  Consume([](const Delivery&) { return Outcome::Ok(); });
  std::string state;  // of at most 32 members, which the parser would accept
  for (char key = 'a'; key < 'l'; ++key) {
    state += std::string(1, key) + '=' + std::string(200, 'v') + ',';
  }
  state.pop_back();
  Publish({{"traceparent", kPublisher}, {"tracestate", state}});
  const auto spans = Spans();
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_THAT(Links(*spans[0]), ElementsAre(kPublisher));
  EXPECT_EQ(spans[0]->GetLinks()[0].GetSpanContext().trace_state()->ToHeader(), "");
}

TEST(SpanOf, IsInvalidWithoutATracer) {
  const Delivery delivery = testing::MakeDelivery();
  EXPECT_FALSE(SpanOf(delivery)->GetContext().IsValid());
  EXPECT_EQ(TraceparentOf(delivery), "");
}

}  // namespace retryq::opentelemetry_tracer_test
