#ifndef RETRYQ_SRC_TESTING_EXCHANGES_H_
#define RETRYQ_SRC_TESTING_EXCHANGES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retryq::testing {

// The exchanges of a vhost and their bindings. The default exchange is not included: it routes to
// the queue that the routing key names.
class Exchanges {
 public:
  // Returns false if an exchange of that name has other properties.
  bool Declare(std::string_view name, std::string_view type, bool auto_delete);
  void Delete(std::string_view name);
  bool Has(std::string_view name) const { return exchanges_.contains(std::string(name)); }

  // The exchange must exist.
  void Bind(std::string_view exchange, std::string_view queue, std::string_view routing_key);

  // Removes the bindings of a deleted queue, and the auto-delete exchanges that had no other
  // binding.
  void Unbind(std::string_view queue);

  // Returns the queues to which a message is routed, each once; nullopt if the exchange does not
  // exist.
  std::optional<std::vector<std::string>> Route(std::string_view exchange,
                                                std::string_view routing_key) const;

 private:
  struct Binding {
    std::string queue;
    std::string routing_key;
    friend bool operator==(const Binding&, const Binding&) = default;
  };
  struct Exchange {
    std::string type;
    bool auto_delete;
    std::vector<Binding> bindings = {};
  };

  std::map<std::string, Exchange> exchanges_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_SRC_TESTING_EXCHANGES_H_
