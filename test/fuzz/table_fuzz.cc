#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/check.h"
#include "retryq/amqp/table.h"

using namespace retryq;        // NOLINT(google-build-using-namespace)
using namespace retryq::amqp;  // NOLINT(google-build-using-namespace)

namespace {

// Walking works on any bytes: it stays within bounds, and patching copies the fields that it
// passes.
void Walk(TableView view) {
  std::string copied;
  TableWriter writer(&copied);
  for (const FieldView& field : view) {
    field.AsInt64();
    field.AsString();
    static_cast<void>(field.Decode());
    writer.Copy(field);
  }
  Check(view.bytes().substr(0, copied.size()) == copied, "fields lie one behind the other");
  Check(copied.size() == view.bytes().size() || !view.Validate().ok(),
        "a valid table is walked to its end");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const TableView view(input);
  Walk(view);

  const auto table = view.Decode();
  if (!table.ok()) return 0;
  Check(view.Validate().ok(), "what is decoded is valid");
  const auto written = table->Encode();
  Check(written.ok() && written->size() == input.size(), "what is decoded is encoded");
  const auto again = TableView(*written).Decode();
  Check(again.ok() && again->Encode().value() == *written, "and decoded the same");
  return 0;
}
