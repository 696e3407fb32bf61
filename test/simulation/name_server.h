#ifndef RETRYQ_TEST_SIMULATION_NAME_SERVER_H_
#define RETRYQ_TEST_SIMULATION_NAME_SERVER_H_

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

namespace retryq::simulation {

// The name server of this process: `getaddrinfo` asks it for all names that end in ".test", with or
// without a dot at the end, and the system for all other names. Each of its names resolves to an
// address of loopback. While the server is slow, names that begin with "slow" do not resolve.
// Thread-safe.
class NameServer {
 public:
  static NameServer& Instance();

  // Whether it resolves this name.
  static bool Knows(const std::string& name);

  // Returns when it answers.
  void LookUp(const std::string& name);

  // From now on slow names get no reply; when this object is destroyed, they all get one.
  class Slowness {
   public:
    Slowness();
    ~Slowness();
    Slowness(const Slowness&) = delete;
    Slowness& operator=(const Slowness&) = delete;
  };

  // The largest number of threads that waited for one name at the same time; resets the number.
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
