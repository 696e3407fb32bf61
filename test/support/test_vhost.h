#ifndef RETRYQ_TEST_SUPPORT_TEST_VHOST_H_
#define RETRYQ_TEST_SUPPORT_TEST_VHOST_H_

#include "retryq/amqp/connection_options.h"
#include "support/management.h"
#include "support/standard.h"

namespace retryq::testing {

// The broker to test on. Throw std::runtime_error, with the remedy, if the environment names none.
std::string BrokerUrl();      // RETRYQ_URL
std::string ManagementUrl();  // RETRYQ_MANAGEMENT_URL, or port 15672 of the same host
bool HasTlsUrl();             // whether RETRYQ_TLS_URL names its port for TLS

// The own vhost of a test on that broker: its objects can have the names of the documentation, and
// neither tests nor concurrent runs disturb each other. Deleted at the end with its contents.
class TestVhost {
 public:
  TestVhost();
  // `settings`: the management API's, such as {"default_queue_type", "quorum"}.
  explicit TestVhost(const Json& settings);
  // On another broker than the environment's.
  TestVhost(const std::string& broker_url, const std::string& management_url);
  ~TestVhost();
  TestVhost(const TestVhost&) = delete;
  TestVhost& operator=(const TestVhost&) = delete;

  const std::string& name() const { return name_; }

  // Of this vhost; `parameters` like "heartbeat=1".
  std::string Url(std::string_view parameters = "") const;
  // The same by TLS, if the broker has a port for it.
  std::string TlsUrl(std::string_view parameters = "") const;
  std::string UrlAs(std::string_view user, std::string_view password) const;

  // The JSON of the management API; nullopt if the object does not exist.
  std::optional<Json> Queue(std::string_view name) const;
  std::optional<Json> Exchange(std::string_view name) const;
  // Whether the object exists. Needs no <nlohmann/json.hpp>, which takes seconds to compile.
  bool HasQueue(std::string_view name) const;
  bool HasExchange(std::string_view name) const;
  // The bindings between an exchange and a queue.
  Json Bindings(std::string_view exchange, std::string_view queue) const;
  // The names of all queues that begin so, sorted.
  std::vector<std::string> QueuesBeginning(std::string_view prefix) const;

  // Like a user of the management UI.
  void DeleteQueue(std::string_view name) const;
  void DeleteExchange(std::string_view name) const;

  // The connections of a client, by its connection name. The broker takes up to five seconds to
  // show a new one.
  std::vector<std::string> ConnectionsOf(std::string_view client_name) const;
  void CloseConnection(std::string_view connection) const;

  // A user for this vhost, deleted with it. Three regular expressions; empty: no such right.
  struct Rights {
    std::string configure;
    std::string write;
    std::string read;
  };
  // Returns the name, which is also the password. Without permissions the vhost itself is refused.
  std::string AddUser(const std::optional<Rights>& rights);
  void SetRights(std::string_view user, const Rights& rights) const;

  const Management& management() const { return management_; }

  // Creates the vhost again, with its first settings and our own permissions. It must not exist.
  void MakeAgain() const;
  // Deletes the vhost with its contents.
  void Delete() const;

 private:
  TestVhost(amqp::ConnectionOptions broker, const std::string& management_url,
            const Json& settings);

  std::string UrlFor(const std::string& user, const std::string& password) const;
  std::string Path(std::string_view kind, std::string_view name) const;

  const amqp::ConnectionOptions broker_;
  const Management management_;
  const std::unique_ptr<const Json> settings_;
  const std::string name_;
  std::vector<std::string> users_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_TEST_VHOST_H_
