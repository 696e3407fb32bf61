# shellcheck shell=bash
# test/bench/run instructions: counts the instructions and allocations that a message costs the client.

readonly FIGURES=test/bench/instructions.txt
readonly FEW=2000 MANY=12000 BODY=256 WARM_UP=1000
readonly TOLERANCE=1.03

take_options 'write!' "$@"
if ! command -v valgrind >/dev/null; then
  say 'there is no valgrind; install it with apt-get install valgrind'
  exit 77
fi
cmake/build release bench_cycle_worker bench_delivering_broker

# count LINE MESSAGES: prints the instructions and the allocations of a run
count() {
  local broker
  rm -f "$directory/url"
  build/test/bench_delivering_broker $(($2 + WARM_UP)) "$BODY" >"$directory/url" &
  broker=$!
  until [[ -s $directory/url ]]; do sleep 0.05; done
  valgrind --tool=callgrind --callgrind-out-file="$directory/out" build/test/bench_cycle_worker "$1" \
    "$(<"$directory/url")" orders "$WARM_UP" "$2" 1 >"$directory/log" 2>&1 || {
    cat "$directory/log" >&2
    kill "$broker"
    return 1
  }
  kill "$broker"
  wait "$broker" 2>/dev/null || true
  # callgrind gives each name once, and then its number.
  awk '/^c?fn=/ {
         split($0, part, /[()]/)
         if (part[3] != "") names[part[2]] = substr(part[3], 2)
         called = /^cfn=/ ? names[part[2]] : ""
       }
       /^calls=/ && called == "malloc" { split($0, part, /[= ]/); allocations += part[2] }
       /^totals:/ { instructions = $2 }
       END { printf "%.0f %.0f\n", instructions, allocations }' "$directory/out"
}

((${#words[@]})) || words=(retry success)
grown=0
for line in "${words[@]}"; do
  read -r kept kept_allocations < <(sed -n "s/^$line //p" "$FIGURES")
  # On a busy machine deliveries and confirms come in smaller groups, which costs more: the least of three runs counts.
  for attempt in 1 2 3; do
    few=$(count "$line" "$FEW")
    many=$(count "$line" "$MANY")
    # The start costs the same in both runs.
    read -r instructions allocations < <(awk -v few="$few" -v many="$many" -v messages=$((MANY - FEW)) 'BEGIN {
      split(few, a); split(many, b)
      printf "%.0f %.1f\n", (b[1] - a[1]) / messages, (b[2] - a[2]) / messages
    }')
    printf '%-8s %6d instructions (kept: %d), %.1f allocations (kept: %.1f) per message\n' "$line" "$instructions" "$kept" \
      "$allocations" "$kept_allocations"
    if [[ -n ${write:-} ]]; then
      sed -i "s/^$line .*/$line $instructions $allocations/" "$FIGURES"
      break
    fi
    awk "BEGIN { exit !($instructions > $kept * $TOLERANCE || $allocations > $kept_allocations + 0.2) }" || break
    ((attempt < 3)) || grown=$((grown + 1))
  done
done
printf '%d passed, %d failed\n' $((${#words[@]} - grown)) "$grown"
((!grown)) || say 'a message costs more than before; find the cause with callgrind_annotate, or run with --write and' \
  'give the reason in the commit message'
exit $((grown > 0))
