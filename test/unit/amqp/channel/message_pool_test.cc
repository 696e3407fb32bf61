#include "amqp/channel/message_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace retryq::amqp {
namespace message_pool_test {

TEST(MessagePool, UsesAMessageAgainThatNobodyHolds) {
  MessagePool pool;
  std::shared_ptr<Message> message = pool.Take();
  const Message* const first = message.get();
  message->content.assign(1000, 'x');
  message.reset();
  message = pool.Take();
  EXPECT_EQ(message.get(), first);
  EXPECT_GE(message->content.capacity(), 1000U);
}

TEST(MessagePool, TakesTheOneThatWasUsedLast) {
  MessagePool pool;
  MessagePtr first = pool.Take();
  MessagePtr second = pool.Take();
  const Message* const last = second.get();
  first.reset();
  second.reset();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(pool.Take().get(), last);
}

TEST(MessagePool, GivesNoMessageThatSomebodyHolds) {
  MessagePool pool;
  const MessagePtr held = pool.Take();
  MessagePtr copy = pool.Take();
  const MessagePtr other = copy;
  copy.reset();
  const MessagePtr third = pool.Take();
  EXPECT_EQ((std::set{held, other, third}.size()), 3U);
}

TEST(MessagePool, WaitsForWeakHandlesToo) {
  MessagePool pool;
  const std::weak_ptr<Message> weak = pool.Take();
  EXPECT_TRUE(weak.expired());
  const MessagePtr other = pool.Take();
  EXPECT_TRUE(weak.expired());
}

TEST(MessagePool, MessagesOutliveIt) {
  auto pool = std::make_unique<MessagePool>();
  const std::shared_ptr<Message> message = pool->Take();
  pool->Take().reset();
  pool.reset();
  message->content = "still there";
  EXPECT_EQ(message->content, "still there");
}

TEST(MessagePool, DoesNotKeepMemoryThatIsSeldomNeeded) {
  MessagePool pool;
  std::shared_ptr<Message> message = pool.Take();
  message->content.assign(std::size_t{1} << 20, 'x');
  message.reset();
  EXPECT_LT(pool.Take()->content.capacity(), std::size_t{1} << 20);
}

TEST(MessagePool, TakesMessagesBackFromOtherThreads) {
  MessagePool pool;
  std::set<const Message*> seen;
  for (int round = 0; round < 100; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      std::shared_ptr<Message> message = pool.Take();
      seen.insert(message.get());
      message->content.assign(100, static_cast<char>('a' + i));
      threads.emplace_back([message = std::move(message), i]() mutable {
        EXPECT_EQ(message->content, std::string(100, static_cast<char>('a' + i)));
        message.reset();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_LE(seen.size(), 4U);
}

}  // namespace message_pool_test
}  // namespace retryq::amqp
