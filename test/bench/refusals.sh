# shellcheck shell=bash
# test/bench/run refusals: prints a table of what the test of refusals reports; see test/refusals/README.md.

take_options '' "$@"
cmake/build release refusals
status=0
RETRYQ_REFUSALS=full run_until_done build/test/refusals --gtest_filter="*/${words[0]:-*}" >"$directory/output" || status=$?

# What the test prints of each way, the worst of each column; ways that differ in their code are one line.
awk -F ' *[|] *' '
  function seconds(text) { return text == "never" ? 1e9 : text + 0 }
  function worst(column, value) { if (!(key in seen) || value > most[key, column]) most[key, column] = value }
  function least(column, value) { if (!(key in seen) || value < few[key, column]) few[key, column] = value }
  /^[|]/ {
    way = $3; sub(/^channel [0-9]+$/, "channel.close", way); sub(/^connection [0-9]+$/, "connection.close", way)
    sub(/^returned [0-9]+$/, "returned", way)
    key = $2 SUBSEP way
    if (!(key in seen)) order[++count] = key
    worst(4, $4 + 0); worst(5, $5 + 0); worst(10, seconds($10))
    if ($7 == "ends") { ends[key] = 1 } else { worst(6, seconds($6)); worst(7, seconds($7)) }
    least(8, $8 + 0); least(9, $9 + 0)
    seen[key] = 1
  }
  END {
    print "| request | refused by | attempts / min | log lines / min | stop | recovery | others done / min |"
    print "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= count; ++i) {
      key = order[i]; split(key, part, SUBSEP)
      stop = most[key, 6] > most[key, 10] ? most[key, 6] : most[key, 10]
      recovery = (key, 7) in most ? sprintf("%.0f s", most[key, 7]) : ""
      if (key in ends) recovery = recovery == "" ? "exits" : recovery ", or exits"
      fewest = few[key, 8] < few[key, 9] ? few[key, 8] : few[key, 9]
      printf "| %s | %s | %d | %d | %.1f s | %s | %s |\n", part[1], part[2], most[key, 4], most[key, 5], stop, recovery,
             (fewest > 1000 ? "" : few[key, 8] " + " few[key, 9])
    }
  }' "$directory/output"
((status == 0)) || grep --invert-match '^[|]' "$directory/output" >&2 || true
exit "$status"
