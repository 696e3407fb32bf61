// Messages that the broker accepts from an AMQP 1.0 client, and cannot deliver over AMQP 0-9-1.

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <initializer_list>

#include "facts/facts_test.h"
#include "retryq/amqp/connection_options.h"
#include "support/test.h"

namespace retryq::testing::undeliverable_test {

std::string BigEndian(std::uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16),
          static_cast<char>(number >> 8), static_cast<char>(number)};
}

// The types of AMQP 1.0, as far as the sender below needs them.
const std::string kNull = "\x40";
std::string Uint(std::uint32_t number) { return "\x70" + BigEndian(number); }
std::string Text(std::string_view text, char type = '\xa1') {
  return std::string{type, static_cast<char>(text.size())}.append(text);
}
std::string Compound(char type, std::initializer_list<std::string> items) {
  std::string all;
  for (const std::string& item : items) all += item;
  return type + BigEndian(static_cast<std::uint32_t>(all.size() + 4)) +
         BigEndian(static_cast<std::uint32_t>(items.size())) + all;
}
std::string List(std::initializer_list<std::string> items) { return Compound('\xd0', items); }
std::string Described(char code, const std::string& value) {
  return std::string("\0\x53", 2) + code + value;
}

// Sends one message to a queue by AMQP 1.0. Throws std::runtime_error if the broker does not accept
// it.
class Amqp10Sender {
 public:
  explicit Amqp10Sender(const std::string& url) : options_(amqp::ParseUri(url).value()) {
    const amqp::Endpoint& endpoint = options_.endpoints.front();
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(endpoint.host.c_str(), std::to_string(endpoint.port).c_str(), &hints, &found) !=
        0) {
      throw std::runtime_error("no address");
    }
    socket_ = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience = {.tv_sec = 30, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    const int connected = connect(socket_, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    if (connected != 0) throw std::runtime_error("no connection");
  }
  ~Amqp10Sender() { close(socket_); }
  Amqp10Sender(const Amqp10Sender&) = delete;
  Amqp10Sender& operator=(const Amqp10Sender&) = delete;

  // `before` and `after`: sections around the body.
  void Send(const std::string& queue, const std::string& before, const std::string& after = "") {
    Write(std::string("AMQP\x03\x01\0\0", 8));
    Read(8);
    ReadFrame();
    std::string login("\0", 1);
    login.append(options_.user).append(1, '\0').append(options_.password);
    WriteFrame(1, Described('\x41', List({Text("PLAIN", '\xa3'), Text(login, '\xa0')})));
    ReadFrame();
    Write(std::string("AMQP\0\x01\0\0", 8));
    Read(8);
    const std::string zero("\x43", 1);
    WriteFrame(0, Described('\x10', List({Text("fact"), Text("vhost:" + options_.vhost)})));
    ReadFrame();
    WriteFrame(0, Described('\x11', List({kNull, zero, Uint(10), Uint(10)})));
    ReadFrame();
    WriteFrame(
        0,
        Described('\x12',
                  List({Text("link"), zero, "\x42", kNull, kNull, Described('\x28', List({})),
                        Described('\x29', List({Text("/queues/" + queue)})), kNull, kNull, zero})));
    ReadFrame();
    WriteFrame(0, Described('\x14', List({zero, zero, Text("t", '\xa0'), zero, "\x42", "\x42"})) +
                      before + Described('\x75', Text("odd", '\xa0')) + after);
    std::string answer;
    do {
      answer = ReadFrame();
    } while (answer.find(std::string("\0\x53\x15", 3)) == std::string::npos);
    if (answer.find(std::string("\0\x53\x24", 3)) == std::string::npos) {
      throw std::runtime_error("not accepted");
    }
  }

 private:
  void Write(const std::string& bytes) {
    if (write(socket_, bytes.data(), bytes.size()) < 0) throw std::runtime_error("cannot write");
  }
  void WriteFrame(char type, const std::string& body) {
    Write(BigEndian(static_cast<std::uint32_t>(body.size() + 8)) + "\x02" + type +
          std::string(2, '\0') + body);
  }
  std::string Read(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t have = 0; have < size;) {
      const ssize_t more = recv(socket_, bytes.data() + have, size - have, 0);
      if (more <= 0) throw std::runtime_error("the broker hung up");
      have += static_cast<std::size_t>(more);
    }
    return bytes;
  }
  std::string ReadFrame() {
    const std::string size = Read(4);
    std::uint32_t number = 0;
    for (const char byte : size) number = number << 8 | static_cast<unsigned char>(byte);
    return Read(number - 4);
  }

  const amqp::ConnectionOptions options_;
  int socket_ = -1;
};

class UndeliverableFacts : public Facts {
 protected:
  void SetUp() override {
    if (!asker_.IsAtLeast(4)) GTEST_SKIP() << "takes AMQP 1.0 by a plugin";
  }

  // With application properties of types that AMQP 0-9-1 does not have.
  void SendUuid(const std::string& queue) {
    Amqp10Sender(vhost_.Url()).Send(queue, Described('\x74', WithUuid("key", '\xa1')));
  }
  static std::string WithUuid(const char* name, char type) {
    return Compound('\xd1', {Text(name, type), "\x98" + std::string(16, '\1')});
  }

  // The deliveries of a consumer, with the counts of each, until the broker closes its connection.
  std::vector<std::string> TakeUntilClosed(const std::string& queue, std::uint16_t prefetch) {
    Asker consumer(loop_, vhost_.Url());
    consumer.channel().Qos(prefetch, [](const absl::Status&) {});
    consumer.channel().Consume({.queue = queue}, [](const absl::StatusOr<std::string>&) {});
    std::vector<std::string> taken;
    EXPECT_TRUE(Eventually([&] {
      while (taken.size() < consumer.deliveries().size()) {
        const amqp::Message& message = *consumer.deliveries()[taken.size()];
        const auto headers = message.properties.headers.value_or(amqp::TableView());
        taken.push_back(std::string(message.body) +
                        std::to_string(headers.FindInt64("x-delivery-count").value_or(0)));
        if (prefetch == 1) consumer.channel().Ack(message.delivery_tag.tag);
      }
      return !consumer.lost().empty();
    }));
    EXPECT_THAT(consumer.lost().front().message(), HasSubstr("541"));
    return taken;
  }
};

TEST_F(UndeliverableFacts, F73AnAmqp10PropertyWithoutAnAmqp091TypeClosesTheConnection) {
  for (const char* type : {"classic", "quorum"}) {
    peer_->DeclareQueue(type, Arguments(type));
    peer_->Publish("", type, "a");
    SendUuid(type);
    peer_->Publish("", type, "b");
    EXPECT_THAT(TakeUntilClosed(type, 1), ElementsAre("a0")) << type;
  }
  // At its place again, at the head.
  EXPECT_THAT(TakeUntilClosed("classic", 1), IsEmpty());
  EXPECT_EQ(peer_->Count("classic"), 2U);
}

TEST_F(UndeliverableFacts, F73AnAmqp10MessageWithAnotherSectionThatDoesNotFitClosesTheConnection) {
  const std::string long_type = "\xb3" + BigEndian(300) + std::string(300, 't');
  const std::string type =
      Described('\x73', List({kNull, kNull, kNull, kNull, kNull, kNull, long_type}));
  const std::string note = Described('\x72', WithUuid("x-opt-key", '\xa3'));
  const std::string footer = Described('\x78', Compound('\xd1', {Text("key", '\xa3'), Text("v")}));
  for (const char* queue : {"type", "note", "footer"}) {
    peer_->DeclareQueue(queue, Arguments("classic"));
  }
  Amqp10Sender(vhost_.Url()).Send("type", type);
  Amqp10Sender(vhost_.Url()).Send("note", note);
  Amqp10Sender(vhost_.Url()).Send("footer", "", footer);
  for (const char* queue : {"type", "note", "footer"}) {
    EXPECT_THAT(TakeUntilClosed(queue, 1), IsEmpty()) << queue;
  }
}

// A quorum queue puts returned messages before all others, and counts the returns, even of messages
// that the consumer has not seen.
TEST_F(UndeliverableFacts, F73AnUndeliverableMessageHidesOthersInAQuorumQueueUntilTheyReturn) {
  peer_->DeclareQueue("work", Arguments("quorum"));
  SendUuid("work");
  peer_->Publish("", "work", "a");
  EXPECT_THAT(TakeUntilClosed("work", 1), IsEmpty());
  EXPECT_THAT(TakeUntilClosed("work", 1), IsEmpty());
  EXPECT_THAT(TakeUntilClosed("work", 10), IsEmpty());
  EXPECT_THAT(TakeUntilClosed("work", 1), IsEmpty());
  EXPECT_THAT(TakeUntilClosed("work", 1), ElementsAre("a1"));
}

}  // namespace retryq::testing::undeliverable_test
