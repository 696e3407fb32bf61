# shellcheck shell=bash
# Checks the direction of the rooms (cli -> retry -> amqp -> loop -> base, each includes only what lies below; the command
# includes the public headers, src/loop and src/base), the direction of the folders in src/amqp and src/retry, and that
# src/retry knows no sockets, no event loop and no clock of its own. Sourced by test/lint.

# Public headers that belong to no room and that src/amqp may use; of others only retryq/amqp/….
readonly SHARED_HEADERS='event_loop delivery duration export broker/broker broker/clock broker/executor broker/random broker/timers'
# What src/cli may include of src/retry: what it must do as workers do.
readonly RETRY_FOR_CLI='delivery/message_history publisher/parked_queue_rules'
# What src/retry may include of src/loop: what computes, and the threads that handlers run on.
readonly LOOP_FOR_RETRY='alive call_after own_process pauses runner_thread thrown worker_pool'
# The folders of src/amqp and of src/retry, the lowest first: each includes only itself and those before it.
readonly AMQP_FOLDERS='codec transport channel connection broker'
readonly RETRY_FOLDERS='delivery policy delay_queues publisher retrier client'

broken=0

# code DIR…: the C++ lines below the directories that exist, each behind "FILE:LINE:", without comments, so that a rule can
# be explained where it holds
code() {
  local dir
  for dir; do
    [[ ! -d $dir ]] || find "$dir" -type f \( -name '*.h' -o -name '*.cc' \) -print0
  done | xargs -0r awk '{ sub(/^[ \t]*\/\/.*/, ""); sub(/[ \t]\/\/[^"]*$/, ""); print "  " FILENAME ":" FNR ":" $0 }'
}

# hold WHY: the lines of stdin break this rule
hold() {
  local hits
  hits=$(cat)
  [[ -n $hits ]] || return 0
  printf '%s:\n%s\n' "$1" "$hits"
  broken=1
}

# forbid WHY REGEX DIR…: no line of code below DIR… matches REGEX
forbid() {
  local why=$1 regex=$2
  shift 2
  hold "$why" < <(code "$@" | grep -P -- "^  [^:]+:[0-9]+:.*?(?:$regex)")
}

# allow WHY REGEX DIR…: every #include "…" below DIR… (Abseil's aside) matches REGEX
allow() {
  local why=$1 regex=$2
  shift 2
  hold "$why" < <(code "$@" | grep -E '^[^:]+:[0-9]+:[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
    grep -vE "include[[:space:]]*\"(absl/|$regex)")
}

# in_order ROOM FOLDERS: src/ROOM has these folders and no others, and each includes nothing of those after it
in_order() {
  local room=$1 folders=$2 folder lower=
  for folder in $folders; do
    lower+=${lower:+|}$folder
    allow "src/$room/$folder includes nothing of the folders above it ($folders, the lowest first)" \
      "($room/($lower)|loop|base|retryq)/" "src/$room/$folder"
  done
  hold "src/$room has no other folders than these ($folders)" \
    < <(find "src/$room" -mindepth 1 -maxdepth 1 2>/dev/null | grep -vE "/(${folders// /|})$" | sed 's/^/  /')
}

readonly include='#[[:space:]]*include[[:space:]]*["<]'

forbid 'public headers and src/retry know no socket and no libevent' \
  "${include}(event2/|event\.h|sys/socket|netinet/|arpa/|netdb)" include/retryq src/retry
forbid 'public headers and src/retry take time from outside' \
  '\b(steady_clock|system_clock|high_resolution_clock)\b|\babsl::(Now|SleepFor)\(|\bsleep_for\b|\busleep\(' \
  include/retryq src/retry src/testing
forbid 'nothing includes src/cli but itself and its tests' "${include}cli/" include src/base src/loop src/amqp src/retry examples
forbid 'only tests include retryq/testing' "${include}retryq/testing/" src/base src/loop src/amqp src/retry src/cli include/retryq/amqp
# That of retryq::opentelemetry has OpenTelemetry's types, see test/lint headers.
allow 'public headers include public headers' '(retryq|opentelemetry/(nostd|trace))/' include
allow 'src/base includes only itself' 'base/' src/base
allow "src/loop includes itself, src/base and the shared headers (${SHARED_HEADERS})" \
  "base/|loop/|retryq/(${SHARED_HEADERS// /|})\.h\"" src/loop
allow "src/amqp includes itself, src/loop, src/base, retryq/amqp/… and the shared headers (${SHARED_HEADERS})" \
  "amqp/|loop/|base/|retryq/amqp/|retryq/(${SHARED_HEADERS// /|})\.h\"" src/amqp include/retryq/amqp
in_order amqp "$AMQP_FOLDERS"
in_order retry "$RETRY_FOLDERS"
allow "src/retry includes itself, public headers, src/base, and of src/loop what it may ($LOOP_FOR_RETRY)" \
  "(retry|retryq|base)/|loop/(${LOOP_FOR_RETRY// /|})\.h\"" src/retry
allow 'src/testing includes itself, src/base, public headers and the thread of an executor' \
  '((testing|retryq|base)/|loop/runner_thread)' src/testing
allow 'src/prometheus includes public headers' 'retryq/' src/prometheus
allow 'src/opentelemetry includes public headers, names of headers, and opentelemetry-cpp' \
  '(retryq|opentelemetry)/|base/header_names\.h"' src/opentelemetry
allow "src/cli includes itself, src/loop, src/base, public headers, and of src/retry what it may ($RETRY_FOR_CLI)" \
  "(cli|loop|base|retryq)/|retry/(${RETRY_FOR_CLI// /|})\.h\"" src/cli

if ((broken)); then
  echo 'A folder includes a header that it must not include: see "Rooms" in doc/design.md, and the lists at the top of test/lints/rooms.sh.'
fi
