#include "simulation/name_server.h"

#include <dlfcn.h>
#include <netdb.h>

#include "support/test.h"

namespace retryq::simulation {

NameServer& NameServer::Instance() {
  static NameServer* const server = new NameServer;  // threads may ask until the very end
  return *server;
}

bool NameServer::Knows(const std::string& name) {
  std::string_view rest = name;
  if (rest.ends_with('.')) rest.remove_suffix(1);
  return rest.ends_with(".test");
}

void NameServer::LookUp(const std::string& name) {
  if (!name.starts_with("slow")) return;
  std::unique_lock lock(mutex_);
  int& waiting = waiting_[name];
  most_at_once_ = std::max(most_at_once_, ++waiting);
  changed_.wait(lock, [this] { return !is_slow_; });
  if (--waiting == 0) waiting_.erase(name);
  changed_.notify_all();
}

NameServer::Slowness::Slowness() {
  NameServer& server = Instance();
  const std::lock_guard lock(server.mutex_);
  server.is_slow_ = true;
}

NameServer::Slowness::~Slowness() {
  NameServer& server = Instance();
  std::unique_lock lock(server.mutex_);
  server.is_slow_ = false;
  server.changed_.notify_all();
  server.changed_.wait(lock, [&server] { return server.waiting_.empty(); });
}

int NameServer::TakeMostAtOnce() {
  const std::lock_guard lock(mutex_);
  return std::exchange(most_at_once_, 0);
}

}  // namespace retryq::simulation

// In place of that of the C library.
extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints,
                           addrinfo** result) {
  using retryq::simulation::NameServer;
  static const auto of_system =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  if (node == nullptr || !NameServer::Knows(node)) return of_system(node, service, hints, result);
  NameServer::Instance().LookUp(node);
  return of_system("127.0.0.1", service, hints, result);
}
