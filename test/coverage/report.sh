# shellcheck shell=bash
# Which lines and branches of src/ the tests have run: a line for each room and for the files that are covered least. Sourced by
# `test/run --preset coverage`.
#
# Branches are those of the source: each condition that can be true and false counts twice. What a compiler adds for exceptions and
# destructors does not count (https://clang.llvm.org/docs/SourceBasedCodeCoverage.html). A process that is killed does not write
# what it has run.
# shellcheck disable=SC2016  # backticks of Markdown

readonly LINES_WANTED=95 BRANCHES_WANTED=85
readonly BUILD=build-coverage
readonly PROFILES=$BUILD/profiles # see test/CMakeLists.txt
readonly ROOMS=(amqp retry prometheus testing cli)
readonly LEAST=15

# cov PROFILE COMMAND FLAG…: llvm-cov on all programs that the tests run, about src/ alone
cov() {
  local profile=$1 command=$2 program room
  local -a programs objects=() sources=()
  shift 2
  mapfile -t programs < <(find "$BUILD/bin" "$BUILD/test" -maxdepth 1 -type f -perm -u+x \
    \( -name 'unit_*' -o -name simulation -o -name integration -o -name retryq \) | sort)
  for program in "${programs[@]:1}"; do
    objects+=(-object "$program")
  done
  for room in "${ROOMS[@]}"; do
    sources+=("$PWD/src/$room")
  done
  llvm-cov "$command" -instr-profile="$profile" "$@" "${programs[0]}" "${objects[@]}" "${sources[@]}"
}

# table FILE: the summary by room, a row of Markdown each; the last is for all
table() {
  awk -v rooms="${ROOMS[*]}" '
    function percent(run, all) { return all ? sprintf("%.1f %%", 100 * run / all) : "–" }
    function row(name, r) {
      printf "| %s | %d | %s | %d | %s |\n", name, lines[r], percent(lines_run[r], lines[r]), branches[r], percent(branches_run[r], branches[r])
    }
    {
      split($1, path, "/")
      for (i = 1; i <= 2; ++i) {
        room = i == 1 ? path[2] : "all"
        lines[room] += $2; lines_run[room] += $3; branches[room] += $4; branches_run[room] += $5
      }
    }
    END {
      n = split(rooms, names, " ")
      for (i = 1; i <= n; ++i) if (lines[names[i]]) row("`src/" names[i] "/`", names[i])
      row("all", "all")
    }' "$1"
}

# least FILE: the files with most that is never run, lines and branches together
least() {
  awk '{
    missing = $2 - $3 + $4 - $5
    if (missing) printf "%d | `%s` | %d of %d | %d of %d |\n", missing, $1, $2 - $3, $2, $4 - $5, $4
  }' "$1" | sort -rn | sed -n "1,$LEAST{s/^[0-9]* //;p}" # not head, which would end sort by a signal
}

# reaches COLUMN RUN WANTED FILE: whether so many percent of what is in that column are in that one
reaches() {
  awk -v all="$1" -v run="$2" -v wanted="$3" '{ a += $all; r += $run } END { exit !(a && 100 * r >= wanted * a) }' "$4"
}

report() {
  local files=$1
  printf '# What the tests run of src/\n\n'
  printf 'Written by `test/run --preset coverage` on %s, of commit %s: unit tests, simulation and integration tests. ' "$(date -u +%Y-%m-%d)" \
    "$(git describe --always --dirty 2>/dev/null || echo 'none')"
  printf 'At least %d %% of the lines and %d %% of the branches are wanted.\n\n' "$LINES_WANTED" "$BRANCHES_WANTED"
  printf '| | lines | run | branches | run |\n| --- | ---: | ---: | ---: | ---: |\n'
  table "$files"
  printf '\n## What is run least\n\n| | lines never run | branches never taken |\n| --- | ---: | ---: |\n'
  least "$files"
}

# report_coverage FILTER: prints the report. Without a filter it fails if less than the required part is covered
report_coverage() {
  local files=$PROFILES/files
  say "adding up the coverage"
  llvm-profdata merge -sparse "$PROFILES"/*.profraw -o "$PROFILES/all" || return 1
  cov "$PROFILES/all" export -format=lcov -summary-only | awk -F: -v root="$PWD/" '
    $1 == "SF" { file = substr($2, length(root) + 1) }
    $1 == "LF" { lines = $2 } $1 == "LH" { lines_run = $2 }
    $1 == "BRF" { branches = $2 } $1 == "BRH" { branches_run = $2 }
    /^end_of_record/ { print file, lines, lines_run, branches, branches_run }' >"$files" || return 1
  cov "$PROFILES/all" show -format=html -output-dir="$BUILD/html" >/dev/null
  report "$files"
  say "every line is in $BUILD/html/index.html"
  [[ -z $1 ]] || return 0
  reaches 2 3 "$LINES_WANTED" "$files" && reaches 4 5 "$BRANCHES_WANTED" "$files" || {
    say "less than $LINES_WANTED % of the lines or $BRANCHES_WANTED % of the branches are covered"
    return 1
  }
}
