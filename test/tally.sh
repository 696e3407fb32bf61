# shellcheck shell=bash
# To be sourced, at the root of the tree: runs one part of the tests after the other and keeps count, for .ci/run and test/full.

results=$(mktemp --directory)
trap 'rm -rf "$results"' EXIT

passed=0
failed=0
report=    # a line for each part
failures=  # of the tests that failed, the names and the last they said
broken=0   # whether anything failed, a build included

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
}

# count NAME PASSED FAILED: adds what has been run since `begin`, with its `result`
count() {
  passed=$((passed + $2))
  failed=$((failed + $3))
  report+=$(printf '%-20s %6d passed %4d failed %6d s  %s' "$1" "$2" "$3" "$SECONDS" "$result")$'\n'
}

# run_tests NAME ARGUMENT…: test/run with these arguments
run_tests() {
  local name=$1 junit=$results/$1.xml tests_passed=0 tests_failed=0
  shift
  begin "$name"
  RETRYQ_TEST_JUNIT=$junit test/run "$@" </dev/null || {
    result="FAILED ($?)"
    broken=1
  }
  if [[ -s $junit ]]; then
    tests_failed=$(($(attribute failures "$junit") + $(attribute errors "$junit")))
    tests_passed=$(($(attribute tests "$junit") - tests_failed - $(attribute disabled "$junit") - $(attribute skipped "$junit")))
    failures+=$(failures_in "$junit" | sed "s/^--- /--- $name: /")
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
    broken=1
    failures+=$(printf -- '--- %s\n' "$name" && grep -iE 'failed|lost|survived|error' "$results/$name" | tail -n "$LAST_LINES")$'\n'
  }
  # Without such a line it never came to its end, which is a failure too.
  counts=$(grep -E '^[0-9]+ (passed|killed), [0-9]+ (failed|survived)' "$results/$name" || echo '0 passed, 1 failed')
  read -r suite_passed _ suite_failed _ <<<"$counts"
  count "$name" "$suite_passed" "$suite_failed"
}

# conclude: says what failed and how, then a line for each part, then the sum; the exit code is not 0 if anything failed
conclude() {
  if [[ -n $failures ]]; then
    printf '\n=== what failed ===\n%s\n' "$failures"
  fi
  printf '\n%s%d passed, %d failed\n' "$report" "$passed" "$failed"
  exit "$broken"
}
