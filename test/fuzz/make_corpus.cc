#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "amqp/codec/frame.h"
#include "amqp/codec/method_codec.h"
#include "amqp/codec/properties_codec.h"
#include "retryq/amqp/table.h"
#include "unit/amqp/hostile/open_violations.h"

// Writes the initial inputs of the fuzzers, one directory per target: usage make_corpus DIRECTORY
using namespace retryq::amqp;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kLargestSeed = 300;

std::filesystem::path root;

void Write(const std::string& target, const std::string& name, std::string_view bytes) {
  if (bytes.empty() || bytes.size() > kLargestSeed) return;
  const std::filesystem::path directory = root / target;
  std::filesystem::create_directories(directory);
  std::ofstream(directory / name, std::ios::binary) << bytes;
}

// ---- tables

std::string Encode(const Value& value) { return Table{{"x", value}}.Encode().value(); }

void WriteTables() {
  const std::vector<std::pair<std::string, Value>> kinds = {
      {"void", Value()},
      {"bool", true},
      {"int8", std::int8_t{-1}},
      {"uint8", std::uint8_t{255}},
      {"int16", std::int16_t{-2}},
      {"uint16", std::uint16_t{65535}},
      {"int32", std::int32_t{-3}},
      {"uint32", std::uint32_t{4294967295}},
      {"int64", std::int64_t{-4}},
      {"uint64", ~std::uint64_t{0}},
      {"float", 1.5F},
      {"double", -2.5},
      {"decimal", Decimal{.scale = 2, .unscaled = -314}},
      {"timestamp", Timestamp{1700000000}},
      {"string", "text"},
      {"bytes", Bytes{std::string("\0\xff", 2)}},
      {"array", Array{Value(1), Value("two"), Value(Array{})}},
      {"table", Table{{"inner", Table{{"innermost", true}}}}},
  };
  Table all;
  for (const auto& [name, value] : kinds) {
    Write("table", name, Encode(value));
    all.Append(name, value);
  }
  Write("table", "all", all.Encode().value());
  Write("table", "nested_33_levels", hostile::NestedTable(33));
  Write("table", "nested_and_followed", hostile::NestedTable(25, true));
  Write("table", "the_same_name_twice", FromHex("0161 74 01 0161 74 00"));
  Write("table", "no_name", FromHex("00 56"));
  Write("table", "a_length_that_lies", FromHex("0161 53 00000009 78"));
  Write("table", "a_nested_length_that_lies", FromHex("0161 46 00000007 0162 53 00000009"));
  Write("table", "a_type_that_does_not_exist", FromHex("0161 7a 78"));
}

// ---- methods

template <typename... Methods>
void WriteMethods(std::type_identity<std::variant<Methods...>>) {
  (Write("method", Methods::kId.name, hostile::Payload(Methods())), ...);
}

// ---- frames, and what is in them

// The frames at the beginning of `bytes`.
template <typename Visit>
void ForEachFrame(std::string_view bytes, const Visit& visit) {
  while (true) {
    const auto frame = NextFrame(bytes, kFrameMinSize);
    if (!frame.ok() || !frame->has_value()) return;
    visit(**frame);
    bytes.remove_prefix((*frame)->frame_size());
  }
}

void WriteViolations(const std::vector<hostile::Violation>& violations) {
  for (const hostile::Violation& violation : violations) {
    Write("session", violation.name, '\2' + violation.bytes);
    ForEachFrame(violation.bytes, [&](const FrameView& frame) {
      if (frame.type == FrameType::kHeader) Write("properties", violation.name, frame.payload);
      const bool is_whole = DecodeServerMethod(frame.payload).ok();
      if (frame.type == FrameType::kMethod && !is_whole) {
        Write("method", violation.name, frame.payload);
      }
    });
  }
}

void WriteProperties() {
  const std::string headers = Encode(Value(Table{{"nested", 7}}));
  const Properties all = {.content_type = "ct",
                          .content_encoding = "ce",
                          .headers = TableView(headers),
                          .delivery_mode = 2,
                          .priority = 9,
                          .correlation_id = "ci",
                          .reply_to = "rt",
                          .expiration = "1000",
                          .message_id = "mi",
                          .timestamp = 1700000000,
                          .type = "ty",
                          .user_id = "ui",
                          .app_id = "ai",
                          .cluster_id = "cl"};
  std::string payload;
  AppendContentHeader(5, all, &payload);
  Write("properties", "all", payload);
  payload.clear();
  AppendContentHeader(0, {}, &payload);
  Write("properties", "none", payload);
}

// ---- JSON of other programs

void WriteJson() {
  Write("json", "answer", R"({"id":7,"error":"e","retry_after":"30s"})");
  Write("json", "snooze", R"({"id":8,"snooze":1.5,"reason":"\ud83d\udc07"})");
  Write("json", "request",
        R"({"id":1e3,"queue":"q","body":"b","headers":{"h":[1,-2,3.5,null,true,{"n":"\u202e"}]},)"
        R"("delay":"1m30s","priority":9,"timestamp":1700000000,"transient":true})");
  Write("json", "body_base64", R"({"exchange":"e","body_base64":"AP8=","at":"2027-01-31T08:00Z"})");
  Write("json", "management",
        R"({"page_count":1,"items":[{"name":"retry.1000","arguments":{"x-message-ttl":1000}}]})");
  Write("json", "nested_101_levels", std::string(101, '[') + std::string(101, ']'));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: make_corpus DIRECTORY\n", stderr);
    return EXIT_FAILURE;
  }
  root = argv[1];
  WriteTables();
  WriteMethods(std::type_identity<ServerMethod>());
  WriteMethods(std::type_identity<ClientMethod>());
  WriteProperties();
  WriteJson();
  for (const hostile::Violation& violation : hostile::ConnectionViolations()) {
    Write("frame", violation.name, violation.bytes);
  }
  WriteViolations(hostile::ChannelViolations());
  WriteViolations(hostile::ContentViolations());
}
