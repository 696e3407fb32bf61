#include "cli/flags/breaker_flags.h"

#include <array>
#include <string>
#include <utility>

namespace retryq::cli {

void AddFlags(FlagParser& parser, BreakerFlags& flags, const std::string& description) {
  parser.Add("--breaker", &flags.breaker, description);
  parser.Add("--breaker-calls", "NUMBER", &flags.calls,
             "With --breaker: how many of the last runs are looked at (default: 20)");
  parser.Add("--breaker-ratio", "RATIO", &flags.ratio,
             "With --breaker: the part of them that must have failed, up to 1\n"
             "(default: 0.5)");
  parser.Add("--breaker-pause", "DURATION", &flags.pause,
             "With --breaker: how long consuming pauses, 1s to 24h (default: 30s)");
  parser.Add("--breaker-probes", "NUMBER", &flags.probes,
             "With --breaker: successes in a row until consuming goes on (default: 3)");
}

void ReadFlags(const BreakerFlags& flags, FlagReader& reader,
               std::optional<BreakerOptions>* value) {
  if (!flags.breaker) {
    const std::array<std::pair<const char*, const FlagText*>, 4> others = {
        {{"--breaker-calls", &flags.calls},
         {"--breaker-ratio", &flags.ratio},
         {"--breaker-pause", &flags.pause},
         {"--breaker-probes", &flags.probes}}};
    for (const auto& [name, text] : others) {
      if (*text)
        reader.Complain(std::string(name) + ": is for --breaker; add that, or leave this out");
    }
    return;
  }
  BreakerOptions& options = value->emplace();
  reader.Read("--breaker-calls", flags.calls, 1, 10'000, &options.calls);
  reader.Read("--breaker-ratio", flags.ratio, &options.ratio);
  reader.Read("--breaker-pause", flags.pause, &options.pause);
  reader.Read("--breaker-probes", flags.probes, 1, 1'000, &options.probes);
  reader.Complain(Validate(options));
}

}  // namespace retryq::cli
