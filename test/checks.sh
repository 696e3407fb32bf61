# shellcheck shell=bash
# To be sourced: checks one by one, for suites that are no test of ctest's, such as test/monitoring/run.

readonly PATIENCE=120 # seconds
passed=0
failed=0

# check WHAT COMMAND…: whether the command succeeds; if not, all that it said is shown
check() {
  local what=$1 said
  shift
  if said=$("$@" 2>&1); then
    passed=$((passed + 1))
    printf 'ok    %s\n' "$what"
  else
    failed=$((failed + 1))
    printf 'FAIL  %s\n' "$what"
    # shellcheck disable=SC2001  # each line
    sed 's/^/      /' <<<"$said"
  fi
}

# until_true WHAT COMMAND…: waits until the command succeeds
until_true() {
  local what=$1 end=$((SECONDS + PATIENCE))
  shift
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS > end)); then
      printf '%s: not within %s s: %s\n' "${BASH_SOURCE[-1]}" "$PATIENCE" "$what" >&2
      return 1
    fi
    sleep 0.2
  done
}

# count_checks: the line that test/tally.sh reads, and whether nothing failed
count_checks() {
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}
