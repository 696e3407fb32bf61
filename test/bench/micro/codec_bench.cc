// The codec, ours and librabbitmq's, on what a retry sends and receives.

#include <amqp.h>
#include <amqp_framing.h>
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "amqp/codec/frame.h"
#include "amqp/codec/method_codec.h"
#include "amqp/codec/methods.h"
#include "amqp/codec/properties_codec.h"
#include "unit/amqp/librabbitmq.h"

namespace retryq::amqp {
namespace {

constexpr char kExchange[] = "retry.60000";
constexpr char kRoutingKey[] = "orders";

// As many as a retried message has.
Table Headers() {
  return {{"trace", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
          {"x-retry-count", std::int64_t{3}},
          {"x-retry-first-failure", std::int64_t{1700000000000}},
          {"x-retry-queue", "orders"},
          {"x-retry-exchange", "shop"},
          {"x-retry-routing-key", "order.placed"},
          {"x-retry-id", "4bf92f3577b34da6a3ce929d0e0e473600"},
          {"x-retry-delay", std::int64_t{60000}},
          {"x-retry-not-before", std::int64_t{1700000060000}},
          {"x-retry-error", "UNAVAILABLE: connection refused"}};
}

void EncodePublish(benchmark::State& state) {
  const std::string headers = Headers().Encode().value();
  const std::string body(256, 'x');
  const Properties properties = {
      .content_type = "application/json", .headers = TableView(headers), .delivery_mode = 2};
  std::string out;
  for (auto _ : state) {
    out.clear();
    AppendMethodFrame(
        1,
        method::BasicPublish{.exchange = kExchange, .routing_key = kRoutingKey, .mandatory = true},
        &out);
    AppendContentHeaderFrame(1, body.size(), properties, &out);
    AppendBodyFrames(1, body, 131072, &out);
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(EncodePublish);

// Without the heads and ends of the frames, and without the body, which it sends by itself.
void EncodePublishByLibrabbitmq(benchmark::State& state) {
  librabbitmq::Pool pool;
  const Table headers = Headers();
  amqp_basic_publish_t publish = {};
  publish.exchange = librabbitmq::ToTheirs(kExchange);
  publish.routing_key = librabbitmq::ToTheirs(kRoutingKey);
  publish.mandatory = 1;
  amqp_basic_properties_t properties = {};
  properties._flags =
      AMQP_BASIC_CONTENT_TYPE_FLAG | AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.content_type = librabbitmq::ToTheirs("application/json");
  properties.headers = librabbitmq::ToTheirs(headers, &pool);
  properties.delivery_mode = 2;
  std::array<char, 4096> out;
  for (auto _ : state) {
    const int method =
        amqp_encode_method(AMQP_BASIC_PUBLISH_METHOD, &publish, {out.size(), out.data()});
    const int header =
        amqp_encode_properties(AMQP_BASIC_CLASS, &properties, {out.size() - 512, out.data() + 512});
    if (method < 0 || header < 0) state.SkipWithError("librabbitmq cannot encode it");
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(EncodePublishByLibrabbitmq);

std::string DeliverPayload() {
  std::string payload;
  AppendMethod(method::BasicDeliver{.consumer_tag = "retryq.host.worker.1234",
                                    .delivery_tag = 42,
                                    .exchange = "shop",
                                    .routing_key = "order.placed"},
               &payload);
  return payload;
}

void DecodeDeliver(benchmark::State& state) {
  const std::string payload = DeliverPayload();
  for (auto _ : state) benchmark::DoNotOptimize(DecodeServerMethod(payload));
}
BENCHMARK(DecodeDeliver);

void DecodeDeliverByLibrabbitmq(benchmark::State& state) {
  std::string payload = DeliverPayload();
  // Its number is decoded by the frame's reader.
  const amqp_bytes_t fields = {payload.size() - 4, payload.data() + 4};
  librabbitmq::Pool pool;
  for (auto _ : state) {
    void* decoded = nullptr;
    if (amqp_decode_method(AMQP_BASIC_DELIVER_METHOD, pool.get(), fields, &decoded) < 0) {
      state.SkipWithError("librabbitmq cannot decode it");
    }
    benchmark::DoNotOptimize(decoded);
    recycle_amqp_pool(pool.get());
  }
}
BENCHMARK(DecodeDeliverByLibrabbitmq);

std::string HeaderPayload() {
  const std::string headers = Headers().Encode().value();
  std::string payload;
  AppendContentHeader(
      256, {.content_type = "application/json", .headers = TableView(headers), .delivery_mode = 2},
      &payload);
  return payload;
}

// Checks the lengths of the headers, and leaves them as bytes.
void DecodeHeader(benchmark::State& state) {
  const std::string payload = HeaderPayload();
  for (auto _ : state) benchmark::DoNotOptimize(DecodeContentHeader(payload));
}
BENCHMARK(DecodeHeader);

// Decodes them all: there is no other way.
void DecodeHeaderByLibrabbitmq(benchmark::State& state) {
  std::string payload = HeaderPayload();
  // Class, weight and body size are decoded by the frame's reader.
  const amqp_bytes_t fields = {payload.size() - 12, payload.data() + 12};
  librabbitmq::Pool pool;
  for (auto _ : state) {
    void* decoded = nullptr;
    if (amqp_decode_properties(AMQP_BASIC_CLASS, pool.get(), fields, &decoded) < 0) {
      state.SkipWithError("librabbitmq cannot decode it");
    }
    benchmark::DoNotOptimize(decoded);
    recycle_amqp_pool(pool.get());
  }
}
BENCHMARK(DecodeHeaderByLibrabbitmq);

}  // namespace
}  // namespace retryq::amqp
