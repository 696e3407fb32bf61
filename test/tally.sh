# shellcheck shell=bash
# For .ci/run and test/full, which source it after script.sh: runs parts of the tests, and adds up their results.
#
# Each part writes files into $results: NAME has its output, NAME.line its line for the summary, and NAME.failures the names and
# the last lines of failed tests. If the script sets $results before, that directory is kept.

[[ -n ${results:-} ]] || {
  make_directory
  results=$directory
}
# The session of each part in the background, which is terminated at the end.
declare -A background=()

before_removal() {
  local session
  for session in "${background[@]}"; do pkill --session "$session" || true; done
}

names=() # of all parts
commit=$(git describe --always --dirty 2>/dev/null || echo 'not a git repository')

readonly LAST_LINES=60

# attribute NAME FILE: a number of the <testsuite> element of a JUnit file
attribute() {
  { grep -oE -m1 "\b$1=\"[0-9]+\"" "$2" || echo '"0"'; } | tr -dc '0-9'
}

# failures_in FILE: prints the names and the last lines of the failed tests of a JUnit file
failures_in() {
  awk -v lines="$LAST_LINES" '
    /<testcase / { failed = /status="fail"/; count = 0; name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name) }
    failed { said[count++] = $0 }
    /<\/testcase>/ && failed {
      printf "--- %s\n", name
      for (i = count > lines ? count - lines : 0; i < count; ++i) print said[i]
      failed = 0
    }' "$1" | sed -e 's/<[^>]*>//g; /^[[:space:]]*$/d' -e 's/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&apos;/'\''/g; s/&amp;/\&/g'
}

# begin_part NAME: a part begins
begin_part() {
  printf '\n=== %s ===\n' "$1"
  SECONDS=0
  result=ok
  names+=("$1")
  : >"$results/$1.failures"
}

# count NAME PASSED FAILED: ends a part, and writes its line with $result. The duration of a part in the background is in
# NAME.seconds
count() {
  [[ ! -s $results/$1.seconds ]] || SECONDS=$(<"$results/$1.seconds")
  printf '%-20s %6d passed %4d failed %6d s  %-12s  %s\n' "$1" "$2" "$3" "$SECONDS" "$commit" "$result" >"$results/$1.line"
}

# has_passed NAME: whether an earlier run has a line for this part, and it passed
has_passed() { [[ -s $results/$1.line ]] && grep -q ' ok$' "$results/$1.line"; }

# run_tests NAME ARGUMENT…: a part that calls test/run with these arguments
run_tests() {
  local name=$1 junit=$results/$1.xml tests_passed=0 tests_failed=0
  shift
  begin_part "$name"
  RETRYQ_TEST_JUNIT=$junit test/run "$@" </dev/null || {
    result="FAILED ($?)"
  }
  if [[ -s $junit ]]; then
    tests_failed=$(($(attribute failures "$junit") + $(attribute errors "$junit")))
    tests_passed=$(($(attribute tests "$junit") - tests_failed - $(attribute disabled "$junit") - $(attribute skipped "$junit")))
    failures_in "$junit" | sed "s/^--- /--- $name: /" >"$results/$name.failures"
  fi
  if [[ $result != ok ]] && ((tests_failed == 0)); then
    # It ended before or during the tests.
    tests_failed=1
  fi
  count "$name" "$tests_passed" "$tests_failed"
}

# run_suite NAME COMMAND…: a part that ends with a line "N passed, N failed" or, for mutants, "N killed, N survived"
run_suite() {
  local name=$1 counts suite_passed suite_failed
  shift
  begin_part "$name"
  "$@" </dev/null | tee "$results/$name" || {
    result="FAILED ($?)"
    {
      printf -- '--- %s\n' "$name"
      grep -iE 'failed|lost|survived|error' "$results/$name" | tail -n "$LAST_LINES" || true
    } >"$results/$name.failures"
  }
  # Without such a line the command ended early.
  counts=$(grep -E '^[0-9]+ (passed|killed), [0-9]+ (failed|survived)' "$results/$name" || echo '0 passed, 1 failed')
  read -r suite_passed _ suite_failed _ <<<"$counts"
  count "$name" "$suite_passed" "$suite_failed"
}

# in_background NAME COMMAND…: starts the command at the lowest priority. Parts that often wait run at the same time. If the
# command is a function, it must be exported
in_background() {
  local name=$1
  rm -f "$results/code-$name"
  if has_passed "$name"; then
    echo 0 >"$results/code-$name"
    return
  fi
  printf '%s runs in the background\n' "$name"
  results=$results setsid bash -c 'keep_to_the_background "$@"' bash "$@" </dev/null >"$results/background-$name" 2>&1 &
  background[$name]=$!
  printf '%d\n' "$!" >"$results/process-$name"
}

# keep_to_the_background NAME COMMAND…: runs the command, and writes its exit status and its duration into files
keep_to_the_background() {
  local name=$1 code=0
  shift
  renice -n 19 $$ >/dev/null
  # If the kernel schedules sessions as groups, niceness has an effect only within a session.
  [[ ! -w /proc/self/autogroup ]] || echo 19 >/proc/self/autogroup
  SECONDS=0
  "$@" || code=$?
  printf '%d\n' "$SECONDS" >"$results/$name.seconds"
  printf '%d\n' "$code" >"$results/code-$name"
}

# after NAME COMMAND…: waits for the end of NAME in the background, then runs the command and measures its time
after() {
  until [[ -s $results/code-$1 ]] || ! kill -0 "$(<"$results/process-$1")" 2>/dev/null; do
    sleep 1
  done
  shift
  SECONDS=0
  "$@"
}
export -f keep_to_the_background after

# finish NAME: prints the output of NAME in the background until it ends, and returns its exit status
finish() {
  tail --quiet --lines=+1 --follow --pid="${background[$1]}" "$results/background-$1"
  # A command that was killed has no exit status.
  [[ -s $results/code-$1 ]] || return 1
  return "$(<"$results/code-$1")"
}

# lines: prints the line of each part
lines() {
  printf '%s\0' "${names[@]}" | (cd "$results" && xargs -0 -I{} cat {}.line)
}

# failures: prints the names and the last lines of all failed tests
failures() {
  printf '%s\0' "${names[@]}" | (cd "$results" && xargs -0 -I{} cat {}.failures)
}

# sum: prints "N passed, N failed" for all parts together
sum() {
  lines | awk '{ passed += $2; failed += $4 } END { printf "%d passed, %d failed", passed, failed }'
}

# conclude: prints the failures, a line for each part, and the sum; exits with 1 if a part has failed
conclude() {
  local failures
  failures=$(failures)
  if [[ -n $failures ]]; then
    printf '\n=== failures ===\n%s\n' "$failures"
  fi
  printf '\n%s\n%s\n' "$(lines)" "$(sum)"
  [[ $(lines | grep -cv ' ok$') == 0 ]] || exit 1
  exit 0
}
