# shellcheck shell=bash
# test/bench/run calls: counts the instructions of public calls.

calls=100000 most=1.3
take_options 'calls most' "$@"
if ! command -v valgrind >/dev/null; then
  say 'there is no valgrind; install it with apt-get install valgrind'
  exit 77
fi
cmake/build release bench_calls

# instructions CALL: those of the first thousand calls and those of the last
instructions() {
  rm -f "$directory"/out*
  valgrind --tool=callgrind --callgrind-out-file="$directory/out" --collect-atstart=no --toggle-collect=FirstThousand \
    --toggle-collect=LastThousand --dump-after=FirstThousand --dump-after=LastThousand -q build/test/bench_calls "$1" "$calls" \
    >"$directory/log" 2>&1 </dev/null || {
    cat "$directory/log" >&2
    return 1
  }
  sed -n 's/^totals: //p' "$directory/out.1" "$directory/out.2" | paste -sd ' '
}

printf '%-58s %12s %12s %8s\n' 'instructions per call' 'first 1 000' 'last 1 000' ratio
grown=0
while read -r call; do
  counted=$(instructions "$call")
  awk -v call="$call" -v most="$most" '{
    grows = $2 > most * $1
    printf "%-58s %12d %12d %8.2f%s\n", call, $1 / 1000, $2 / 1000, $2 / $1, (grows ? "  grows" : "")
    exit grows
  }' <<<"$counted" || grown=1
done < <(build/test/bench_calls --list | grep -iF -f <(printf '%s\n' "${words[@]}"))
exit "$grown"
