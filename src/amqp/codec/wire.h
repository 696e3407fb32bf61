#ifndef RETRYQ_AMQP_WIRE_H_
#define RETRYQ_AMQP_WIRE_H_

#include <bit>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/name_size.h"

namespace retryq::amqp {

// The elements of all data on the wire: integers in network order, and strings after their length.

// Converts a number to network order, or back.
template <std::unsigned_integral T>
T InNetworkOrder(T number) {
  if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) {
    return number;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(number);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(number);
  } else {
    return __builtin_bswap64(number);
  }
}

template <std::unsigned_integral T>
T LoadBigEndian(const char* bytes) {
  T number;
  std::memcpy(&number, bytes, sizeof(T));
  return InNetworkOrder(number);
}

template <std::unsigned_integral T>
void StoreBigEndian(T number, char* bytes) {
  number = InNetworkOrder(number);
  std::memcpy(bytes, &number, sizeof(T));
}

// Appends this number of zeros, to be overwritten, and returns their address. Call it once for all
// data that is written together: each call costs more than writing a few bytes. Composing small
// pieces elsewhere and copying them at once is slower, because a load that needs several recent
// stores waits until they are in the cache.
inline char* Extend(std::size_t size, std::string* out) {
  const std::size_t end = out->size();
  out->resize(end + size);
  return out->data() + end;
}

// Writes elements one after the other; the caller provides the space.
class WireWriter {
 public:
  explicit WireWriter(char* out) : out_(out) {}

  template <std::unsigned_integral T>
  void Integer(T value) {
    StoreBigEndian(value, out_);
    out_ += sizeof(T);
  }
  void Bytes(std::string_view bytes) { out_ += bytes.copy(out_, bytes.size()); }
  // `text` must be at most kMaxNameSize bytes.
  void ShortString(std::string_view text) {
    assert(text.size() <= kMaxNameSize);
    Integer(static_cast<std::uint8_t>(text.size()));
    Bytes(text);
  }
  // `text` must be shorter than 4 GiB.
  void LongString(std::string_view text) {
    Integer(static_cast<std::uint32_t>(text.size()));
    Bytes(text);
  }

  // Returns the address for the next element.
  char* end() const { return out_; }

 private:
  char* out_;
};

template <std::unsigned_integral T>
void AppendInteger(T value, std::string* out) {
  StoreBigEndian(value, Extend(sizeof(T), out));
}

// `text` must be at most kMaxNameSize bytes.
inline void AppendShortString(std::string_view text, std::string* out) {
  assert(text.size() <= kMaxNameSize);
  out->push_back(static_cast<char>(text.size()));
  out->append(text);
}

// `text` must be shorter than 4 GiB.
inline void AppendLongString(std::string_view text, std::string* out) {
  AppendInteger(static_cast<std::uint32_t>(text.size()), out);
  out->append(text);
}

// Reads elements from the front of bytes that it does not own. After the first read that does not
// fit, all reads return zeros and empty views, so it is enough to check `ok` once at the end.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  template <std::unsigned_integral T>
  T Integer() {
    const std::string_view bytes = Bytes(sizeof(T));
    return bytes.size() == sizeof(T) ? LoadBigEndian<T>(bytes.data()) : T{0};
  }

  std::string_view Bytes(std::size_t size) {
    if (size > rest_.size()) {
      ok_ = false;
      rest_ = {};
      return {};
    }
    const std::string_view bytes(rest_.data(), size);
    rest_.remove_prefix(size);
    return bytes;
  }

  // The same as Bytes(Integer<std::uint8_t>()), with one check.
  std::string_view ShortString() {
    const std::size_t size = rest_.empty() ? 0 : static_cast<std::uint8_t>(rest_.front());
    if (size >= rest_.size()) return Bytes(rest_.size() + 1);
    const std::string_view text(rest_.data() + 1, size);
    rest_.remove_prefix(1 + size);
    return text;
  }
  std::string_view LongString() { return Bytes(Integer<std::uint32_t>()); }

  // Whether all reads so far were within the bytes.
  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_WIRE_H_
