#ifndef RETRYQ_TEST_FACTS_RAW_CONNECTION_H_
#define RETRYQ_TEST_FACTS_RAW_CONNECTION_H_

#include <amqp.h>

#include "support/test.h"

namespace retryq::testing {

// Sends requests to the broker that neither our client nor a well-behaved peer would send. Uses
// librabbitmq and blocks. Throws std::runtime_error if there is no connection.
class RawConnection {
 public:
  static constexpr int kFrameMax = 131072;

  explicit RawConnection(const std::string& url, int frame_max = kFrameMax);
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  // Whether the broker accepts a client with this frame_max.
  static bool IsAccepted(const std::string& url, int frame_max);

  // Publishes `count` messages each to `queue` and to no queue, in turn, mandatory and confirmed;
  // answers how many returns were not followed at once by the ack of the same publish alone.
  std::size_t CountReturnsWithoutTheirAck(const std::string& queue, std::size_t count);

  // These answer the code with which the broker closes the connection or the channel, or 0.

  // queue.declare with nowait, of a durable classic queue.
  int DeclareWithoutAnswer(const std::string& queue, std::int64_t expires_ms);
  int DeleteIfEmpty(const std::string& queue);
  int DeclareTransient(const std::string& queue);
  // A message whose content header has this many bytes of headers, in one frame.
  int PublishWithHeaders(const std::string& queue, std::size_t size);

  // The reply to a consumer of `queue` that is cancelled immediately.
  struct Answers {
    bool consume_ok = false;
    int code = 0;  // of the close of the connection; 0: it got cancel-ok
  };
  Answers CancelBeforeConsumeOk(const std::string& queue);

  // Takes the first message of `queue`, which must have one, and keeps it unsettled: closing the
  // connection requeues it. Returns its delivery tag.
  std::uint64_t Take(const std::string& queue);
  void Ack(std::uint64_t tag);
  // Both requeue the message, without a reply.
  void Reject(std::uint64_t tag);
  void Nack(std::uint64_t tag);

 private:
  // The effect of requests that have no reply.
  int Outcome();
  // The next method; frames of contents are skipped.
  amqp_method_t ReadMethod();
  static int CodeOf(const amqp_rpc_reply_t& reply);
  bool Login(const std::string& url, int frame_max);

  amqp_connection_state_t connection_;
};

}  // namespace retryq::testing

#endif  // RETRYQ_TEST_FACTS_RAW_CONNECTION_H_
