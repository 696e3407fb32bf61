#include "cli/flags/backoff_flags.h"

#include <string>

namespace retryq::cli {
namespace {

constexpr char kDecorrelated[] = "decorrelated";

// Reports flags that have no effect together with others.
class Contradictions {
 public:
  explicit Contradictions(FlagReader& reader) : reader_(reader) {}

  void Refuse(const std::string& beside, const FlagText& text, const char* flag, const char* why) {
    if (text) Complain(std::string(flag) + ": goes not with " + beside + ", " + why);
  }
  void Complain(const std::string& what) {
    reader_.Complain(what);
    found_ = true;
  }
  bool found() const { return found_; }

 private:
  FlagReader& reader_;
  bool found_ = false;
};

// Returns true if the flags can be combined.
bool CheckTogether(const BackoffFlags& flags, FlagReader& reader) {
  Contradictions all(reader);
  const std::string growth = flags.backoff.value_or("exponential");
  if (flags.delays) {
    constexpr char kWhy[] = "which says all delays";
    all.Refuse("--delays", flags.backoff, "--backoff", kWhy);
    all.Refuse("--delays", flags.base, "--base", kWhy);
    all.Refuse("--delays", flags.factor, "--factor", kWhy);
    all.Refuse("--delays", flags.step, "--step", kWhy);
    all.Refuse("--delays", flags.max, "--max", kWhy);
  } else if (growth == "fixed") {
    constexpr char kWhy[] = "where each delay is --base";
    all.Refuse("--backoff fixed", flags.factor, "--factor", kWhy);
    all.Refuse("--backoff fixed", flags.step, "--step", kWhy);
    all.Refuse("--backoff fixed", flags.max, "--max", kWhy);
  } else if (growth == "linear") {
    all.Refuse("--backoff linear", flags.factor, "--factor", "which grows by --step");
  } else if (flags.step) {
    all.Complain("--step: is for --backoff linear; add that, or leave this out");
  }
  if (flags.jitter != kDecorrelated) return !all.found();
  constexpr char kWhy[] = "where each delay follows from the one before";
  all.Refuse("--jitter decorrelated", flags.backoff, "--backoff", kWhy);
  all.Refuse("--jitter decorrelated", flags.factor, "--factor", kWhy);
  all.Refuse("--jitter decorrelated", flags.delays, "--delays", kWhy);
  return !all.found();
}

void ReadGrowth(const BackoffFlags& flags, FlagReader& reader, BackoffOptions* options) {
  if (!flags.backoff || *flags.backoff == "exponential") return;
  if (*flags.backoff == "linear") {
    options->growth = Growth::kLinear;
  } else if (*flags.backoff == "fixed") {
    options->factor = 1.0;
  } else {
    reader.Complain("--backoff '" + *flags.backoff + "': write exponential, linear or fixed");
  }
}

void ReadJitter(const BackoffFlags& flags, FlagReader& reader, BackoffOptions* options) {
  if (flags.jitter == kDecorrelated) {
    options->jitter_kind = JitterKind::kDecorrelated;
  } else if (flags.jitter == "full") {
    options->jitter = 1.0;
  } else {
    reader.Read("--jitter", flags.jitter, &options->jitter);
  }
}

}  // namespace

void AddBackoffFlags(FlagParser& parser, BackoffFlags& flags) {
  parser.Add("--backoff", "exponential|linear|fixed", &flags.backoff,
             "How delays grow: exponential, linear or fixed (default: exponential)");
  parser.Add("--base", "DURATION", &flags.base, "The first delay (default: 1s)");
  parser.Add("--factor", "NUMBER", &flags.factor,
             "Exponential: each delay is this times the one before (default: 2)");
  parser.Add("--step", "DURATION", &flags.step,
             "Linear: each delay is this longer than the one before (default: --base)");
  parser.Add("--max", "DURATION", &flags.max, "The longest delay (default: 10m)");
  parser.Add("--delays", "LIST", &flags.delays,
             "The delays one by one instead, as in 1s,10s,100s,500s; the last one\n"
             "repeats until --max-attempts or --max-age is reached");
  parser.Add("--jitter", "PART|full|decorrelated", &flags.jitter,
             "What is left to chance: a part of each delay, from 0 to 1; full, which is\n"
             "1; or decorrelated: from --base to three times the delay before, at most\n"
             "--max (default: 0)");
}

void ReadBackoff(const BackoffFlags& flags, FlagReader& reader, BackoffOptions* options) {
  ReadGrowth(flags, reader, options);
  reader.Read("--base", flags.base, &options->base);
  reader.Read("--factor", flags.factor, &options->factor);
  reader.Read("--step", flags.step, &options->step);
  reader.Read("--max", flags.max, &options->max);
  reader.Read("--delays", flags.delays, &options->delays);
  ReadJitter(flags, reader, options);
  if (CheckTogether(flags, reader)) return;
  // Already reported: resets the fields so that the library does not report them again.
  options->growth = Growth::kExponential;
  options->step = absl::ZeroDuration();
  options->delays.clear();
  options->jitter_kind = JitterKind::kFraction;
}

}  // namespace retryq::cli
