#ifndef RETRYQ_AMQP_WIRE_H_
#define RETRYQ_AMQP_WIRE_H_

#include <array>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace retryq::amqp {

// The elements of which everything on the wire is made: integers in network order, and strings
// behind their length.

inline constexpr std::size_t kMaxShortString = 255;

// One expression, which compilers make a single load of; of a loop they do not.
template <std::unsigned_integral T>
constexpr T LoadBigEndian(const char* bytes) {
  return [bytes]<std::size_t... i>(std::index_sequence<i...>) {
    return static_cast<T>(
        ((std::uint64_t{static_cast<std::uint8_t>(bytes[i])} << 8 * (sizeof(T) - 1 - i)) | ...));
  }
  (std::make_index_sequence<sizeof(T)>());
}

template <std::unsigned_integral T>
constexpr void StoreBigEndian(T value, char* bytes) {
  for (std::size_t i = sizeof(T); i-- > 0;) {
    bytes[i] = static_cast<char>(value & 0xff);
    value = static_cast<T>(std::uint64_t{value} >> 8);
  }
}

// Appends so many zeros, to be written over: once for all that is written together, as each call
// costs more than a few bytes do. What is put together from small pieces elsewhere, and copied
// right then, takes longer: no load is served by several stores before they have left for the
// cache.
inline char* Extend(std::size_t size, std::string* out) {
  const std::size_t end = out->size();
  out->resize(end + size);
  return out->data() + end;
}

// Writes elements one behind the other where there is room for them.
class WireWriter {
 public:
  explicit WireWriter(char* out) : out_(out) {}

  template <std::unsigned_integral T>
  void Integer(T value) {
    StoreBigEndian(value, out_);
    out_ += sizeof(T);
  }
  void Bytes(std::string_view bytes) { out_ += bytes.copy(out_, bytes.size()); }
  // `text` must be at most kMaxShortString bytes.
  void ShortString(std::string_view text) {
    assert(text.size() <= kMaxShortString);
    Integer(static_cast<std::uint8_t>(text.size()));
    Bytes(text);
  }
  // `text` must be shorter than 4 GiB.
  void LongString(std::string_view text) {
    Integer(static_cast<std::uint32_t>(text.size()));
    Bytes(text);
  }

  // Where the next one goes.
  char* end() const { return out_; }

 private:
  char* out_;
};

template <std::unsigned_integral T>
void AppendInteger(T value, std::string* out) {
  StoreBigEndian(value, Extend(sizeof(T), out));
}

// `text` must be at most kMaxShortString bytes.
inline void AppendShortString(std::string_view text, std::string* out) {
  assert(text.size() <= kMaxShortString);
  out->push_back(static_cast<char>(text.size()));
  out->append(text);
}

// `text` must be shorter than 4 GiB.
inline void AppendLongString(std::string_view text, std::string* out) {
  AppendInteger(static_cast<std::uint32_t>(text.size()), out);
  out->append(text);
}

// Reads elements off the front of bytes that live elsewhere. The first read that does not fit
// fails all that follow: they give zeros and empty views, so that a reader is asked once, at its
// end, whether all went well.
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
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  std::string_view ShortString() { return Bytes(Integer<std::uint8_t>()); }
  std::string_view LongString() { return Bytes(Integer<std::uint32_t>()); }

  // Whether every read so far lay inside the bytes.
  bool ok() const { return ok_; }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace retryq::amqp

#endif  // RETRYQ_AMQP_WIRE_H_
