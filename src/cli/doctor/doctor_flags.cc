#include <string>
#include <utility>

#include "cli/doctor/doctor_command.h"
#include "cli/worker/work_flags.h"

namespace retryq::cli {
namespace {

constexpr HelpText kDoctorHelp = {
    .description =
        "Checks a broker for all that breaks retrying, with a remedy for each problem. Give it the "
        "command\nline of your worker: it takes every flag of retryq work, with the same meaning. "
        "It "
        "consumes\nnothing, runs no COMMAND, and leaves nothing behind.",
    .usage = "retryq doctor [--queue QUEUE] [OPTIONS] [-- COMMAND [ARGUMENT...]]",
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

void AddDoctorFlags(FlagParser& parser, WorkFlags& flags) {
  AddFlags(parser, flags,
           "One JSON object: {\"checks\":[{\"check\",\"result\",\"finding\",\"remedy\"},...]};\n"
           "result is ok, warning, problem or skipped");
}

DoctorOptions ReadDoctorFlags(const WorkFlags& flags, FlagReader& reader) {
  if (flags.parked && !flags.queue) {
    reader.Complain("--parked: is for --queue; add that, or leave this out");
  }
  return OptionsToExamine(ReadFlags(flags, reader));
}

}  // namespace

DoctorOptions OptionsToExamine(const WorkOptions& worker) {
  const ConsumerOptions& consumer = worker.consumer;
  DoctorOptions options{.place = {.client = worker.client,
                                  .connection = ConnectionOf(worker.client),
                                  .management = worker.management},
                        .retry = consumer.retry,
                        .delay_queues = worker.client.delay_queues,
                        .queue = consumer.queue,
                        .work_exchange = consumer.work_exchange,
                        .share_retries = consumer.share_retries,
                        .parked_queue = consumer.parked_queue,
                        .json = worker.json};
  if (consumer.declare) options.declare_queue = consumer.declare->type;
  if (options.parked_queue.empty() && !options.queue.empty()) {
    options.parked_queue = options.queue + ".parked";
  }
  return options;
}

absl::StatusOr<std::variant<DoctorOptions, Answer>> ParseDoctor(const Arguments& arguments) {
  WorkFlags flags;
  const Arguments ours = TakeCommand(arguments, &flags);
  return ParseFlags<DoctorOptions>(kDoctorHelp, ours, std::move(flags), AddDoctorFlags,
                                   ReadDoctorFlags);
}

}  // namespace retryq::cli
