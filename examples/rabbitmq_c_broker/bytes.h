#ifndef RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_BYTES_H_
#define RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_BYTES_H_

#include <amqp.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace examples {

// Only to be read through, although rabbitmq-c's type does not say so.
inline amqp_bytes_t ToBytes(std::string_view text) {
  amqp_bytes_t bytes;
  bytes.len = text.size();
  bytes.bytes = const_cast<char*>(text.data());
  return bytes;
}

inline std::string_view ToText(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

// What rabbitmq-c decodes into memory of its own.
class Pool {
 public:
  Pool() { init_amqp_pool(&pool_, 4096); }
  ~Pool() { empty_amqp_pool(&pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  amqp_pool_t* get() { return &pool_; }

 private:
  amqp_pool_t pool_;
};

// A table for rabbitmq-c, which has it decoded, from one that is encoded (without the length in
// front, as retryq::amqp::TableView has it). rabbitmq-c encodes it to the same bytes again.
class DecodedTable {
 public:
  explicit DecodedTable(std::string_view encoded);

  // kInvalidArgument where rabbitmq-c cannot read it.
  const absl::Status& status() const { return status_; }
  // Valid as long as this is.
  const amqp_table_t& get() const { return table_; }

 private:
  std::string bytes_;  // the length included
  Pool pool_;
  amqp_table_t table_{};
  absl::Status status_;
};

}  // namespace examples

#endif  // RETRYQ_EXAMPLES_RABBITMQ_C_BROKER_BYTES_H_
