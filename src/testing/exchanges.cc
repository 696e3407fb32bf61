#include "testing/exchanges.h"

#include <algorithm>
#include <utility>

namespace retryq::testing {
namespace {

using Words = std::vector<std::string_view>;

Words WordsOf(std::string_view key) {
  Words words;
  while (true) {
    const std::size_t dot = key.find('.');
    words.push_back(key.substr(0, dot));
    if (dot == std::string_view::npos) return words;
    key.remove_prefix(dot + 1);
  }
}

// Whether the words of a key match those of a pattern, from these positions on. `*` matches one
// word and `#` any number of words.
bool Fits(const Words& pattern, std::size_t p, const Words& key, std::size_t k) {
  if (p == pattern.size()) return k == key.size();
  if (pattern[p] == "#") {
    return Fits(pattern, p + 1, key, k) || (k < key.size() && Fits(pattern, p, key, k + 1));
  }
  if (k == key.size() || (pattern[p] != "*" && pattern[p] != key[k])) return false;
  return Fits(pattern, p + 1, key, k + 1);
}

bool Leads(std::string_view type, std::string_view pattern, std::string_view key) {
  if (type == "fanout") return true;
  if (type == "topic") return Fits(WordsOf(pattern), 0, WordsOf(key), 0);
  return pattern == key;
}

}  // namespace

bool Exchanges::Declare(std::string_view name, std::string_view type, bool auto_delete) {
  const auto [found, is_new] = exchanges_.try_emplace(
      std::string(name), Exchange{.type = std::string(type), .auto_delete = auto_delete});
  return is_new || (found->second.type == type && found->second.auto_delete == auto_delete);
}

void Exchanges::Delete(std::string_view name) { exchanges_.erase(std::string(name)); }

void Exchanges::Bind(std::string_view exchange, std::string_view queue,
                     std::string_view routing_key) {
  std::vector<Binding>& bindings = exchanges_.at(std::string(exchange)).bindings;
  const Binding binding{std::string(queue), std::string(routing_key)};
  if (std::find(bindings.begin(), bindings.end(), binding) == bindings.end()) {
    bindings.push_back(binding);
  }
}

void Exchanges::Unbind(std::string_view queue) {
  for (auto next = exchanges_.begin(); next != exchanges_.end();) {
    const auto entry = next++;
    Exchange& exchange = entry->second;
    const std::size_t unbound = std::erase_if(
        exchange.bindings, [queue](const Binding& binding) { return binding.queue == queue; });
    if (unbound > 0 && exchange.auto_delete && exchange.bindings.empty()) exchanges_.erase(entry);
  }
}

std::optional<std::vector<std::string>> Exchanges::Route(std::string_view exchange,
                                                         std::string_view routing_key) const {
  if (exchange.empty()) return std::vector{std::string(routing_key)};
  const auto found = exchanges_.find(std::string(exchange));
  if (found == exchanges_.end()) return std::nullopt;
  const std::string& type = found->second.type;
  std::vector<std::string> queues;
  for (const Binding& binding : found->second.bindings) {
    if (Leads(type, binding.routing_key, routing_key) &&
        std::find(queues.begin(), queues.end(), binding.queue) == queues.end()) {
      queues.push_back(binding.queue);
    }
  }
  return queues;
}

}  // namespace retryq::testing
