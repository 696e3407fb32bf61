# shellcheck shell=bash
# test/bench/run build: prints each figure of test/build_time/README.md next to its goal.
#
#   examples   examples/run from a fresh clone: packages, build and demonstration
#   tests      test/run from a fresh clone
#   change     one changed line in src/retry, until the unit tests of that folder have run
#   program    a user's program: retryq.h and an empty main
#   user       the command alone as a user builds it, by the preset "user", and then the rest of that
#   ci         .ci/run from a fresh clone
#
# Only the last commit is measured, without ccache, and nothing else should run. Compile cost is user CPU in yardsticks, because
# machines differ: a yardstick is what c++ -std=c++20 -O2 takes for a file that includes nlohmann/json.hpp, CLI/CLI.hpp and
# gtest/gtest.h, before and after what it measures.

export CCACHE_DISABLE=1
readonly SOURCES=$PWD CHANGED=src/retry/policy/backoff.cc
clone=$directory/clone

# measure COMMAND…: sets user and elapsed, in seconds; prints what the command printed if it fails
measure() {
  local times TIMEFORMAT='%U %R'
  say "$*"
  times=$({ time "$@" >"$directory/log" 2>&1; } 2>&1) || {
    tail -n 50 "$directory/log" >&2
    say "failed: $*"
    return 1
  }
  read -r user elapsed <<<"$times"
}

# compile NAME OPTION…: compiles $directory/NAME.cc three times; sets user to the least
compile() {
  local least
  least=$(for _ in 1 2 3; do
    measure c++ -std=c++20 -O2 "${@:2}" -c "$directory/$1.cc" -o "$directory/$1.o"
    echo "$user"
  done | sort -n | sed -n 1p)
  user=$least
}

# row WHAT FIGURE GOAL
row() { printf '%-52s %-42s %s\n' "$@"; }

# yardsticks SECONDS: in yardsticks, of which one has been measured before, and one is now
yardsticks() {
  local before=$yardstick
  compile yardstick
  awk "BEGIN { printf \"%.2f yardsticks of %.1f s\", 2 * $1 / ($before + $user), ($before + $user) / 2 }"
}
minutes() { awk "BEGIN { printf \"%.1f min\", ($*) / 60 }"; }

fresh_clone() {
  rm -rf "$clone"
  git clone --quiet "$SOURCES" "$clone"
}

measure_examples() {
  fresh_clone
  measure "$clone/examples/run"
  row 'examples/run, fresh clone' "$(yardsticks "$user"), $(minutes "$elapsed")" 'at most 24 yardsticks, under 2.5 min'
}

measure_tests() {
  local compile_user compile_elapsed
  fresh_clone
  measure "$clone/cmake/build" release tests
  compile_user=$user compile_elapsed=$elapsed
  measure "$clone/test/run"
  row 'test/run, fresh clone' "$(minutes "$compile_elapsed + $elapsed")" 'under 9 min'
  row '  of that compiling' "$(yardsticks "$compile_user"), $(minutes "$compile_elapsed")" 'a third of 250 yardsticks'
}

measure_change() {
  [[ -e $clone/build/test/unit_retry ]] || {
    fresh_clone
    measure "$clone/test/run" --unit retry
  }
  printf '// one more line\n' >>"$clone/$CHANGED"
  measure "$clone/test/run" --unit retry
  row 'a changed line in src/retry, until its tests have run' "$elapsed s" 'under 20 s'
}

measure_program() {
  printf '#include "retryq/retryq.h"\nint main() {}\n' >"$directory/program.cc"
  compile program -I include
  row 'retryq.h and an empty main' "$(yardsticks "$user")" 'under 0.12 yardsticks'
}

measure_user() {
  fresh_clone
  measure "$clone/cmake/build" user retryq_command_alone
  row 'the command alone, preset user' "$(yardsticks "$user"), $(minutes "$elapsed")" 'under 13 yardsticks'
  measure "$clone/cmake/build" user
  row '  retryq::testing and the shared library, too' "$(yardsticks "$user"), $(minutes "$elapsed")" ''
}

measure_ci() {
  fresh_clone
  measure "$clone/.ci/run"
  row '.ci/run, fresh clone' "$(minutes "$elapsed")" 'under 45 min'
}

take_options '' "$@"
((${#words[@]})) || words=(examples tests change program user)
for wanted in "${words[@]}"; do
  declare -F "measure_$wanted" >/dev/null || die "unknown argument '$wanted'; see --help"
done
printf '#include "nlohmann/json.hpp"\n#include "CLI/CLI.hpp"\n#include "gtest/gtest.h"\n' >"$directory/yardstick.cc"
for wanted in "${words[@]}"; do
  compile yardstick
  yardstick=$user
  "measure_$wanted"
done
