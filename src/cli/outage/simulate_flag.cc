#include "cli/outage/simulate_flag.h"

#include <array>
#include <charconv>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/outage/outage_simulation.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

constexpr double kMostPerSecond = 1e6;
constexpr absl::Duration kLongestOutage = absl::Hours(24 * 365);

constexpr char kDuration[] = "write a duration of at most 365d, such as 30s, 10m or 1h30m";
constexpr char kRate[] = "write so many a second, minute or hour, such as 200/s, 30/m or 5000/h";

bool ReadDuration(const std::string& text, absl::Duration* value) {
  const std::optional<absl::Duration> duration = ParseDuration(text);
  if (!duration || *duration > kLongestOutage) return false;
  *value = *duration;
  return true;
}

bool ReadDuration(const std::string& text, std::optional<absl::Duration>* value) {
  absl::Duration duration;
  if (!ReadDuration(text, &duration)) return false;
  *value = duration;
  return true;
}

// Reads a rate per second.
bool ReadRate(const std::string& text, double* value) {
  constexpr std::array<std::pair<std::string_view, double>, 3> kUnits = {
      {{"/s", 1}, {"/m", 60}, {"/h", 3600}}};
  for (const auto& [unit, seconds] : kUnits) {
    if (!text.ends_with(unit)) continue;
    double number = 0;
    const bool is_number = absl::SimpleAtod(text.substr(0, text.size() - unit.size()), &number);
    if (!is_number || !(number >= 0 && number / seconds <= kMostPerSecond)) return false;
    *value = number / seconds;
    return true;
  }
  return false;
}

bool ReadCapacity(const std::string& text, double* value) {
  double rate = 0;
  if (!ReadRate(text, &rate) || rate <= 0) return false;
  *value = rate;
  return true;
}

bool ReadPart(const std::string& text, double* value) {
  double number = 0;
  if (!absl::SimpleAtod(text, &number) || !(number >= 0 && number < 1)) return false;
  *value = number;
  return true;
}

bool ReadWhole(const std::string& text, std::uint64_t most, std::uint64_t* value) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end || number > most) return false;
  *value = number;
  return true;
}

bool ReadArrivals(const std::string& text, bool* poisson) {
  *poisson = text == "poisson";
  return *poisson || text == "even";
}

struct SimulateKey {
  std::string_view name;
  bool (*read)(const std::string& text, OutageOptions& options);
  std::string what_it_takes;
};

const std::vector<SimulateKey>& Keys() {
  static const auto* const kKeys = new std::vector<SimulateKey>{
      {"outage", [](const auto& text, auto& to) { return ReadDuration(text, &to.outage); },
       kDuration},
      {"rate", [](const auto& text, auto& to) { return ReadRate(text, &to.rate); }, kRate},
      {"capacity", [](const auto& text, auto& to) { return ReadCapacity(text, &to.capacity); },
       absl::StrCat(kRate, "; more than none")},
      {"speed", [](const auto& text, auto& to) { return ReadCapacity(text, &to.speed.emplace()); },
       absl::StrCat(kRate, "; more than none")},
      {"start", [](const auto& text, auto& to) { return ReadDuration(text, &to.start); },
       kDuration},
      {"duration", [](const auto& text, auto& to) { return ReadDuration(text, &to.duration); },
       kDuration},
      {"error_rate", [](const auto& text, auto& to) { return ReadPart(text, &to.error_rate); },
       "write the part of calls that fails, from 0 to below 1"},
      {"burst",
       [](const auto& text, auto& to) {
         return ReadWhole(text, SimulationLimits().messages, &to.burst);
       },
       absl::StrCat("write a whole number of messages up to ", SimulationLimits().messages)},
      {"arrivals", [](const auto& text, auto& to) { return ReadArrivals(text, &to.poisson); },
       "write even or poisson"},
      {"seed", [](const auto& text, auto& to) { return ReadWhole(text, UINT64_MAX, &to.seed); },
       "write a whole number"},
  };
  return *kKeys;
}

// "outage, rate, …"
std::string NamesOfKeys() {
  std::string names;
  for (const SimulateKey& key : Keys()) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", std::string(key.name));
  }
  return names;
}

const SimulateKey* Find(std::string_view name) {
  for (const SimulateKey& key : Keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

void Check(const OutageOptions& options, const std::set<std::string>& given, FlagReader& reader) {
  if (!given.contains("outage")) {
    reader.Complain("--simulate: says not how long the outage is; add outage=10m");
  }
  if (options.rate <= 0 && options.burst == 0) {
    reader.Complain("--simulate: no message arrives; add rate=200/s or burst=10000");
  }
  const absl::Duration least = options.start.value_or(absl::ZeroDuration()) + options.outage;
  if (options.duration && *options.duration < least) {
    reader.Complain("--simulate 'duration=" + DurationText(*options.duration) +
                    "': ends before the outage does; take at least " + DurationText(least));
  }
}

}  // namespace

OutageOptions ReadSimulate(const std::string& text, FlagReader& reader) {
  OutageOptions options;
  std::set<std::string> given;
  bool readable = true;
  const auto refuse = [&](const std::string& what, const std::string& why) {
    reader.Complain("--simulate '" + what + "': " + why);
    readable = false;
  };
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::string setting(part);
    const std::size_t equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    const SimulateKey* const key = Find(name);
    if (equals == std::string::npos) {
      refuse(setting, "write KEY=VALUE with commas between them, as in outage=10m,rate=200/s");
    } else if (key == nullptr) {
      refuse(setting, "there is no key '" + name + "'; there are " + NamesOfKeys());
    } else if (!given.insert(name).second) {
      refuse(setting, name + " is given more than once; give it once");
    } else if (!key->read(setting.substr(equals + 1), options)) {
      refuse(setting, key->what_it_takes);
    }
  }
  if (readable) Check(options, given, reader);
  return options;
}

}  // namespace retryq::cli
