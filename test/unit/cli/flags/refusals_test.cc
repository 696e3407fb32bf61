// The values that the flags of each subcommand refuse, and the errors.

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "cli/declare/declare_command.h"
#include "cli/doctor/doctor_command.h"
#include "cli/messages/messages_command.h"
#include "cli/plan/plan_command.h"
#include "cli/queues/queues_command.h"
#include "cli/send/send_command.h"
#include "cli/worker/work_command.h"
#include "support/test.h"
#include "unit/cli/flags/parsed_arguments.h"

namespace retryq::cli::refusals_test {

template <auto kParse>
absl::StatusOr<Answer> AnswerOf(const Arguments& arguments) {
  const auto parsed = kParse(arguments);
  if (!parsed.ok()) return parsed.status();
  const Answer* const answer = std::get_if<Answer>(&*parsed);
  return answer == nullptr ? Answer{} : *answer;
}

struct Subcommand {
  std::string name;
  absl::StatusOr<Answer> (*parse)(const Arguments& arguments);
};
const Subcommand kSubcommands[] = {
    {"work", AnswerOf<ParseWork>},       {"plan", AnswerOf<ParsePlan>},
    {"declare", AnswerOf<ParseDeclare>}, {"send", AnswerOf<ParseSend>},
    {"queues", AnswerOf<ParseQueues>},   {"waiting", AnswerOf<ParseWaiting>},
    {"parked", AnswerOf<ParseParked>},   {"doctor", AnswerOf<ParseDoctor>}};

// The help or the errors of a line; LONG stands for a name that is too long.
absl::StatusOr<Answer> Parse(const std::string& line) {
  Arguments words = Words(absl::StrReplaceAll(line, {{"LONG", std::string(256, 'n')}}));
  for (const Subcommand& subcommand : kSubcommands) {
    if (words.front() != subcommand.name) continue;
    words.erase(words.begin());
    return subcommand.parse(words);
  }
  return absl::NotFoundError(line);
}

struct Refusal {
  const char* line;
  const char* errors;  // parts of them, one per line
};

constexpr Refusal kRefusals[] = {
    {"work",
     "--queue is required: name the queue to consume from\n"
     "COMMAND is required: write it last, after --, such as: -- ./handle-order"},
    {"work --queue q -- /no/such/program",
     "COMMAND: there is no program '/no/such/program': install it, or give its path"},
    {"work --queue q --declare-type quorum -- true", "--declare-type requires --declare"},
    {"work --queue q --declare --no-declare -- true",
     "--declare cannot be combined with --no-declare"},
    {"work --queue q --parked LONG -- true", "--parked 'nnn\n': is longer than 255 bytes"},
    {"work --queue q --max-body 1GiB -- true",
     "--max-body '1GiB': write a number of bytes above 0, such as 1000, 64KiB or 64MiB, and at "
     "most 512MiB"},
    {"work --queue q --in-flight 2 -- true", "--in-flight requires --lines"},
    {"work --queue q --jobs 0 -- true", "--jobs '0': write a whole number from 1 to 1024"},
    {"work --queue q --jobs 100 --prefetch 99 -- true",
     "--prefetch 99 must be at least 100, which is --jobs"},
    {"work --queue q --lines --in-flight 100 --prefetch 99 -- true",
     "--prefetch 99 must be at least 100, which is --jobs times --in-flight"},
    {"work --queue q --timeout 0 --consumer-timeout 0 -- true",
     "--timeout 0: must be above 0; leave it out for an unlimited time\n"
     "--consumer-timeout 0: must be above 0; leave it out for the timeout of the broker"},
    {"work --queue q --timeout 1h --consumer-timeout 1h -- true",
     "--timeout 1h must be less than --consumer-timeout 1h, after which RabbitMQ requeues the "
     "message while COMMAND still runs"},
    {"work --queue q --metrics here -- true",
     "--metrics 'here': write a port, such as 9101, or an address and a port: 127.0.0.1:9101, "
     "[::1]:9101"},
    {"work --queue q --otlp localhost:4318 -- true",
     "--otlp: write the URL of a collector's OTLP receiver for HTTP, such as "
     "http://localhost:4318"},
    {"send --queue q --otlp amqp://localhost", "--otlp: write the URL of"},
    {"send --queue q --otlp http://localhost:99999", "--otlp: write the URL of"},
    {"send --queue q --otlp http://h/?token=1", "--otlp: write the URL of"},
    {"doctor --otlp http://me:secret@h",
     "--otlp: must contain no user and no password; set OTEL_EXPORTER_OTLP_HEADERS instead"},
    {"work --queue q --log-level loud --count-redeliveries sometimes --bass 1s -- true",
     "--log-level 'loud': write debug, info, warning or error\n"
     "--count-redeliveries 'sometimes': write counted, always or never\n"
     "--bass: there is no such flag; see --help"},
    {"work --queue q stray -- true", "'stray': unexpected here; see --help"},
    {"work --queue q --earlier-count '' -- true", "--earlier-count"},
    {"work --queue q --base soon --on-limit drop --margin 1s -- true",
     "--base 'soon'\n--on-limit 'drop': write park, reject or discard\n--margin"},

    {"doctor --parked p --margin 1s", "--parked requires --queue\n--margin"},

    {"send body", "--queue is required"},
    {"send --routing-key k body", "--queue is required"},
    {"send --exchange shop body", "--routing-key is required"},
    {"send --queue q --exchange x --routing-key k b",
     "--exchange cannot be combined with --queue\n--routing-key cannot be combined with --queue"},
    {"send --exchange '' --routing-key k b", "--exchange '': must not be empty"},
    {"send --exchange x --routing-key k --declare b", "--declare requires --queue"},
    {"send --queue q --declare-type quorum --in-flight 7 --round-up b",
     "--declare-type requires --declare\n--in-flight requires --lines\n"
     "--round-up requires --delay or --at"},
    {"send --lines --delay 1s --in-flight 0 body",
     "BODY cannot be combined with --lines\n--delay cannot be combined with --lines\n"
     "--in-flight '0'"},
    {"send --queue q --header-json n=seven --header-json x --header novalue --header =x b",
     "--header-json 'n=seven': the value is not JSON\n--header-json 'x': write NAME=JSON\n"
     "--header 'novalue': write NAME=VALUE\n--header '=x': write NAME=VALUE"},
    {"send --queue q --header-json u=18446744073709551615 --header LONG=v --priority 256 b",
     "--header-json 'u=18446744073709551615': the number\n--header 'nnn\n"
     "--priority '256'"},
    {"send --queue q --expiration soon --timestamp yesterday --at tomorrow --type LONG b",
     "--expiration 'soon'\n--timestamp 'yesterday'\n--at 'tomorrow'\n--type 'nnn"},
    {"send --queue q --expiration 1s --delay 5s --at 2026-12-31T08:00:00Z b",
     "--expiration cannot be combined with a delay\n--at cannot be combined with --delay"},
    {"send --queue LONG --delay 5 --prefix amq.x b more",
     "--queue 'nnn\n': is longer than 255 bytes\n--delay '5': write a duration\n--prefix\n"
     "'more': unexpected here"},

    {"declare --routing-key k --exchange-type topic --exchange shop --queue-type stream more",
     "--queue is required\n--routing-key must follow the --exchange\n"
     "--exchange-type must follow the --exchange\n--routing-key is required after --exchange\n"
     "--queue-type 'stream': write classic or quorum\n'more': unexpected here"},
    {"declare --argument x --argument x-queue-type=quorum --argument a=1 --argument a=2 --wait no",
     "--argument 'x': write NAME=VALUE\n--argument x-queue-type: use --queue-type\n"
     "--argument a is given more than once\n--wait 'no'"},
    {"declare --queue q --exchange x --exchange-type fanout --exchange-type topic",
     "--exchange-type is given twice"},

    {"queues --prefix amq.x --management http://u:hunter2@h:x --nope --interval 50ms",
     "--prefix must not begin with \"amq.\"\n--management: the port\n--nope\n"
     "--interval requires --watch\n--interval must be at least 100ms"},

    {"plan --base 0s --prefix ''", "--base\n--prefix"},
    {"plan --max 4000d", "--max"},
    {"plan --breaker --svg a", "--breaker requires --simulate\n--svg requires --simulate"},
    {"plan --breaker-calls 5", "--breaker-calls requires --breaker"},
    {"plan --any-delay --parked p --work-exchange e --queue q --work-queue quorum",
     "--any-delay requires --definitions\n--parked requires --definitions\n"
     "--work-exchange requires --definitions\n--work-queue requires --definitions"},
    {"plan --definitions --work-queue quorum", "--work-queue requires --queue"},
    {"plan --definitions --work-queue odd --queue q", "--work-queue 'odd'"},
    {"plan --definitions --queue-type quorum", "--queue is required: quorum delay"},
    {"plan --definitions --json --svg a --simulate outage=1m,rate=1/s",
     "--json cannot be combined with --definitions\n"
     "--simulate cannot be combined with --definitions"},

    {"parked", "list, show, replay, edit, drop"},
    {"parked lst", "\"lst\""},
    {"parked list --limit 0", "--queue is required\n--limit '0'"},
    {"parked list --queue LONG", "--queue 'nnn\n': is longer than 255 bytes"},
    {"parked list --queue q --parked LONG", "--parked 'nnn\n': is longer than 255 bytes"},
    {"parked list --queue \xff", "--queue '\\xFF': is not UTF-8"},
    {"doctor --queue \xff", "--queue '\\xFF': is not UTF-8"},
    {"parked list --queue q --older-than long --newer-than '' --header =x --column ''",
     "--older-than 'long'\n--newer-than ''\n--header '=x'\n--column ''"},
    {"parked list --queue q --error '' --id '' --by due --rate 1",
     "--error '': must not be empty\n--id '': must not be empty\n"
     "--by 'due': write error or attempt\n--rate: there is no such flag"},
    {"parked list --queue q --by error --column type", "--column cannot be combined with --by"},
    {"parked show --queue q --body xml", "--body 'xml': write auto, text, json, hex or raw"},
    {"parked show --queue q --body hex --full --json",
     "--body cannot be combined with --json\n--full cannot be combined with --json"},
    {"parked replay --queue q --all --to-queue q --to-exchange x --routing-key k",
     "--to-queue cannot be combined with --to-exchange"},
    {"parked replay --queue q --all --routing-key k --trust-routing-keys",
     "--routing-key requires --to-exchange\n--trust-routing-keys requires --to-exchange\n"
     "--routing-key cannot be combined with --trust-routing-keys"},
    {"parked replay --queue q --all --to-exchange x",
     "--to-exchange requires --routing-key KEY, or --trust-routing-keys"},
    {"parked replay --queue q --all --to-queue q.parked", "is the parked queue itself"},
    {"parked replay --queue q --all --to-exchange '' --rate 0 --window 10001 --body file",
     "--to-exchange ''\n--rate: write a number from 0.001\n--window '10001'\n"
     "--body: is for one message; name it by one --id"},
    {"parked replay --queue q --id a --body ''", "--body ''"},
    {"parked edit --queue q", "--id: name the one message to edit"},
    {"parked edit --queue q --id a --id b", "--id: name the one message to edit"},
    {"parked drop --queue q --yes", "--all is missing: no filter and no --limit is given"},
    {"parked drop --queue q --all --yes --backup f --no-backup",
     "--backup cannot be combined with --no-backup"},
    {"parked drop --queue q --all --yes --backup ''", "--backup ''"},

    {"waiting", "list, show, release, park, drop"},
    {"waiting list --queue LONG --prefix '' --by id --foreign",
     "longer than 255 bytes\n--prefix ''\n--by 'id': write error, attempt or due\n"
     "--foreign: there is no such flag"},
    {"waiting park --queue q --all --parked q", "--parked: is the work queue itself"},
    {"waiting park --queue q --all --parked LONG", "longer than 255 bytes"},
    {"waiting drop --queue q --yes", "--all is missing: no filter and no --limit is given"},

    // None of these prints the password.
    {"work --url amqp://user:hunter2@host:port/ -- true", "--url"},
    {"work --url amqp://user:hunter2@[::1/ -- true", "--url"},
    {"work --url http://user:hunter2@host/ -- true", "--url"},
    {"work --url amqp://user:hunter2@a/ --url amqp://user:hunter3@b/ -- true", "--url"},
    {"work amqp://user:hunter2@host/ -- true", "a URL without --url"},
    {"work --rul=amqp://user:hunter2@host/ -- true", "--rul"},
    {"work --rul amqp://user:hunter2@host/ -- true", "--rul"},
    {"send --queue q --url amqp://user:hunter2@host:port/ body", "--url"}};

using Flags = FlagsTest;

TEST_F(Flags, AreRefusedWithTheRemedy) {
  for (const auto& [line, errors] : kRefusals) {
    SCOPED_TRACE(line);
    const absl::Status status = Parse(line).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string message(status.message());
    EXPECT_THAT(message, AllOf(Not(HasSubstr("hunter")), Not(HasSubstr("delay_queues"))));
    const std::vector<std::string> parts = absl::StrSplit(errors, '\n');
    for (const std::string& part : parts) EXPECT_THAT(message, HasSubstr(part));
  }
}

TEST_F(Flags, OfTheEnvironmentPrintNoPasswordEither) {
  ::setenv("RETRYQ_URL", "amqp://user:hunter2@host:port/", 1);
  EXPECT_THAT(std::string(Parse("work --queue q -- true").status().message()),
              AllOf(HasSubstr("RETRYQ_URL"), Not(HasSubstr("hunter"))));
}

TEST_F(Flags, AreInTheHelpWithExamples) {
  for (const char* command :
       {"work", "plan", "declare", "send", "queues", "doctor", "parked", "parked list",
        "parked show", "parked replay", "parked edit", "parked drop", "waiting", "waiting list",
        "waiting show", "waiting release", "waiting park", "waiting drop"}) {
    const auto help = Parse(std::string(command) + " --help");
    ASSERT_TRUE(help.ok()) << help.status();
    EXPECT_THAT(help->text,
                AllOf(HasSubstr(std::string("Usage: retryq ") + command), HasSubstr("Example")));
  }
}

}  // namespace retryq::cli::refusals_test
