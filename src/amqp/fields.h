#ifndef RETRYQ_AMQP_FIELDS_H_
#define RETRYQ_AMQP_FIELDS_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "amqp/wire.h"
#include "retryq/amqp/table.h"

namespace retryq::amqp {

// The fields of methods and of content headers, whose C++ type says how they are encoded:
// unsigned integers in network order, a string_view as a short string (at most 255 bytes), a
// LongString, a TableView behind its length, and a bool as one bit.

struct LongString {
  std::string_view bytes;
};

// A field that has lost its meaning: written as zero or empty, read and forgotten.
template <typename T>
struct Reserved {};
template <typename T>
inline constexpr Reserved<T> kReserved;

template <typename T>
concept FieldInteger = std::unsigned_integral<T> && !std::same_as<T, bool>;

// Appends fields one after the other; bits next to each other share an octet, the first one lowest.
class FieldWriter {
 public:
  // `out` must outlive the writer.
  explicit FieldWriter(std::string* out) : out_(out) {}

  void Write(bool flag) {
    if (bit_ == 0) out_->push_back('\0');
    out_->back() = static_cast<char>(out_->back() | int{flag} << bit_);
    bit_ = (bit_ + 1) % 8;
  }
  void Write(FieldInteger auto number) {
    bit_ = 0;
    AppendInteger(number, out_);
  }
  void Write(std::string_view text) {
    bit_ = 0;
    AppendShortString(text, out_);
  }
  void Write(LongString text) {
    bit_ = 0;
    AppendLongString(text.bytes, out_);
  }
  void Write(TableView table) { Write(LongString{table.bytes()}); }
  template <typename T>
  void Write(Reserved<T>) {
    Write(T{});
  }

 private:
  std::string* out_;
  int bit_ = 0;  // where in the last octet the next flag goes; 0: into a new octet
};

// Reads what FieldWriter writes. What it reads views the bytes it was given.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : wire_(bytes) {}

  void Read(bool& flag) {
    if (bit_ == 0) octet_ = wire_.Integer<std::uint8_t>();
    flag = (octet_ >> bit_ & 1) != 0;
    bit_ = (bit_ + 1) % 8;
  }
  template <FieldInteger T>
  void Read(T& number) {
    bit_ = 0;
    number = wire_.Integer<T>();
  }
  void Read(std::string_view& text) {
    bit_ = 0;
    text = wire_.ShortString();
  }
  void Read(LongString& text) {
    bit_ = 0;
    text.bytes = wire_.LongString();
  }
  void Read(TableView& table) {
    bit_ = 0;
    table = TableView(wire_.LongString());
    if (table_status_.ok()) table_status_ = table.Validate();
  }
  template <typename T>
  void Read(const Reserved<T>&) {
    T forgotten{};
    Read(forgotten);
  }

  // Whether the fields read were all there is: a ProtocolError (502) about `what` if the bytes
  // ended early, if some are left, or if a table is not valid.
  absl::Status Finish(std::string_view what) const {
    return wire_.ok() && wire_.rest().empty() && table_status_.ok()
               ? absl::OkStatus()
               : Error(what, wire_, table_status_);
  }

 private:
  // Not of the reader itself, which can then stay in registers.
  static absl::Status Error(std::string_view what, WireReader wire, absl::Status table_status);

  WireReader wire_;
  std::uint8_t octet_ = 0;
  unsigned bit_ = 0;  // of octet_, the next flag's; 0: that of a new octet
  absl::Status table_status_;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_FIELDS_H_
