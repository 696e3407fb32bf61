# shellcheck shell=bash
# To be sourced behind script.sh: runs one part of the tests after the other and keeps count, for .ci/run and test/full.
#
# What comes of a part NAME is in $results: what it printed, NAME; its line of the report, NAME.line; and of the tests that failed
# the names and their last lines, NAME.failures. A script that sets $results before keeps that directory.

[[ -n ${results:-} ]] || {
  make_directory
  results=$directory
}
# By name the session of what runs in the background, to be terminated as a whole.
declare -A background=()

before_removal() {
  local session
  for session in "${background[@]}"; do pkill --session "$session" || true; done
}

names=()   # of all parts
commit=$(git describe --always --dirty 2>/dev/null || echo 'not a git repository')

readonly LAST_LINES=60

# attribute NAME FILE: a number of the <testsuite> element of a JUnit file
attribute() {
  { grep -oE -m1 "\b$1=\"[0-9]+\"" "$2" || echo '"0"'; } | tr -dc '0-9'
}

# failures_in FILE: of each test that failed, by a JUnit file, the name and the last lines it wrote
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

# begin NAME: a part begins
begin() {
  printf '\n=== %s ===\n' "$1"
  SECONDS=0
  result=ok
  names+=("$1")
  : >"$results/$1.failures"
}

# count NAME PASSED FAILED: writes down what has been run since `begin`, with its `result`. What ran beside other parts says in
# NAME.seconds how long it took
count() {
  [[ ! -s $results/$1.seconds ]] || SECONDS=$(<"$results/$1.seconds")
  printf '%-20s %6d passed %4d failed %6d s  %-12s  %s\n' "$1" "$2" "$3" "$SECONDS" "$commit" "$result" >"$results/$1.line"
}

# has_passed NAME: whether there is a line of an earlier run, in which that part passed
has_passed() { [[ -s $results/$1.line ]] && grep -q ' ok$' "$results/$1.line"; }

# run_tests NAME ARGUMENT…: test/run with these arguments
run_tests() {
  local name=$1 junit=$results/$1.xml tests_passed=0 tests_failed=0
  shift
  begin "$name"
  RETRYQ_TEST_JUNIT=$junit test/run "$@" </dev/null || {
    result="FAILED ($?)"
  }
  if [[ -s $junit ]]; then
    tests_failed=$(($(attribute failures "$junit") + $(attribute errors "$junit")))
    tests_passed=$(($(attribute tests "$junit") - tests_failed - $(attribute disabled "$junit") - $(attribute skipped "$junit")))
    failures_in "$junit" | sed "s/^--- /--- $name: /" >"$results/$name.failures"
  fi
  if [[ $result != ok ]] && ((tests_failed == 0)); then
    # It never came to the tests, or was ended amid them: that is a failure too.
    tests_failed=1
  fi
  count "$name" "$tests_passed" "$tests_failed"
}

# run_suite NAME COMMAND…: a suite of its own, which ends with a line "N passed, N failed" or, of mutants, "N killed, N survived"
run_suite() {
  local name=$1 counts suite_passed suite_failed
  shift
  begin "$name"
  "$@" </dev/null | tee "$results/$name" || {
    result="FAILED ($?)"
    {
      printf -- '--- %s\n' "$name"
      grep -iE 'failed|lost|survived|error' "$results/$name" | tail -n "$LAST_LINES" || true
    } >"$results/$name.failures"
  }
  # Without such a line it never came to its end, which is a failure too.
  counts=$(grep -E '^[0-9]+ (passed|killed), [0-9]+ (failed|survived)' "$results/$name" || echo '0 passed, 1 failed')
  read -r suite_passed _ suite_failed _ <<<"$counts"
  count "$name" "$suite_passed" "$suite_failed"
}

# in_background NAME COMMAND…: begins it, at the lowest priority; other parts, which often wait, run meanwhile. A function that is
# COMMAND must be exported
in_background() {
  local name=$1
  rm -f "$results/code-$name"
  if has_passed "$name"; then
    echo 0 >"$results/code-$name"
    return
  fi
  printf '%s runs beside what follows\n' "$name"
  results=$results setsid bash -c 'keep_to_the_background "$@"' bash "$@" </dev/null >"$results/background-$name" 2>&1 &
  background[$name]=$!
  printf '%d\n' "$!" >"$results/process-$name"
}

# keep_to_the_background NAME COMMAND…: runs it, and writes down what it returned and how long it took
keep_to_the_background() {
  local name=$1 code=0
  shift
  renice -n 19 $$ >/dev/null
  # Where the kernel schedules sessions as groups, such as a broker's and this one, niceness counts within each only.
  [[ ! -w /proc/self/autogroup ]] || echo 19 >/proc/self/autogroup
  SECONDS=0
  "$@" || code=$?
  printf '%d\n' "$SECONDS" >"$results/$name.seconds"
  printf '%d\n' "$code" >"$results/code-$name"
}

# after NAME COMMAND…: runs it once that one is over, even if it was killed, and takes its time from then on
after() {
  until [[ -s $results/code-$1 ]] || ! kill -0 "$(<"$results/process-$1")" 2>/dev/null; do
    sleep 1
  done
  shift
  SECONDS=0
  "$@"
}
export -f keep_to_the_background after

# finish NAME: prints what it has printed, and prints until it is over; returns what it returned
finish() {
  tail --quiet --lines=+1 --follow --pid="${background[$1]}" "$results/background-$1"
  # Without a code it was killed.
  [[ -s $results/code-$1 ]] || return 1
  return "$(<"$results/code-$1")"
}

# lines: of the report, one for each part
lines() {
  printf '%s\0' "${names[@]}" | (cd "$results" && xargs -0 -I{} cat {}.line)
}

# failures: of all tests that failed, the names and the last they said
failures() {
  printf '%s\0' "${names[@]}" | (cd "$results" && xargs -0 -I{} cat {}.failures)
}

# sum: "N passed, N failed" over all parts
sum() {
  lines | awk '{ passed += $2; failed += $4 } END { printf "%d passed, %d failed", passed, failed }'
}

# conclude: says what failed and how, then a line for each part, then the sum; the exit code is not 0 if anything failed
conclude() {
  local failures
  failures=$(failures)
  if [[ -n $failures ]]; then
    printf '\n=== what failed ===\n%s\n' "$failures"
  fi
  printf '\n%s\n%s\n' "$(lines)" "$(sum)"
  [[ $(lines | grep -cv ' ok$') == 0 ]] || exit 1
  exit 0
}
