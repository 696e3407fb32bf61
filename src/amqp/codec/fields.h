#ifndef RETRYQ_AMQP_FIELDS_H_
#define RETRYQ_AMQP_FIELDS_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "amqp/codec/wire.h"
#include "retryq/amqp/table.h"

namespace retryq::amqp {

// Fields of methods and of content headers. Their C++ type determines the encoding: unsigned
// integers in network order, a string_view as a short string (at most 255 bytes), a LongString, a
// TableView after its length, and a bool as one bit.

struct LongString {
  std::string_view bytes;
};

// A field that is no longer used: written as zero or empty, read and ignored.
template <typename T>
struct Reserved {};
template <typename T>
inline constexpr Reserved<T> kReserved;

template <typename T>
concept FieldInteger = std::unsigned_integral<T> && !std::same_as<T, bool>;

// Counts the bytes that FieldWriter writes.
class FieldSizer {
 public:
  void Add(bool) {
    if (bit_ == 0) ++size_;
    bit_ = (bit_ + 1) % 8;
  }
  void Add(FieldInteger auto number) { AddOctets(sizeof(number)); }
  void Add(std::string_view text) { AddOctets(sizeof(std::uint8_t) + text.size()); }
  void Add(LongString text) { AddOctets(sizeof(std::uint32_t) + text.bytes.size()); }
  void Add(TableView table) { Add(LongString{table.bytes()}); }
  template <typename T>
  void Add(Reserved<T>) {
    Add(T{});
  }

  std::size_t size() const { return size_; }

 private:
  void AddOctets(std::size_t size) {
    bit_ = 0;
    size_ += size;
  }

  std::size_t size_ = 0;
  int bit_ = 0;  // as in FieldWriter
};

// Writes fields one after the other; the caller provides the space. Adjacent bits share an octet,
// beginning with the lowest bit.
class FieldWriter {
 public:
  explicit FieldWriter(char* out) : wire_(out) {}

  void Write(bool flag) {
    if (bit_ == 0) wire_.Integer(std::uint8_t{0});
    char& octet = wire_.end()[-1];
    octet = static_cast<char>(octet | int{flag} << bit_);
    bit_ = (bit_ + 1) % 8;
  }
  void Write(FieldInteger auto number) {
    bit_ = 0;
    wire_.Integer(number);
  }
  void Write(std::string_view text) {
    bit_ = 0;
    wire_.ShortString(text);
  }
  void Write(LongString text) {
    bit_ = 0;
    wire_.LongString(text.bytes);
  }
  void Write(TableView table) { Write(LongString{table.bytes()}); }
  template <typename T>
  void Write(Reserved<T>) {
    Write(T{});
  }

 private:
  WireWriter wire_;
  int bit_ = 0;  // position of the next flag in the last octet; 0: in a new octet
};

// Reads the fields that FieldWriter writes. Views in the results point into the given bytes.
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
    if (!invalid_table_ && !table.Validate().ok()) invalid_table_ = table;
  }
  template <typename T>
  void Read(const Reserved<T>&) {
    T forgotten{};
    Read(forgotten);
  }

  // Returns whether the fields were complete: a ProtocolError (502) about `what` if bytes are
  // missing or left over, or if a table is not valid.
  absl::Status Finish(std::string_view what) const {
    return wire_.ok() && wire_.rest().empty() && !invalid_table_
               ? absl::OkStatus()
               : Error(what, wire_, invalid_table_);
  }

 private:
  // Static, so that the reader itself can stay in registers.
  static absl::Status Error(std::string_view what, WireReader wire,
                            std::optional<TableView> invalid_table);

  WireReader wire_;
  std::uint8_t octet_ = 0;
  unsigned bit_ = 0;  // position of the next flag in octet_; 0: in a new octet
  std::optional<TableView> invalid_table_;  // the first one. A Status would cost a destructor
};

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_FIELDS_H_
