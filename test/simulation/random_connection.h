#ifndef RETRYQ_TEST_SIMULATION_RANDOM_CONNECTION_H_
#define RETRYQ_TEST_SIMULATION_RANDOM_CONNECTION_H_

#include "retryq/amqp/channel.h"
#include "retryq/amqp/connection.h"
#include "retryq/testing/seeded_random.h"
#include "simulation/hostile_world.h"
#include "simulation/odd_values.h"
#include "support/test.h"

namespace retryq::simulation {

// A caller that makes any call of `amqp::Connection` and `amqp::Channel` in any order, before the
// connection is open and after it is lost, from inside any callback, destroys both at any point,
// and passes odd values. Each seed produces one program.
//
// These conditions must hold: nothing crashes (AddressSanitizer checks); no callback is called
// inside a call; every call is answered once, and before the end of its channel is reported, unless
// its channel or connection was destroyed or closed; after that only the answer to `Close` comes.
class RandomConnection {
 public:
  // `world` must outlive it.
  RandomConnection(HostileWorld& world, std::uint64_t seed);
  ~RandomConnection();
  RandomConnection(const RandomConnection&) = delete;
  RandomConnection& operator=(const RandomConnection&) = delete;

  // Returns how often it was called back.
  int Run();

 private:
  class Line;  // a connection
  class Lane;  // a channel
  class Calling;

  template <typename T>
  T OneOf(const std::vector<T>& values) {
    return simulation::OneOf(random_, values);
  }
  std::string OddText() {
    std::string text = simulation::OddText(random_);
    may_be_refused_ |= text.size() > 255;
    return text;
  }
  absl::Duration OddDuration() { return simulation::OddDuration(random_); }
  struct Arguments;
  Arguments AnyArguments();

  void Act();
  // From inside a callback.
  void Called();

  Line* AnyLine();
  void Connect();
  void ActOn(Line& line);
  void DestroyLine(Line& line);
  void CloseLine(Line& line);
  void UpdateSecret(Line& line);

  Lane* AnyLane();
  void OpenChannel(Line& line);
  void ActOn(Lane& lane);
  void DestroyLane(Lane& lane);
  void CloseLane(Lane& lane);
  void Ask(Lane& lane);
  void Publish(Lane& lane);
  void Consume(Lane& lane);
  void SettleOn(Lane& lane);

  // The first action of the callback of a call on `lane`. All arguments of the call have been
  // chosen before.
  std::function<void()> Answered(Lane& lane);
  // `done` of a call: `void(T)`. `is_bad`: it must not succeed.
  template <typename T>
  std::function<void(T)> Done(Lane& lane, bool is_bad = false);

  void ExpectAnswered();
  void Clear();

  HostileWorld& world_;
  testing::SeededRandom random_;
  std::deque<Line> lines_;
  std::deque<Lane> lanes_;
  int calling_ = 0;  // calls that have not returned
  int depth_ = 0;    // of callbacks within callbacks that act
  int calls_ = 0;
  bool may_be_refused_ = false;  // what was chosen since the last call on a channel
  bool ending_ = false;
};

}  // namespace retryq::simulation

#endif  // RETRYQ_TEST_SIMULATION_RANDOM_CONNECTION_H_
