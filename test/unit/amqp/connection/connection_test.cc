#include "support/test.h"
#include "unit/amqp/connection_stage.h"

namespace retryq::amqp::connection_test {

class ConnectionTest : public ConnectionStage {
 protected:
  void SetUp() override {
    Serve();
    Open();
  }

  // Publishes messages with these keys and bodies, and notes how each ends.
  void Publish(Channel& channel, const std::string& key) {
    channel.Publish({.exchange = "exchange", .routing_key = key, .body = key},
                    [this, key](const PublishResult& result) {
                      static constexpr const char* kNames[] = {"confirmed", "returned", "nacked",
                                                               "unknown", "not sent"};
                      answers_.push_back(absl::StrCat(
                          key, " ", kNames[static_cast<int>(result.outcome)], " ", result.code));
                    });
  }

  void RunUntilAcked(std::uint64_t tag) {
    RunUntil([&] {
      return !server_->heard.empty() &&
             server_->heard.back().starts_with(absl::StrCat("1 basic.ack ", tag));
    });
  }

  std::vector<std::string> answers_;
};

// A loop that was held up has both to do in one turn. Whoever consumes one message at a time gets
// no other before that ack.
TEST_F(ConnectionTest, SendsAnAckInTheTurnOfAHeartbeat) {
  options_.heartbeat = absl::Seconds(1);
  Open();
  const std::unique_ptr<Channel> channel = OpenChannel();
  for (std::uint64_t tag = 1; tag <= 4; ++tag) {
    Deliver(tag);
    const absl::Duration sent_last = loop_.clock().SinceBoot();
    // A heartbeat is due within the eighth of a second that begins three eighths after it.
    std::unique_ptr<Timer> ack;
    const std::unique_ptr<Timer> hold_up = loop_.After(absl::Milliseconds(372), [&] {
      ack = loop_.After(absl::ZeroDuration(), [&] { channel->Ack(tag); });
      while (loop_.clock().SinceBoot() < sent_last + absl::Milliseconds(520)) continue;
    });
    RunUntilHeard(absl::StrCat("1 basic.ack ", tag));
  }
}

TEST_F(ConnectionTest, TheNumberOfARefusedChannelIsFreeInItsCallbacks) {
  options_.channel_max = 2;
  Open();
  const auto first = OpenChannel();
  auto refused = connection_->OpenChannel(this);
  std::unique_ptr<Channel> next;
  refused->DeclareQueue({.name = "missing", .passive = true},
                        [&](const absl::StatusOr<DeclareOk>& answer) {
                          EXPECT_TRUE(absl::IsNotFound(answer.status()));
                          refused.reset();
                          next = connection_->OpenChannel(this);
                          next->ConfirmSelect(nullptr);
                        });
  RunUntilHeard("2 queue.declare");
  server_->Say(2, method::ChannelOpenOk{});
  server_->Say(2, method::ChannelClose{.reply_code = 404});
  RunUntilHeard("2 confirm.select");
}

TEST_F(ConnectionTest, AcceptsDeliveriesBeforeConsumeOk) {
  const auto channel = OpenChannel();
  channel->Consume({.queue = "queue", .consumer_tag = "early"}, [](const auto&) {});
  RunUntilHeard("1 basic.consume");
  server_->Say(1, method::BasicDeliver{.consumer_tag = "early", .delivery_tag = 1});
  server_->SayContent(1, {}, "body");
  RunUntil([&] { return deliveries_.size() == 1; });
}

TEST_F(ConnectionTest, SendsAllAcksOfATurnAtOnce) {
  const auto channel = OpenChannel();
  for (std::uint64_t tag = 1; tag <= 10; ++tag) Deliver(tag);
  RunUntil([&] { return deliveries_.size() == 10; });
  for (std::uint64_t tag = 1; tag <= 8; ++tag) channel->Ack(tag);
  channel->Ack(10);
  channel->Reject(9, false);
  RunUntilHeard("1 basic.ack 10");
  EXPECT_THAT(server_->heard,
              ElementsAre("1 basic.ack 8 multiple", "1 basic.nack 9", "1 basic.ack 10"));
}

// A consumer that is still there would get at once what is given back, and that a closed channel
// had it counts.
TEST_F(ConnectionTest, RequeuesUnsettledDeliveriesBeforeItClosesAChannel) {
  auto channel = OpenChannel();
  for (std::uint64_t tag = 1; tag <= 3; ++tag) Deliver(tag);
  RunUntil([&] { return deliveries_.size() == 3; });
  channel->Ack(2);
  channel.reset();
  RunUntilHeard("1 channel.close");
  EXPECT_THAT(server_->heard, ElementsAre("1 basic.ack 2", "1 basic.cancel",
                                          "1 basic.nack 0 multiple requeue", "1 channel.close"));
}

TEST_F(ConnectionTest, CancelsAConsumerThatTheBrokerHasCancelledBeforeItRequeues) {
  auto channel = OpenChannel();
  Deliver(1);
  server_->Say(1, method::BasicCancel{.consumer_tag = "me", .nowait = true});
  Deliver(2);
  RunUntilHeard("1 basic.nack 2 requeue");
  channel.reset();
  RunUntilHeard("1 channel.close");
  EXPECT_THAT(server_->heard, ElementsAre("1 basic.nack 2 requeue", "1 basic.cancel",
                                          "1 basic.nack 0 multiple requeue", "1 channel.close"));
}

TEST_F(ConnectionTest, ClosesAfterTheHandshakeIfClosedDuringIt) {
  bool closed = false;
  server_->obliging = true;
  server_->on_step = [&](FakeServer::Step step) {
    if (step == FakeServer::Step::kStartOk) {
      connection_->Close(absl::Seconds(20), [&closed] { closed = true; });
    }
    return false;
  };
  connection_.reset();
  RunUntilHeard("0 connection.close 200");
  server_->heard.clear();
  connection_ = std::make_unique<Connection>(loop_, options_, this);
  RunUntil([&] { return closed; });
  EXPECT_THAT(server_->heard, ElementsAre("0 connection.close 200"));
  EXPECT_EQ(opened_, 1);  // the first connection
}

TEST_F(ConnectionTest, StopsPublishingWhileTooMuchIsUnsent) {
  const auto channel = OpenChannel();
  const std::string body(1 << 20, 'b');
  std::vector<PublishOutcome> not_sent;
  for (int i = 0; i < 70; ++i) {
    channel->Publish({.exchange = "exchange", .routing_key = "key", .body = body},
                     [&](const PublishResult& result) { not_sent.push_back(result.outcome); });
  }
  EXPECT_LE(connection_->unsent_bytes(), Connection::kMaxUnsentBytes + body.size());
  RunUntil([&] { return not_sent.size() == 6; });
  EXPECT_THAT(not_sent, Each(PublishOutcome::kNotSent));
  RunUntil([&] { return connection_->unsent_bytes() == 0; });
  EXPECT_EQ(channel->unconfirmed(), 64U);
  Publish(*channel, "fits again");
  EXPECT_EQ(channel->unconfirmed(), 65U);
}

TEST_F(ConnectionTest, StopsPublishingWhileTooManyAreUnconfirmed) {
  const auto channel = OpenChannel();
  for (std::size_t i = 0; i <= Channel::kMaxUnconfirmed; ++i) Publish(*channel, "x");
  RunUntil([&] { return !answers_.empty(); });
  EXPECT_THAT(answers_, ElementsAre("x not sent 0"));
  server_->Say(1, method::BasicAck{.delivery_tag = 1});
  RunUntil([&] { return answers_.size() == 2; });
  Publish(*channel, "y");
  EXPECT_EQ(channel->unconfirmed(), Channel::kMaxUnconfirmed);
}

// The broker does not name the publish: the publisher knows which were open.
TEST_F(ConnectionTest, ReportsThatAPublishClosedTheConnectionIfTheBrokerCannotReadIt) {
  const auto is_cause = [](int code) { return code >= 501 && code != 504 && code != 506; };
  for (const int code : {320, 402, 501, 502, 503, 504, 506, 530, 540, 541}) {
    const auto channel = OpenChannel();
    Publish(*channel, "x");
    server_->Say(0, method::ConnectionClose{.reply_code = static_cast<std::uint16_t>(code)});
    RunUntil([&] { return !answers_.empty(); });
    const int expected = is_cause(code) && code != 530 ? code : 0;
    EXPECT_THAT(std::exchange(answers_, {}), ElementsAre(absl::StrCat("x unknown ", expected)));
    Open();
  }
}

// RabbitMQ 4 closes the connection if the name does not fit into the text of its refusal (F75).
TEST_F(ConnectionTest, ADeclareWithALongNameThatIsNotAsciiIsRefusedByTheEndOfTheConnection) {
  const std::string ascii(120, 'u');
  std::string long_name;
  for (int i = 0; i < 60; ++i) long_name += "\u00fc";
  const auto code_of = [&](const QueueDeclaration& queue) {
    const auto channel = OpenChannel();
    std::optional<absl::Status> answer;
    channel->DeclareQueue(
        queue, [&](const absl::StatusOr<DeclareOk>& declared) { answer = declared.status(); });
    server_->Say(0, method::ConnectionClose{.reply_code = 541, .reply_text = "INTERNAL_ERROR"});
    RunUntil([&] { return answer.has_value(); });
    Open();
    return answer->code();
  };
  EXPECT_EQ(code_of({.name = long_name, .passive = true}), absl::StatusCode::kNotFound);
  EXPECT_EQ(code_of({.name = long_name}), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(code_of({.name = ascii}), absl::StatusCode::kUnavailable);
  EXPECT_EQ(code_of({.name = "f\u00fcr"}), absl::StatusCode::kUnavailable);
}

TEST_F(ConnectionTest, ABindAndAConsumeWithALongNameAreRefusedByTheEndOfTheConnectionToo) {
  std::string long_name;
  for (int i = 0; i < 60; ++i) long_name += "\u00fc";
  const auto channel = OpenChannel();
  std::vector<absl::StatusCode> answers;
  channel->BindQueue("queue", long_name, "key", Table(),
                     [&](const absl::Status& status) { answers.push_back(status.code()); });
  channel->Consume({.queue = long_name}, [&](const absl::StatusOr<std::string>& tag) {
    answers.push_back(tag.status().code());
  });
  server_->Say(0, method::ConnectionClose{.reply_code = 541, .reply_text = "INTERNAL_ERROR"});
  RunUntil([&] { return answers.size() == 2; });
  EXPECT_THAT(answers, Each(absl::StatusCode::kFailedPrecondition));
}

// The text of a refusal contains the vhost too.
TEST_F(ConnectionTest, ADeclareInALongVhostThatIsNotAsciiIsRefusedByTheEndOfTheConnection) {
  for (int i = 0; i < 60; ++i) options_.vhost += "\u00fc";
  Open();
  const auto channel = OpenChannel();
  std::optional<absl::Status> answer;
  channel->DeclareQueue(
      {.name = "q", .passive = true},
      [&](const absl::StatusOr<DeclareOk>& declared) { answer = declared.status(); });
  server_->Say(0, method::ConnectionClose{.reply_code = 541, .reply_text = "INTERNAL_ERROR"});
  RunUntil([&] { return answer.has_value(); });
  EXPECT_TRUE(absl::IsNotFound(*answer)) << *answer;
}

TEST_F(ConnectionTest, SendsNoNameThatIsNotUtf8) {
  const auto channel = OpenChannel();
  std::optional<absl::Status> answer;
  channel->DeclareQueue({.name = "\xff"}, [&](const absl::StatusOr<DeclareOk>& declared) {
    answer = declared.status();
  });
  RunUntil([&] { return answer.has_value(); });
  EXPECT_TRUE(absl::IsInvalidArgument(*answer)) << *answer;
  EXPECT_TRUE(channel->is_open());
}

TEST_F(ConnectionTest, ReconnectsAfterGrowingPausesIfItIsLostAtOnce) {
  options_.reconnect_initial = absl::Milliseconds(20);
  Open();
  const absl::Duration begun = loop_.clock().SinceBoot();
  for (int losses = 1; losses <= 3; ++losses) {
    server_->HangUp();
    RunUntil([&] { return opened_ == losses + 1; });
  }
  // 20, 40 and 80 ms, or half of each.
  EXPECT_GE(loop_.clock().SinceBoot() - begun, absl::Milliseconds(70));
}

TEST_F(ConnectionTest, LogsInWithTheNewSecretFromThenOn) {
  absl::Status answer;
  connection_->UpdateSecret("a new one", [&](const absl::Status& status) { answer = status; });
  RunUntilHeard("0 connection.update-secret a new one");
  server_->HangUp();
  RunUntil([&] { return opened_ == 2; });
  EXPECT_TRUE(absl::IsUnavailable(answer)) << answer;
  EXPECT_EQ(server_->login, std::string("\0guest\0a new one", 16));
}

TEST_F(ConnectionTest, RequestsItsOptionsBeforeEachAttempt) {
  absl::StatusOr<ConnectionOptions> now = options_;
  now->password = "first";
  opened_ = 0;
  connection_ = std::make_unique<Connection>(loop_, options_, this, [&now] { return now; });
  RunUntil([this] { return opened_ == 1; });
  EXPECT_EQ(server_->login, std::string("\0guest\0first", 12));

  now = absl::NotFoundError("the file is gone");
  lost_.clear();
  server_->HangUp();
  RunUntil([this] { return lost_.size() >= 2; });
  EXPECT_TRUE(absl::IsUnavailable(lost_[1]));
  EXPECT_THAT(std::string(lost_[1].message()), HasSubstr("the file is gone"));

  now = options_;
  now->user = "other";
  now->password = "second";
  RunUntil([this] { return opened_ == 2; });
  EXPECT_EQ(server_->login, std::string("\0other\0second", 13));

  now->vhost = "elsewhere";
  lost_.clear();
  server_->HangUp();
  RunUntil([this] { return lost_.size() >= 2; });
  EXPECT_TRUE(absl::IsInvalidArgument(lost_[1]));
  EXPECT_THAT(std::string(lost_[1].message()), HasSubstr("start anew"));
}

// A refusal is reported; after anything else the next node is tried at once.
TEST_F(ConnectionTest, TriesTheNextNodeIfOneHangsUpDuringTheLogin) {
  FakeServer stopping(loop_);
  stopping.on_step = [&](FakeServer::Step step) {
    if (step != FakeServer::Step::kStartOk) return false;
    stopping.HangUp();
    return true;
  };
  options_.endpoints.insert(options_.endpoints.begin(),
                            {.host = "127.0.0.1", .port = stopping.port()});
  options_.shuffle_endpoints = false;
  Open();
  EXPECT_EQ(stopping.connections, 1);
  EXPECT_TRUE(lost_.empty());
}

// Handlers that take their time shall not keep the acks of the messages before, or heartbeats.
TEST_F(ConnectionTest, SendsAcksWhileManyMessagesTakeLong) {
  const std::unique_ptr<Channel> channel = OpenChannel();
  on_delivery_ = [&] {
    SpinFor(loop_, absl::Milliseconds(5));
    channel->Ack(deliveries_.back()->delivery_tag.tag);
  };
  for (std::uint64_t tag = 1; tag <= 30; ++tag) Deliver(tag);
  RunUntilAcked(30);
  EXPECT_GE(server_->heard.size(), 3U);
  EXPECT_EQ(deliveries_.size(), 30U);
}

TEST_F(ConnectionTest, SendsAcksWhileLargeMessagesTakeLong) {
  const std::unique_ptr<Channel> channel = OpenChannel();
  on_delivery_ = [&] {
    SpinFor(loop_, absl::Milliseconds(6));
    channel->Ack(deliveries_.back()->delivery_tag.tag);
  };
  const std::string body(33'000, 'x');
  for (std::uint64_t tag = 1; tag <= 40; ++tag) Deliver(tag, body);
  RunUntilAcked(40);
  // A turn ends after 20 ms, which is four of them; without that end, 16 go into what is read at
  // once.
  EXPECT_GE(server_->heard.size(), 8U);
  for (const MessagePtr& delivery : deliveries_) EXPECT_EQ(delivery->body, body);
}

// Four deliveries, and again four as soon as the loop comes by.
class SteadyStream : public ConnectionTest {
 protected:
  // How many of 10 000 were not handled yet each time that more were said, as a median.
  std::size_t Unread(Channel& channel) {
    std::vector<std::size_t> unread;
    std::size_t said = 0;
    std::unique_ptr<Timer> next;
    const std::function<void()> say = [&] {
      unread.push_back(said - deliveries_.size());
      for (int i = 0; i < 4; ++i) Deliver(++said);
      if (said < 10'000) next = loop_.After(absl::Microseconds(100), say);
    };
    say();
    RunUntil([&] { return deliveries_.size() == 10'000; });
    for (std::size_t i = 0; i < 10'000; ++i) EXPECT_EQ(deliveries_[i]->delivery_tag.tag, i + 1);
    EXPECT_TRUE(channel.is_open());
    const auto median = unread.begin() + 1250;
    std::nth_element(unread.begin(), median, unread.end());
    return *median;
  }

  // A turn or two; what gathers for milliseconds is far more.
  static constexpr std::size_t kAsItComes = 12;
};

TEST_F(SteadyStream, IsGatheredBeforeItIsRead) {
  options_.read_coalescing = absl::Milliseconds(5);
  Open();
  EXPECT_GT(Unread(*OpenChannel()), kAsItComes);
}

TEST_F(SteadyStream, IsReadAtOnceIfCoalescingIsOff) {
  options_.read_coalescing = absl::ZeroDuration();
  Open();
  EXPECT_LE(Unread(*OpenChannel()), kAsItComes);
}

}  // namespace retryq::amqp::connection_test
