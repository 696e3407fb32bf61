#include "support/test_vhost.h"

#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <random>

#include "retryq/amqp/connection_options.h"
#include "support/standard.h"

namespace retryq::testing {
namespace {

std::string RandomName() {
  std::random_device random;
  return absl::StrCat("retryq-test-", absl::Hex(random(), absl::kZeroPad8),
                      absl::Hex(random(), absl::kZeroPad8));
}

amqp::ConnectionOptions Parsed(const std::string& broker_url) {
  absl::StatusOr<amqp::ConnectionOptions> options = amqp::ParseUri(broker_url);
  if (!options.ok()) throw std::runtime_error("the broker's URL: " + options.status().ToString());
  return *std::move(options);
}

}  // namespace

std::string BrokerUrl() {
  const char* url = std::getenv("RETRYQ_URL");
  if (url == nullptr || *url == '\0') {
    throw std::runtime_error(
        "RETRYQ_URL names no broker to test on. Run the tests by test/run, which starts one, or "
        "start one yourself: set -a; eval \"$(third_party/rabbitmq/broker start)\"");
  }
  return url;
}

bool HasTlsUrl() {
  const char* url = std::getenv("RETRYQ_TLS_URL");
  return url != nullptr && *url != '\0';
}

std::string ManagementUrl() {
  const char* url = std::getenv("RETRYQ_MANAGEMENT_URL");
  if (url != nullptr && *url != '\0') return url;
  const amqp::ConnectionOptions broker = Parsed(BrokerUrl());
  return absl::StrCat("http://", Management::Segment(broker.user), ":",
                      Management::Segment(broker.password), "@",
                      amqp::Describe({.host = broker.endpoints.front().host, .port = 15672}));
}

TestVhost::TestVhost() : TestVhost(Json::object()) {}

TestVhost::TestVhost(const Json& settings)
    : TestVhost(Parsed(BrokerUrl()), ManagementUrl(), settings) {}

TestVhost::TestVhost(const std::string& broker_url, const std::string& management_url)
    : TestVhost(Parsed(broker_url), management_url, Json::object()) {}

TestVhost::TestVhost(amqp::ConnectionOptions broker, const std::string& management_url,
                     const Json& settings)
    : broker_(std::move(broker)),
      management_(management_url),
      settings_(std::make_unique<const Json>(settings)),
      name_(RandomName()) {
  MakeAgain();
}

TestVhost::~TestVhost() {
  try {
    Delete();
    for (const std::string& user : users_) management_.Delete("/users/" + user);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vhost %s was not deleted: %s\n", name_.c_str(), error.what());
  }
}

void TestVhost::MakeAgain() const {
  management_.Put("/vhosts/" + name_, *settings_);
  SetRights(broker_.user, {.configure = ".*", .write = ".*", .read = ".*"});
}

void TestVhost::Delete() const { management_.Delete("/vhosts/" + name_); }

std::string TestVhost::Url(std::string_view parameters) const {
  std::string url = UrlFor(broker_.user, broker_.password);
  if (!parameters.empty()) url.append("?").append(parameters);
  return url;
}

std::string TestVhost::TlsUrl(std::string_view parameters) const {
  const amqp::ConnectionOptions broker = amqp::ParseUri(std::getenv("RETRYQ_TLS_URL")).value();
  std::string url = absl::StrCat(
      "amqps://", Management::Segment(broker.user), ":", Management::Segment(broker.password), "@",
      amqp::Describe(broker.endpoints.front()), "/", Management::Segment(name_),
      "?cacertfile=", Management::Segment(broker.tls->ca_file));
  if (!parameters.empty()) url.append("&").append(parameters);
  return url;
}

std::string TestVhost::UrlAs(std::string_view user, std::string_view password) const {
  return UrlFor(std::string(user), std::string(password));
}

std::string TestVhost::UrlFor(const std::string& user, const std::string& password) const {
  return absl::StrCat("amqp://", Management::Segment(user), ":", Management::Segment(password), "@",
                      amqp::Describe(broker_.endpoints.front()), "/", Management::Segment(name_));
}

std::string TestVhost::Path(std::string_view kind, std::string_view name) const {
  return absl::StrCat("/", std::string(kind), "/", name_, "/", Management::Segment(name));
}

std::optional<Json> TestVhost::Queue(std::string_view name) const {
  return management_.Get(Path("queues", name));
}

std::optional<Json> TestVhost::Exchange(std::string_view name) const {
  return management_.Get(Path("exchanges", name));
}

bool TestVhost::HasQueue(std::string_view name) const { return Queue(name).has_value(); }

bool TestVhost::HasExchange(std::string_view name) const { return Exchange(name).has_value(); }

Json TestVhost::Bindings(std::string_view exchange, std::string_view queue) const {
  return management_
      .Get(absl::StrCat("/bindings/", name_, "/e/", Management::Segment(exchange), "/q/",
                        Management::Segment(queue)))
      .value_or(Json::array());
}

std::vector<std::string> TestVhost::QueuesBeginning(std::string_view prefix) const {
  const Json queues = management_.Get("/queues/" + name_).value();
  std::vector<std::string> names;
  for (const Json& queue : queues) {
    const std::string name = queue.at("name");
    if (name.starts_with(prefix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void TestVhost::DeleteQueue(std::string_view name) const {
  management_.Delete(Path("queues", name));
}

void TestVhost::DeleteExchange(std::string_view name) const {
  management_.Delete(Path("exchanges", name));
}

std::vector<std::string> TestVhost::ConnectionsOf(std::string_view client_name) const {
  const Json connections =
      management_.Get("/vhosts/" + name_ + "/connections").value_or(Json::array());
  std::vector<std::string> names;
  for (const Json& connection : connections) {
    const Json properties = connection.value("client_properties", Json::object());
    const std::string client = properties.value("connection_name", "");
    if (client.starts_with(client_name)) names.push_back(connection.at("name"));
  }
  return names;
}

void TestVhost::CloseConnection(std::string_view connection) const {
  management_.Delete("/connections/" + Management::Segment(connection));
}

std::string TestVhost::AddUser(const std::optional<Rights>& rights) {
  const std::string user = RandomName();
  management_.Put("/users/" + user, {{"password", user}, {"tags", ""}});
  users_.push_back(user);
  if (rights.has_value()) SetRights(user, *rights);
  return user;
}

void TestVhost::SetRights(std::string_view user, const Rights& rights) const {
  management_.Put(
      Path("permissions", "").append(Management::Segment(user)),
      {{"configure", rights.configure}, {"write", rights.write}, {"read", rights.read}});
}

}  // namespace retryq::testing
