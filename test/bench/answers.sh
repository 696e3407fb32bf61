# shellcheck shell=bash
# test/bench/run answers: runs the tests of these answers, and prints a table of what they write down.

rounds=3
take_options 'version rounds' "$@"
no_words
expect_numbers rounds
cmake/build release integration
start_broker "$version"
RETRYQ_ANSWERS=$directory/answers run_until_done build/test/integration --gtest_filter='*CommandAnswers.*' \
  --gtest_repeat="$rounds" >"$directory/log" || {
  cat "$directory/log" >&2
  exit 1
}

say "RabbitMQ $RETRYQ_BROKER_VERSION, the slowest of $rounds rounds, load $(cut -d ' ' -f 1 /proc/loadavg)"
# A line is "SUBCOMMAND|SITUATION|EXIT STATUS|SECONDS".
awk -F '|' '
  !($1 in line) { line[$1] = ++lines; subcommand[lines] = $1 }
  !($2 in column) { column[$2] = ++columns; head = head " " $2 " |"; rule = rule " --- |" }
  { place = line[$1] SUBSEP column[$2]; status[place] = $3 }
  $4 > slowest[place] { slowest[place] = $4 }
  $4 > slowest_of_all { slowest_of_all = $4 }
  END {
    print "| |" head "\n| --- |" rule
    for (i = 1; i <= lines; ++i) {
      row = "| `" subcommand[i] "` |"
      for (j = 1; j <= columns; ++j) {
        row = row (((i, j) in status) ? sprintf(" %.3f, %s |", slowest[i, j], status[i, j]) : " – |")
      }
      print row
    }
    printf "\nthe slowest answer took %.3f s\n", slowest_of_all
    exit slowest_of_all > 2
  }' "$directory/answers"
