#include "bytes.h"

#include <cstddef>

namespace examples {

DecodedTable::DecodedTable(std::string_view encoded) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes_.push_back(static_cast<char>((encoded.size() >> shift) & 0xff));
  }
  bytes_.append(encoded);
  std::size_t offset = 0;
  const int result = amqp_decode_table(ToBytes(bytes_), pool_.get(), &table_, &offset);
  if (result != AMQP_STATUS_OK) {
    status_ = absl::InvalidArgumentError(amqp_error_string2(result));
  }
}

}  // namespace examples
