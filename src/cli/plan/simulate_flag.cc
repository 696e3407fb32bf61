#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/plan/outage.h"
#include "cli/text/duration.h"

namespace retryq::cli {
namespace {

// Parses a rate per second, minute or hour to one per second. Returns a negative number if the text
// is no rate up to a million per second.
double ParseRate(const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"/s", 1}, {"/m", 60}, {"/h", 3600}};
  for (const auto& [unit, seconds] : kUnits) {
    double number = 0;
    if (!text.ends_with(unit)) continue;
    if (!absl::SimpleAtod(text.substr(0, text.size() - unit.size()), &number)) break;
    if (number >= 0 && number / seconds <= 1e6) return number / seconds;
  }
  return -1;
}

// Reads the settings of --simulate one by one.
class SimulateReader {
 public:
  explicit SimulateReader(FlagReader& reader) : reader_(reader) {}

  void Read(const std::string& key, const std::string& text) {
    const std::string flag = "--simulate " + key;
    if (key == "outage") {
      reader_.Read(flag, text, &options_.outage);
    } else if (key == "start") {
      reader_.Read(flag, text, &options_.start.emplace());
    } else if (key == "duration") {
      reader_.Read(flag, text, &options_.duration.emplace());
    } else if (key == "burst") {
      reader_.Read(flag, text, 0, SimulationLimits().messages, &options_.burst);
    } else if (key == "seed") {
      reader_.Read(flag, text, 0, UINT64_MAX, &options_.seed);
    } else if (key == "rate") {
      options_.rate = ParseRate(text);
      Require(options_.rate >= 0, flag, text, kRate);
    } else if (key == "capacity") {
      options_.capacity = ParseRate(text);
      Require(options_.capacity > 0, flag, text, kRateAboveZero);
    } else if (key == "speed") {
      options_.speed = ParseRate(text);
      Require(options_.speed > 0, flag, text, kRateAboveZero);
    } else if (key == "error_rate") {
      const bool is_number = absl::SimpleAtod(text, &options_.error_rate);
      Require(is_number && options_.error_rate >= 0 && options_.error_rate < 1, flag, text,
              "write the part of calls that fails, from 0 to below 1");
    } else if (key == "arrivals") {
      options_.poisson = text == "poisson";
      Require(options_.poisson || text == "even", flag, text, "write even or poisson");
    } else {
      reader_.Complain(absl::StrCat("--simulate: unknown key \"", key, "\"; write KEY=VALUE with ",
                                    "commas between; keys: outage, rate, burst, capacity, ",
                                    "error_rate, arrivals, speed, start, duration, seed"));
    }
    if (!given_.insert(key).second) {
      reader_.Complain(flag + ": is given more than once; give it once");
    }
  }

  // Returns the options, after checks that are for all of them together.
  OutageOptions Finish() {
    if (!reader_.status().ok()) return options_;
    if (!given_.contains("outage")) {
      reader_.Complain("--simulate: the length of the outage is missing; add outage=10m");
    }
    if (options_.rate <= 0 && options_.burst == 0) {
      reader_.Complain("--simulate: no message arrives; add rate=200/s or burst=10000");
    }
    const absl::Duration end = options_.start.value_or(absl::ZeroDuration()) + options_.outage;
    if (options_.duration && *options_.duration < end) {
      reader_.Complain(absl::StrCat("--simulate duration '", DurationText(*options_.duration),
                                    "': the simulation ends before the outage; write at least ",
                                    DurationText(end)));
    }
    return options_;
  }

 private:
  static constexpr char kRate[] = "write a rate up to 1000000/s, such as 200/s, 30/m or 5000/h";
  static constexpr char kRateAboveZero[] =
      "write a rate above 0 and up to 1000000/s, such as 200/s, 30/m or 5000/h";

  void Require(bool condition, const std::string& flag, const std::string& text,
               const char* remedy) {
    if (!condition) reader_.Complain(absl::StrCat(flag, " '", text, "': ", remedy));
  }

  FlagReader& reader_;
  OutageOptions options_;
  std::set<std::string> given_;
};

}  // namespace

OutageOptions ReadSimulate(const std::string& text, FlagReader& reader) {
  SimulateReader simulate(reader);
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<std::string, std::string> setting =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    simulate.Read(setting.first, setting.second);
  }
  return simulate.Finish();
}

}  // namespace retryq::cli
