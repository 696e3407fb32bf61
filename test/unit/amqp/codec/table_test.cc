#include "retryq/amqp/table.h"

#include "amqp/codec/wire.h"
#include "support/test.h"
#include "unit/amqp/hex.h"

namespace retryq::amqp::table_test {

// One field of every wire type, each named by its type.
const char kEveryType[] =
    "0174 74 01"
    "0162 62 ff"
    "0142 42 ff"
    "0173 73 fffe"
    "0175 75 fffe"
    "0149 49 fffffffd"
    "0169 69 fffffffd"
    "016c 6c fffffffffffffffc"
    "014c 4c fffffffffffffffc"
    "0166 66 3fc00000"
    "0164 64 c004000000000000"
    "0144 44 02 ffffffff"
    "0154 54 0000000065000000"
    "0153 53 00000003 616263"
    "0178 78 00000002 00ff"
    "0141 41 00000007 7401 53 00000000"
    "0146 46 00000004 0161 7400"
    "0156 56";

Table EveryType() {
  return {
      {"t", true},
      {"b", std::int8_t{-1}},
      {"B", std::uint8_t{255}},
      {"s", std::int16_t{-2}},
      {"u", std::uint16_t{65534}},
      {"I", std::int32_t{-3}},
      {"i", std::uint32_t{4294967293}},
      {"l", std::int64_t{-4}},
      {"L", std::uint64_t{18446744073709551612u}},
      {"f", 1.5f},
      {"d", -2.5},
      {"D", Decimal{.scale = 2, .unscaled = -1}},
      {"T", Timestamp{0x65000000}},
      {"S", "abc"},
      {"x", Bytes{std::string("\0\xff", 2)}},
      {"A", Array{true, ""}},
      {"F", Table{{"a", false}}},
      {"V", Void{}},
  };
}

// The head of a nested value: its type and the size of what it holds.
std::string NestedHead(char type, std::size_t size) {
  std::string head(1, type);
  AppendInteger(static_cast<std::uint32_t>(size), &head);
  return head;
}

// A table with tables, or with arrays of arrays, inside each other: `levels` in all.
std::string NestedTables(std::size_t levels) {
  std::string bytes;
  for (std::size_t inside = levels - 1; inside-- > 0;) {
    bytes.append("\1n").append(NestedHead('F', 7 * inside));
  }
  return bytes;
}
std::string NestedArrays(std::size_t levels) {
  std::string bytes = "\1n";
  for (std::size_t inside = levels - 1; inside-- > 0;) bytes += NestedHead('A', 5 * inside);
  return bytes;
}

TEST(Table, EncodesEveryTypeAsRabbitMqDoes) {
  EXPECT_EQ(EveryType().Encode().value(), FromHex(kEveryType));
}

TEST(Table, ReadsAnyNonzeroOctetAsTrue) {
  const std::string bytes = FromHex("0161 74 02");
  EXPECT_EQ(*TableView(bytes).Decode()->Find("a"), Value(true));
}

TEST(Table, ReplacesTheFirstFieldOfAName) {
  Table table = {{"a", 1}, {"b", 2}};
  table.Append("a", 3);
  table.Set("a", 4);
  table.Set("c", 5);
  EXPECT_EQ(*table.Find("a"), Value(4));
  EXPECT_EQ(table.fields().size(), 4u);
  EXPECT_EQ(table, (Table{{"a", 4}, {"b", 2}, {"a", 3}, {"c", 5}}));
  EXPECT_EQ(table.Find("d"), nullptr);
}

TEST(Table, ComparesNestedTablesByTheirFields) {
  EXPECT_EQ(Value(Table{{"a", 1}}), Value(Table{{"a", 1}}));
  EXPECT_NE(Value(Table{{"a", 1}}), Value(Table{{"a", 2}}));
  EXPECT_NE(Value(Table{}), Value());
  EXPECT_NE(Value(std::int32_t{1}), Value(std::int64_t{1}));
}

TEST(Table, EncodesANullTableAsAnEmptyOne) {
  const Table table = {{"a", std::shared_ptr<const Table>()}};
  EXPECT_EQ(table.Encode().value(), FromHex("0161 46 00000000"));
}

TEST(Table, RefusesNamesOfMoreThan255Bytes) {
  const std::string longest(255, 'n');
  const std::string encoded = Table{{longest, true}}.Encode().value();
  EXPECT_EQ(TableView(encoded).begin()->name, longest);
  const absl::Status status = Table{{longest + "n", true}}.Encode().status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
}

TEST(Table, EncodesAndDecodesAtMost32Levels) {
  Table table;
  for (int level = 1; level < kMaxTableDepth; ++level) table = Table{{"n", std::move(table)}};
  const std::string bytes = table.Encode().value();
  EXPECT_EQ(bytes, NestedTables(kMaxTableDepth));
  EXPECT_EQ(TableView(bytes).Decode().value(), table);

  table = Table{{"n", std::move(table)}};
  EXPECT_EQ(table.Encode().status().message(), "field \"n\" nests deeper than 32 levels");
  EXPECT_EQ(TableView(NestedTables(kMaxTableDepth + 1)).Decode().status().message(),
            "field \"n\" nests deeper than 32 levels");
  EXPECT_TRUE(TableView(NestedArrays(kMaxTableDepth)).Decode().ok());
  EXPECT_TRUE(
      absl::IsInvalidArgument(TableView(NestedArrays(kMaxTableDepth + 1)).Decode().status()));
}

TEST(TableView, EndsBeforeTheFirstBadField) {
  for (const char* bad : {"02 62", "0162 3f", "0162", "0162 53 00000001", "0162 6c 00"}) {
    const std::string bytes = FromHex("0161 7401") + FromHex(bad);
    std::vector<std::string> names;
    for (const FieldView& field : TableView(bytes)) names.emplace_back(field.name);
    EXPECT_EQ(names, std::vector<std::string>{"a"}) << bad;
    EXPECT_TRUE(absl::IsInvalidArgument(TableView(bytes).Validate())) << bad;
  }
}

TEST(TableView, RefusesATruncatedTable) {
  const std::string bytes = FromHex(kEveryType);
  std::size_t end_of_field = 0;
  for (const FieldView& field : TableView(bytes)) {
    EXPECT_TRUE(TableView(bytes.substr(0, end_of_field)).Validate().ok());
    for (std::size_t cut = 1; cut < field.bytes.size(); ++cut) {
      const std::string part = bytes.substr(0, end_of_field + cut);
      EXPECT_TRUE(absl::IsInvalidArgument(TableView(part).Validate())) << part.size();
      EXPECT_TRUE(absl::IsInvalidArgument(TableView(part).Decode().status())) << part.size();
    }
    end_of_field += field.bytes.size();
  }
  EXPECT_TRUE(TableView(bytes).Validate().ok());
}

TEST(TableView, RefusesNestedLengthsThatExceedTheirParent) {
  const std::string table = FromHex(
      "0161 46 00000005 0162 53 00000001"
      "0163 7401");
  const std::string array = FromHex(
      "0161 41 00000005 53 00000001"
      "0163 7401");
  for (const std::string& bytes : {table, array}) {
    EXPECT_EQ(TableView(bytes).Validate().message(),
              "field \"a\" holds a value of an unknown type or of a wrong length");
    EXPECT_FALSE(TableView(bytes).Decode().ok());
    EXPECT_FALSE(TableView(bytes).begin()->Decode().ok());
  }
}

// Where a size_t has 32 bits, these and the four bytes of the length itself are a small number.
TEST(TableView, RefusesLengthsUpToTheLargest) {
  for (const char* type : {"53", "78", "41", "46"}) {
    for (const char* length : {"fffffffb", "fffffffc", "fffffffd", "fffffffe", "ffffffff"}) {
      const std::string field = FromHex(absl::StrCat("0161 ", type, " ", length));
      EXPECT_FALSE(TableView(field).Validate().ok()) << type << length;
      EXPECT_FALSE(TableView(field).Find("a").has_value()) << type << length;
    }
  }
}

TEST(TableView, FindsNonFiniteNumbersAtAnyDepth) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto name_of = [](const Table& table) {
    const std::string bytes = table.Encode().value();
    return std::string(TableView(bytes).CheckFinite().message());
  };
  EXPECT_EQ(name_of({{"a", 1.5}, {"b", -0.0}, {"c", std::numeric_limits<double>::max()}}), "");
  EXPECT_EQ(name_of({{"a", 1.5F}, {"b", std::numeric_limits<float>::max()}, {"c", "nan"}}), "");
  const std::vector<Value> bad = {infinity,
                                  -infinity,
                                  std::numeric_limits<double>::quiet_NaN(),
                                  std::numeric_limits<float>::infinity(),
                                  std::numeric_limits<float>::signaling_NaN(),
                                  Array{Value(1), Value(infinity)},
                                  Table{{"x", Array{Value(Table{{"y", infinity}})}}, {"z", 1}}};
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(name_of({{"good", 1.0}, {"bad", bad[i]}, {"later", 1}}),
              "field \"bad\" is not a finite number")
        << i;
  }
}

TEST(TableView, NamesTheBadField) {
  const std::string bytes = FromHex("0161 7401 02 62 0a 3f 00");
  EXPECT_EQ(TableView(bytes).Validate().message(),
            "field \"b\\n\" is of an unknown type or longer than the table");
}

// RabbitMQ carries tables nested 900 deep. 100 000 levels would overrun a stack, and anything
// quadratic would run into the test's time limit.
TEST(TableView, WalksTablesOfAnyDepth) {
  for (const std::size_t levels : {900u, 100'000u}) {
    for (std::string bytes : {NestedTables(levels), NestedArrays(levels)}) {
      EXPECT_TRUE(TableView(bytes).Validate().ok()) << levels;
      EXPECT_EQ(TableView(bytes).begin()->bytes, bytes);
      EXPECT_TRUE(absl::IsInvalidArgument(TableView(bytes).Decode().status()));
      EXPECT_TRUE(absl::IsInvalidArgument(TableView(bytes).begin()->Decode().status()));

      bytes.back() = 1;  // the innermost length lies
      EXPECT_TRUE(absl::IsInvalidArgument(TableView(bytes).Validate())) << levels;
    }
  }
}

TEST(TableView, WalksManyNestedFieldsInLinearTime) {
  std::string array;
  for (int i = 0; i < 200'000; ++i) array += FromHex("41 00000000");
  std::string bytes = "\1a";
  bytes.append(NestedHead('A', array.size())).append(array);
  EXPECT_TRUE(TableView(bytes).Validate().ok());
}

TEST(TableView, FindsTheFirstFieldOfAName) {
  std::string bytes;
  TableWriter writer(&bytes);
  writer.SetInt64("a", 1);
  writer.SetString("s", "text");
  writer.SetInt64("a", 2);
  const TableView view(bytes);
  EXPECT_EQ(view.FindInt64("a"), 1);
  EXPECT_EQ(view.FindString("s"), "text");
  EXPECT_FALSE(view.Find("s")->AsTable().has_value());
  EXPECT_FALSE(view.Find("b").has_value());
  EXPECT_FALSE(view.FindInt64("s").has_value());
  EXPECT_FALSE(view.FindString("a").has_value());
}

TEST(FieldView, WidensEveryIntegerType) {
  const std::string bytes = FromHex(kEveryType);
  const TableView view(bytes);
  EXPECT_EQ(view.FindInt64("b"), -1);
  EXPECT_EQ(view.FindInt64("B"), 255);
  EXPECT_EQ(view.FindInt64("s"), -2);
  EXPECT_EQ(view.FindInt64("u"), 65534);
  EXPECT_EQ(view.FindInt64("I"), -3);
  EXPECT_EQ(view.FindInt64("i"), 4294967293);
  EXPECT_EQ(view.FindInt64("l"), -4);
  for (const char* name : {"t", "f", "d", "D", "T", "S", "x", "A", "F", "V"}) {
    EXPECT_FALSE(view.FindInt64(name).has_value()) << name;
  }
}

TEST(FieldView, HasNoInt64AboveItsRange) {
  EXPECT_FALSE(TableView(FromHex("014c 4c 8000000000000000")).FindInt64("L").has_value());
  const std::string largest = FromHex("014c 4c 7fffffffffffffff");
  EXPECT_EQ(TableView(largest).FindInt64("L"), std::numeric_limits<std::int64_t>::max());
}

TEST(FieldView, ReadsByteArraysAsText) {
  const std::string bytes = FromHex(kEveryType);
  EXPECT_EQ(TableView(bytes).FindString("S"), "abc");
  EXPECT_EQ(TableView(bytes).FindString("x"), std::string_view("\0\xff", 2));
}

TEST(FieldView, DecodesOneField) {
  const std::string bytes = FromHex(kEveryType);
  EXPECT_EQ(TableView(bytes).Find("A")->Decode().value(), Value(Array{true, ""}));
}

TEST(TableWriter, PatchesHeadersAtTheirTopLevel) {
  const std::string before = FromHex(kEveryType);
  std::string after;
  TableWriter writer(&after);
  for (const FieldView& field : TableView(before)) {
    if (field.name != "S") writer.Copy(field);
  }
  writer.SetInt64("S", -5);
  writer.SetString("text", "é");
  writer.SetBool("flag", true);

  Table expected;
  const Table every_type = EveryType();
  for (const auto& [name, value] : every_type.fields()) {
    if (name != "S") expected.Append(name, value);
  }
  expected.Append("S", std::int64_t{-5});
  expected.Append("text", "é");
  expected.Append("flag", true);
  EXPECT_EQ(after, expected.Encode().value());
}

}  // namespace retryq::amqp::table_test
