#ifndef RETRYQ_SRC_TESTING_EXCHANGES_H_
#define RETRYQ_SRC_TESTING_EXCHANGES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retryq::testing {

// The exchanges of a vhost and what is bound to them. The default exchange is not among them: it
// leads to the queue that the routing key names.
class Exchanges {
 public:
  // False if there is one of that name with other properties.
  bool Declare(std::string_view name, std::string_view type, bool auto_delete);
  void Delete(std::string_view name);
  bool Has(std::string_view name) const { return exchanges_.contains(std::string(name)); }

  // The exchange must be there.
  void Bind(std::string_view exchange, std::string_view queue, std::string_view routing_key);

  // A queue is gone: so are its bindings, and auto-delete exchanges that had no others.
  void Unbind(std::string_view queue);

  // The queues that a message is led to, each once; nothing if there is no such exchange.
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
