# shellcheck shell=bash
# test/bench/run stops: how long a worker takes to stop; see test/stops/README.md.

take_options 'version states!' "$@"
no_words
cmake/build release integration
start_broker "$version"
failed=0
RETRYQ_STOPS=$directory/states run_until_done build/test/integration --gtest_filter='CommandEveryStop*' >"$directory/log" 2>&1 || {
  failed=1
  cat "$directory/log" >&2
}
printf '| state | SIGTERM to exit |\n| --- | ---: |\n'
cat "$directory/states"

if [[ -z ${states:-} ]]; then
  run_until_done test/fault/run --stop ${version:+--version "$version"} >"$directory/log" || {
    failed=1
    cat "$directory/log" >&2
  }
  printf '\n| during the fault | queues | SIGTERM to exit |\n| --- | --- | ---: |\n'
  sed -nE 's/^([^ ]+) +([a-z]+) .*\(stopped in ([0-9.]+ s).*/| `\1` | \2 | \3 |/p' "$directory/log"
fi
exit "$failed"
