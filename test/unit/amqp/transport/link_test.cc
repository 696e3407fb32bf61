#include "amqp/transport/link.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <span>

#include "amqp/transport/read_pace.h"
#include "support/test.h"
#include "unit/amqp/run_until.h"

namespace retryq::amqp::link_test {

// Longer than the time since 1970, so that no tick comes by.
constexpr absl::Duration kEndless = absl::Hours(24 * 365 * 100);
constexpr absl::Duration kShort = absl::Milliseconds(2);

// A link and the socket at its other end.
class Linked final : public LinkOwner {
 public:
  explicit Linked(EventLoop& loop) : base_(loop.base()) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (bind(listener, any, size) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, any, &size) != 0) {
      throw std::runtime_error("no port to listen on");
    }
    SocketAddress target = {.size = size};
    std::memcpy(&target.storage, &address, size);
    link_ = std::make_unique<Link>(base_, target, this);
    peer_ = accept(listener, nullptr, nullptr);
    close(listener);
    RunUntil(loop, [this] { return connected_; });
  }
  ~Linked() override { close(peer_); }

  Link& link() { return *link_; }

  void Say(const std::string& bytes) const {
    if (send(peer_, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
      throw std::runtime_error("the socket takes no more");
    }
  }

  // As much of them as the sockets take now.
  void SayWhatFits(const std::string& bytes) const {
    send(peer_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  }

  // Whether what was said has come as far as the link's socket.
  bool HasArrived() const {
    int left = 1;
    return ioctl(peer_, SIOCOUTQ, &left) == 0 && left == 0;
  }

  void HangUp() const { shutdown(peer_, SHUT_WR); }

  std::span<char> body_room;
  std::size_t body_size = 0;  // of what is there

  std::string heard;
  bool hung_up = false;
  std::function<void()> on_input;
  std::function<void()> on_quiet;
  int reads = 0;
  int quiet = 0;
  timeval last_turn = {};  // the time at which the turn with the last read began

 private:
  void OnConnected() override {
    connected_ = true;
    link_->StartPlain();
  }
  std::span<char> BodyRoom() override { return body_room.subspan(body_size); }
  bool OnInput(std::size_t size) override {
    body_size += size;
    ++reads;
    event_base_gettimeofday_cached(base_, &last_turn);
    if (on_input) on_input();
    heard.append(link_->input()->bytes());
    link_->input()->Consumed(link_->input()->bytes().size());
    return true;
  }
  void OnQuiet() override {
    ++quiet;
    if (on_quiet) on_quiet();
  }
  void OnSecured() override {}
  void BeforeFlush() override {}
  void OnHungUp(const std::string&) override {
    hung_up = true;
    link_->PauseReading();
  }
  void OnTlsFailed(const absl::Status&) override {}

  event_base* const base_;
  std::unique_ptr<Link> link_;
  int peer_ = -1;
  bool connected_ = false;
};

class LinkTest : public ::testing::Test {
 protected:
  // What is in the socket by now would have been read.
  void RunFiftyTurns() { RunTurns(50); }
  void RunTurns(int count) {
    int turns = 0;
    RunUntil(loop_, [&] { return ++turns >= count; });
  }

  EventLoop loop_;
  Linked end_{loop_};
};

TEST_F(LinkTest, ReportsTheRoundTripTime) {
  EXPECT_GT(end_.link().RoundTrip(), absl::ZeroDuration());
  EXPECT_LT(end_.link().RoundTrip(), absl::Seconds(10));
}

TEST_F(LinkTest, GathersInput) {
  end_.link().Gather(kEndless);
  end_.Say("a");
  RunFiftyTurns();
  end_.Say("b");
  RunFiftyTurns();
  EXPECT_EQ(end_.heard, "");

  end_.link().Gather(absl::ZeroDuration());
  RunUntil(loop_, [this] { return end_.heard == "ab"; });
  EXPECT_EQ(end_.reads, 1);
}

TEST_F(LinkTest, ReadsGatheredInputAtTheTick) {
  end_.link().Gather(kShort);
  end_.Say("a");
  RunUntil(loop_, [this] { return end_.heard == "a"; });
}

TEST_F(LinkTest, ReadsBeforeTheTickIfMuchHasArrived) {
  end_.link().Gather(kEndless);
  const std::string lot(ReadPace::kFull / 8, 'x');
  RunUntil(loop_, [&] {
    end_.SayWhatFits(lot);
    return end_.heard.size() >= ReadPace::kFull;
  });
}

TEST_F(LinkTest, ContinuesReadingInATurnIfMoreArrivedThanFits) {
  end_.link().Gather(kEndless);
  const std::string lot(2 * InputBuffer::kCapacity, 'x');
  end_.Say(lot);
  RunUntil(loop_, [this] { return end_.HasArrived(); });
  EXPECT_EQ(end_.reads, 0);
  end_.link().Gather(absl::ZeroDuration());
  RunUntil(loop_, [this] { return end_.reads > 0; });
  EXPECT_EQ(end_.heard.size(), lot.size());
  EXPECT_GT(end_.reads, 1);
}

TEST_F(LinkTest, ReadsABodyDirectlyIntoItsRoom) {
  std::string body(5, '.');
  end_.body_room = body;
  end_.Say("abc");
  RunUntil(loop_, [this] { return end_.body_size == 3; });
  end_.Say("defgh");
  RunUntil(loop_, [this] { return end_.heard == "fgh"; });
  EXPECT_EQ(body, "abcde");
  EXPECT_EQ(end_.reads, 2);
}

TEST_F(LinkTest, ContinuesReadingInATurnIfMessagesAreLarge) {
  end_.link().ExpectLarge(true);
  end_.link().PauseReading();
  const std::string large(InputBuffer::kCapacity / 4, 'x');
  end_.Say(large);
  RunFiftyTurns();
  end_.link().ResumeReading();
  RunUntil(loop_, [this] { return !end_.heard.empty(); });
  EXPECT_EQ(end_.heard.size(), large.size());
  EXPECT_GT(end_.reads, 1);
}

TEST_F(LinkTest, ReadsLittleOfALargeBodyBeforeItHasRoom) {
  end_.link().ExpectLarge(true);
  const std::string large(InputBuffer::kCapacity / 4, 'x');
  std::string body(large.size(), '.');
  end_.on_input = [&] { end_.body_room = body; };
  end_.Say(large);
  RunUntil(loop_, [&] { return end_.heard.size() + end_.body_size == large.size(); });
  EXPECT_LT(end_.heard.size(), large.size() / 2);
}

TEST_F(LinkTest, ReportsOncePerGatherThatNothingArrived) {
  end_.link().Gather(kShort);
  RunUntil(loop_, [this] { return end_.quiet == 1; });
  RunFiftyTurns();
  EXPECT_EQ(end_.quiet, 1);
  end_.link().Gather(kShort);
  RunUntil(loop_, [this] { return end_.quiet == 2; });
  EXPECT_EQ(end_.reads, 0);
}

TEST_F(LinkTest, NoticesAHangUpWhileItGathers) {
  end_.link().Gather(kEndless);
  end_.HangUp();
  RunUntil(loop_, [this] { return end_.hung_up; });
}

TEST_F(LinkTest, ReadsNothingAtATickWhileReadingIsPaused) {
  end_.link().Gather(kShort);
  end_.link().PauseReading();
  end_.Say("a");
  RunFiftyTurns();
  EXPECT_EQ(end_.heard, "");
  end_.link().ResumeReading();
  end_.link().Gather(kShort);
  RunUntil(loop_, [this] { return end_.heard == "a"; });
}

// Unless there is a tick between the two turns in which they begin.
TEST_F(LinkTest, GatheringLinksAreReadInOneTurn) {
  constexpr int kTimes = 20;
  Linked other(loop_);
  // On a busy machine a tick may pass before anything is sent.
  end_.on_quiet = [&] { end_.link().Gather(absl::Milliseconds(16)); };
  other.on_quiet = [&] { other.link().Gather(absl::Milliseconds(16)); };
  int together = 0;
  for (int i = 1; i <= kTimes; ++i) {
    end_.link().Gather(absl::Milliseconds(16));
    RunTurns(2);
    other.link().Gather(absl::Milliseconds(16));
    end_.Say("a");
    other.Say("a");
    RunUntil(loop_, [&] { return end_.reads == i && other.reads == i; });
    if (end_.last_turn.tv_sec == other.last_turn.tv_sec &&
        end_.last_turn.tv_usec == other.last_turn.tv_usec) {
      ++together;
    }
  }
  EXPECT_GE(together, kTimes / 2);
}

}  // namespace retryq::amqp::link_test
