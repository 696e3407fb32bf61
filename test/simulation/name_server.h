#ifndef RETRYQ_TEST_SIMULATION_NAME_SERVER_H_
#define RETRYQ_TEST_SIMULATION_NAME_SERVER_H_

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

namespace retryq::simulation {

// The name server of this process: `getaddrinfo` asks it for all that ends in ".test", with or
// without a dot behind it, and the system for everything else. Each of its names is an address of
// loopback. For those that begin with "slow" it takes as long as it is slow. Thread-safe.
class NameServer {
 public:
  static NameServer& Instance();

  // Whether a look-up of this name is its business.
  static bool Knows(const std::string& name);

  // Returns when it answers.
  void LookUp(const std::string& name);

  // From now on slow names have no answer; at its end they all get one.
  class Slowness {
   public:
    Slowness();
    ~Slowness();
    Slowness(const Slowness&) = delete;
    Slowness& operator=(const Slowness&) = delete;
  };

  // How many threads have waited for one name at a time, at the most; forgotten by that.
  int TakeMostAtOnce();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_slow_ = false;
  std::map<std::string, int> waiting_;  // threads, by name
  int most_at_once_ = 0;
};

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_NAME_SERVER_H_
