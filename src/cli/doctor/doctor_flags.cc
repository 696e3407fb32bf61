#include <optional>
#include <utility>

#include "cli/doctor/doctor_command.h"
#include "cli/flags/delay_queue_flags.h"
#include "cli/flags/retrying_flags.h"

namespace retryq::cli {
namespace {

constexpr HelpText kDoctorHelp = {
    .description =
        "Checks a broker for all that breaks retrying, and says what to do about it. Give it the "
        "flags "
        "that\nretryq work has. Consumes nothing, and leaves nothing behind.",
    .usage = "retryq doctor [--queue QUEUE] [OPTIONS]",
    .footer =
        R"(What is checked:
  connection          address, TLS, user, password, vhost
  version             whether retryq is tested with it
  tls                 whether passwords and messages can be read on the way
  management          the management API, which half of this needs
  work queue          is there, keeps what is in it, and is consumed; where its own dead letters go is there,
                      too; and it goes with the type of the delay queues
  work exchange       is there, leads back to the work queue, and not by chance
  parked queue        is there, or can be made, keeps what is in it, and is empty
  delay queues        those that exist, against what these options would declare
  federation, shovels those that take messages out of delay queues, or multiply them
  limits              of queues, connections and channels: whether they leave room for a worker
  policies            those that override the TTL, x-expires, length or routing of delay queues
  alarms              memory and disk, which stop all publishing
  certificates        with amqps://: whether the broker's expire within a month
  clock               the broker's and this machine's
  default queue type  what queues become that are declared without a type
  lease               that declaring a queue keeps it alive: asks with a throw-away queue for 4s
  permissions         all that a worker needs, tried out; nothing is consumed or delivered

The throw-away queues are named as delay queues are, PREFIX.315359..., with no message in them. They
are deleted, or expire by themselves within a minute where this is interrupted.

Exit codes: 0 no problem, warnings aside; 64 wrong options; 69 a problem; 77 a problem with rights or
passwords.

Example:
  retryq doctor --queue orders --base 1s --max-attempts 8
)",
};

struct DoctorFlags {
  ManagementFlags management;
  FlagText queue, work_exchange, parked;
  RetryingFlags retrying;
  DelayQueueFlags delay_queues;
  bool json = false;
};

void AddFlags(FlagParser& parser, DoctorFlags& flags) {
  AddFlags(parser, flags.management);
  parser.Add("--queue", "QUEUE", &flags.queue, "The work queue");
  parser.Add("--work-exchange", "EXCHANGE", &flags.work_exchange,
             "Retries return through this exchange (default: straight to QUEUE)");
  parser.Add("--parked", "QUEUE", &flags.parked,
             "Where parked messages wait (default: QUEUE.parked)");
  AddFlags(parser, flags.retrying);
  AddFlags(parser, flags.delay_queues);
  parser.Group("Output");
  parser.Add("--json", &flags.json,
             "One JSON object: {\"checks\":[{\"check\",\"result\",\"finding\",\"remedy\"},...]};\n"
             "result is ok, warning, problem or skipped");
}

DoctorOptions ReadOptions(const DoctorFlags& flags, FlagReader& reader) {
  DoctorOptions options;
  ReadFlags(flags.management, reader, &options.place);
  ReadFlags(flags.retrying, reader, &options.retry);
  ReadFlags(flags.delay_queues, options.place.connection.heartbeat, reader, &options.delay_queues);
  reader.Read("--queue", flags.queue, &options.queue);
  reader.Read("--work-exchange", flags.work_exchange, &options.work_exchange);
  reader.Read("--parked", flags.parked, &options.parked_queue);
  if (flags.parked && !flags.queue) {
    reader.Complain("--parked: is for --queue; add that, or leave this out");
  }
  if (flags.queue && !flags.parked) options.parked_queue = options.queue + ".parked";
  options.json = flags.json;
  return options;
}

}  // namespace

absl::StatusOr<std::variant<DoctorOptions, Answer>> ParseDoctor(const Arguments& arguments) {
  return ParseFlags<DoctorOptions>(kDoctorHelp, arguments, DoctorFlags(), AddFlags, ReadOptions);
}

}  // namespace retryq::cli
