# shellcheck shell=bash
# The surface: what others rely on, as the sources have it: the declarations of the public headers, CMake's targets, flags,
# environment, events, JSON and exit statuses of the command, metrics, and the names on the wire. Sourced by test/lint.

# in_quotes REGEX FILE…: the string literals that match, without their quotes
in_quotes() {
  local regex=$1
  shift
  grep -hoE "\"$regex\"" "$@" | tr -d '"' | sort -u
}

# part TITLE: the next part, of the lines of stdin, of which there must be some
part() {
  local lines
  lines=$(cat)
  [[ -n $lines ]] || {
    printf 'test/lint api: found nothing for "%s": has its source moved?\n' "$1" >&2
    return 1
  }
  printf '\n== %s\n%s\n' "$1" "$lines"
}

# words TITLE: the next part, of the words of stdin; as many on a line as fit
words() { paste -sd ' ' | fold -sw 100 | sed 's/ $//' | part "$1"; }

# sources FOLDER…: the files of the code below them
sources() { find "$@" -name '*.cc' -o -name '*.h' | sort; }

# keys FILE…: names of JSON fields, as these files write or read them: ["name"], {"name", …}, Add("name", …), == "name"
keys() {
  grep -hoE '(\[|\{|[A-Za-z_]\(|== |\\)\\?"[a-z][a-z_0-9]*\\?"' "$@" | sed -E 's/^[^"]*"([a-z_0-9]+).*/\1/' | sort -u
}

surface() {
  local -a command retry metrics
  mapfile -t command < <(sources src/cli)
  mapfile -t retry < <(sources src/retry src/base)
  mapfile -t metrics < <(sources src/prometheus src/cli/worker)

  printf '# What others rely on: see test/lint api.\n'
  find include -name '*.h' -printf '%P\n' | sort | part 'headers'
  find include -name '*.h' | sort | xargs awk -f test/api/declarations.awk | part 'declarations'
  sed -nE 's/^ *add_library\((retryq::[a-z${}]+) ALIAS .*/\1/p' src/CMakeLists.txt | part 'targets of CMake'

  in_quotes 'x-retry-[a-z-]+' "${retry[@]}" | words 'headers of copies'
  in_quotes 'x-[a-z-]+[a-z]' src/retry/delay_queues/route_declaration.cc src/retry/publisher/parked_queue_rules.h | words 'arguments of queues'
  in_quotes '\.[a-z]*' src/retry/delay_queues/route_declaration.{h,cc} src/retry/retrier/retrier_options.cc | words "parts of queues' names"

  in_quotes '[a-z_]+' src/retry/client/event_names.cc | words 'events and levels'
  grep -hoE 'Severity::k[A-Za-z]+, "[a-z_]+"' src/cli/worker/*.cc | in_quotes '[a-z_]+' - | words 'events of the command'
  keys <(sed -n '/^std::string \(Json\|Text\)Line/,/^}/p' src/cli/worker/event_log.cc) | words 'fields of work: --json and text'
  keys src/cli/worker/{command_pool.h,lines_protocol.cc} | words 'fields of work --lines'
  keys src/cli/send/line_request.cc | words 'fields of send --lines'
  keys src/cli/plan/{plan_command,outage_report}.cc | words 'fields of plan: --json and --definitions'
  keys src/cli/queues/queues_command.cc | words 'fields of queues --json'
  keys src/cli/messages/message_text.cc | words 'fields of parked --json and waiting --json'
  keys <(sed -n '/^std::string ReportJson/,/^}/p' src/cli/doctor/doctor_command.cc) | words 'fields of doctor --json'
  in_quotes 'retryq_[a-z_]+' "${metrics[@]}" | words 'metrics'

  in_quotes '--[a-z][a-z-]+' "${command[@]}" | words 'flags'
  in_quotes 'RETRYQ_[A-Z_]+' "${command[@]}" | words 'environment'
  grep -hoE '\bEX_[A-Z]+' "${command[@]}" src/loop/exit_code.cc | sort -u | words 'exit statuses'
}
