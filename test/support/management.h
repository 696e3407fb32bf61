#ifndef RETRYQ_TEST_SUPPORT_MANAGEMENT_H_
#define RETRYQ_TEST_SUPPORT_MANAGEMENT_H_

#include <nlohmann/json_fwd.hpp>

#include "support/standard.h"

namespace retryq::testing {

using Json = nlohmann::json;

// RabbitMQ's management HTTP API, one blocking request at a time. Paths begin after "/api", with
// parts encoded by `Segment`. Throws std::runtime_error for any reply that is not named below.
class Management {
 public:
  // `url`: http://user:password@host:port
  explicit Management(const std::string& url);

  // Returns nullopt for status 404.
  std::optional<Json> Get(const std::string& path) const;
  void Put(const std::string& path, const Json& body) const;
  void Post(const std::string& path, const Json& body) const;
  // An object that does not exist counts as deleted.
  void Delete(const std::string& path) const;

  // A name as part of a path.
  static std::string Segment(std::string_view name);

 private:
  struct Answer {
    int code = 0;
    std::string body;
  };
  void Send(int method, const std::string& name, const std::string& path, const Json& body) const;
  Answer Ask(int method, const std::string& path, const std::string& body) const;

  std::string host_;
  std::uint16_t port_ = 0;
  std::string authorization_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_SUPPORT_MANAGEMENT_H_
