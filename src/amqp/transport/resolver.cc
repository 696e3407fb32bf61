#include "amqp/transport/resolver.h"

#include <netdb.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace retryq::amqp {

SocketAddresses LookUpBySystem(const Endpoint& endpoint) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = absl::StrCat(endpoint.port);
  const int error = getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot resolve host '", endpoint.host, "': ", gai_strerror(error)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
    address.size = info->ai_addrlen;
  }
  freeaddrinfo(found);
  return addresses;
}

class Resolver::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(Timers& timers, std::shared_ptr<Executor> executor, LookUp look_up)
      : timers_(timers), executor_(std::move(executor)), look_up_(std::move(look_up)) {}

  void Resolve(const Endpoint& endpoint, absl::Duration timeout, Done done) {
    waiting_ = endpoint;
    done_ = std::move(done);
    keeps_late_ = true;
    timer_ = timers_.After(timeout, [this, timeout] {
      Finish(absl::UnavailableError(absl::StrCat("cannot resolve host '", waiting_->host,
                                                 "' within ", absl::FormatDuration(timeout),
                                                 ": do the name servers of this machine reply?")));
    });
    Begin(endpoint);
  }

  void Forget() {
    waiting_.reset();
    done_ = nullptr;
    timer_.reset();
    keeps_late_ = false;
    std::erase_if(searches_, [](const Search& search) { return search.late.has_value(); });
  }

 private:
  // A look-up that is under way, or whose late result has not been used.
  struct Search {
    Endpoint endpoint;
    std::optional<SocketAddresses> late;
  };

  std::vector<Search>::iterator Find(const Endpoint& endpoint) {
    return std::find_if(searches_.begin(), searches_.end(),
                        [&](const Search& search) { return search.endpoint == endpoint; });
  }

  void Begin(const Endpoint& endpoint) {
    const auto answer = [to = executor_, weak = weak_from_this(), endpoint](SocketAddresses found) {
      to->Post([weak, endpoint, found = std::move(found)] {
        if (const auto self = weak.lock()) self->OnFound(endpoint, found);
      });
    };
    const auto known = Find(endpoint);
    if (known != searches_.end()) {
      if (known->late) answer(*std::exchange(known->late, std::nullopt));
      return;
    }
    searches_.push_back({.endpoint = endpoint, .late = std::nullopt});
    try {
      std::thread([look_up = look_up_, endpoint, answer] { answer(look_up(endpoint)); }).detach();
    } catch (const std::system_error& error) {
      answer(absl::UnavailableError(
          absl::StrCat("no thread to resolve '", endpoint.host, "' on: ", error.what())));
    }
  }

  void OnFound(const Endpoint& endpoint, const SocketAddresses& found) {
    const auto search = Find(endpoint);
    if (waiting_ == endpoint) {
      searches_.erase(search);
      Finish(found);
    } else if (found.ok() && keeps_late_) {
      search->late = found;
    } else {
      searches_.erase(search);
    }
  }

  void Finish(const SocketAddresses& found) {
    waiting_.reset();
    timer_.reset();
    std::exchange(done_, nullptr)(found);  // may destroy this object
  }

  Timers& timers_;
  const std::shared_ptr<Executor> executor_;
  const LookUp look_up_;
  std::vector<Search> searches_;
  bool keeps_late_ = false;  // late results are used for the next try

  std::optional<Endpoint> waiting_;  // the endpoint for which the caller waits
  Done done_;
  std::unique_ptr<Timer> timer_;
};

Resolver::Resolver(Timers& timers, std::shared_ptr<Executor> executor, LookUp look_up)
    : impl_(std::make_shared<Impl>(timers, std::move(executor), std::move(look_up))) {}

Resolver::~Resolver() { Forget(); }

void Resolver::Resolve(const Endpoint& endpoint, absl::Duration timeout, Done done) {
  impl_->Resolve(endpoint, timeout, std::move(done));
}

void Resolver::Forget() { impl_->Forget(); }

}  // namespace retryq::amqp
