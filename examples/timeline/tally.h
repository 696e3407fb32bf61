#ifndef RETRYQ_EXAMPLES_TIMELINE_TALLY_H_
#define RETRYQ_EXAMPLES_TIMELINE_TALLY_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "timeline/queue_watch.h"
#include "timeline/screen.h"

namespace examples {

// What the witnesses say of one message.
struct MessageStory {
  absl::Time sending;
  bool sent = false;                 // confirmed to its sender
  std::vector<std::string> answers;  // of the endpoint, attempt by attempt
  std::string end;                   // what the worker did at last; empty: it is on its way
  absl::Time ended;

  // The endpoint has taken it.
  bool handled() const;
};

// Where all the messages are, each number from the one who must know: the sender counts those
// sent, the endpoint those handled, the broker those parked and those waiting.
struct Balance {
  std::int64_t sent = 0;
  std::int64_t handled = 0;
  std::int64_t parked = 0;
  std::int64_t waiting = 0;

  // Below zero: some are there twice.
  std::int64_t lost() const { return sent - handled - parked - waiting; }
};

// Keeps the books.
class Tally {
 public:
  // Of work queue and parked queue; delay queues are all the others.
  Tally(std::string queue, std::string parked_queue);

  MessageStory& message(const std::string& id) { return messages_[id]; }

  // What the broker says. Returns the rows for delay queues that came or went.
  std::vector<Row> Update(const QueueInfos& queues);

  // ok: all is accounted for, every message has ended, and no delay queue is left.
  absl::Status Verdict() const;

  Balance balance() const;

  // A row a message and the sums.
  void Print(const Screen& screen) const;

 private:
  bool all_ended() const;

  std::string queue_;
  std::string parked_queue_;
  std::map<std::string, MessageStory> messages_;  // by id
  QueueInfos queues_;
  std::map<std::string, absl::Time> there_;  // delay queues, and since when
  std::set<std::string> seen_;               // delay queues ever
};

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_TIMELINE_TALLY_H_
