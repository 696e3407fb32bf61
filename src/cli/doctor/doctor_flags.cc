#include "cli/doctor/doctor_command.h"
#include "cli/worker/work_command.h"

namespace retryq::cli {
namespace {

constexpr HelpText kDoctorHelp = {
    .description =
        "Checks a broker for everything that breaks retrying, and prints a remedy for each "
        "problem.\n"
        "Use the flags of your worker: doctor accepts every flag of retryq work, with the same\n"
        "meaning. It consumes no message, does not run COMMAND, and leaves nothing on the broker.",
    .usage = "retryq doctor [--queue QUEUE] [OPTIONS] [-- COMMAND [ARGUMENT...]]",
    .footer =
        R"(Checks:
  connection          address, TLS, user, password, vhost
  version             whether retryq is tested with the version of RabbitMQ
  tls                 whether passwords and messages can be read on the network
  management          the management API, which half of the checks require
  work queue          exists, keeps its messages, has a consumer, suits the type of the delay
                      queues; its dead letters reach a queue
  work exchange       exists, routes back to the work queue, and not at random
  parked queue        exists or can be declared, keeps its messages, is empty
  delay queues        the existing ones, compared with those that these options declare
  federation, shovels those that move or duplicate messages in delay queues
  limits              of queues, connections and channels: whether there is room for a worker
  policies            those that override TTL, x-expires, length or routing of delay queues
  alarms              memory and disk alarms, which stop all publishing
  certificates        with amqps://: whether certificates of the broker expire within a month
  clock               difference between the clocks of the broker and this machine
  default queue type  type of queues that are declared without a type
  lease               whether a repeated declare keeps a queue alive; takes 4s
  permissions         all that a worker needs, tested by using them; nothing is consumed or
                      delivered

Temporary queues are named like delay queues, PREFIX.315359..., or like a queue that does not exist
yet, QUEUE.doctor. They are empty and are deleted, or expire within a minute if doctor is killed.
A changed policy shows up to ten seconds later.

Exit status: 0 no problem (there may be warnings); 64 invalid options; 69 a problem; 77 a missing
permission or wrong password.

Example:
  retryq doctor --queue orders --base 1s --max-attempts 8
)",
};

}  // namespace

DoctorOptions OptionsToExamine(const WorkOptions& worker) {
  const ConsumerOptions& consumer = worker.consumer;
  DoctorOptions options{.place = worker.place,
                        .retry = consumer.retry,
                        .delay_queues = worker.place.client.delay_queues,
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
  WorkOptions worker;
  FlagParser parser(kDoctorHelp);
  AddWorkFlags(parser,
               "Print one JSON object:\n"
               "{\"checks\":[{\"check\",\"result\",\"finding\",\"remedy\"},...]}.\n"
               "The result is ok, warning, problem or skipped",
               &worker);
  const Arguments flags = TakeCommand(arguments, &worker.command);
  return parser.ParseInto(flags, [&worker](FlagReader& reader) {
    reader.RequireFor("--parked", reader.given("--queue"), "--queue");
    return OptionsToExamine(worker);
  });
}

}  // namespace retryq::cli
