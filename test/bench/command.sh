# shellcheck shell=bash
# test/bench/run command: the command and amqp-tools in turns, with messages of 256 bytes: messages a second, and the CPU time of
# the client with its children. Consumers run `sh -c 'cat >/dev/null'` for each message; with --lines the child is a line of Perl
# that replies to each. Publishers send to a durable classic queue; `send --lines` waits for confirms, amqp-publish does not.

readonly QUEUE=retryq-bench-command
readonly MODES=('amqp-consume' 'work' 'work --jobs 4' 'work --lines' 'work --lines --in-flight 64' 'amqp-publish' 'send --lines')
rounds=3 messages=2000
take_options 'version rounds messages' "$@"
no_words
expect_numbers rounds messages
third_party/install --bench
cmake/build release retryq_command
start_broker_unless_given "$version"
export TIMEFORMAT='%R %U %S'
# To amqp-tools a path of "/" is a vhost without a name.
url=${RETRYQ_URL%/}

# bodies COUNT: a line each
bodies() { awk -v count="$1" 'BEGIN { body = sprintf("%256s", ""); gsub(/ /, "x", body); while (count-- > 0) print body }'; }

publish() { amqp-publish --url "$url" --routing-key "$QUEUE" --persistent --line-buffered; }

# measure COMMAND…: its seconds, user CPU and system CPU, into $directory/times
measure() { { time timeout 600 "$@" 2>"$directory/log"; } 2>"$directory/times"; }

# count_acked: sets `acked` to the number of messages that the worker has acked, by its metrics. It starts no process,
# which would take CPU from the worker.
count_acked() {
  local line lines port=
  acked=0
  while read -r line; do
    [[ $line != *' serving_metrics '*:* ]] || port=${line##*:}
  done <"$directory/log"
  [[ -n $port ]] || return 0
  exec 3<>"/dev/tcp/127.0.0.1/$port"
  printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
  mapfile -t lines <&3
  exec 3<&-
  for line in "${lines[@]}"; do
    [[ $line != retryq_outcomes_total*'outcome="acked"'* ]] || acked=${line##* }
  done
}

# measure_work COUNT ARGUMENT…: a worker, until it has acked so many. Its seconds are COUNT divided by its speed between the
# first and the last look at a part of them: neither its start and stop nor the wait for the next look counts.
measure_work() {
  local count=$1 acked=0 first=0 last=0 first_at=0 last_at=0
  shift
  : >"$directory/log"
  # shellcheck disable=SC2016  # expanded by the inner shell
  measure bash -c 'echo $$ >"$0"; exec "$@"' "$directory/pid" \
    build/bin/retryq work --metrics 127.0.0.1:0 --queue "$QUEUE" "$@" >/dev/null &
  until ((acked >= count)); do
    read -rt 0.1 -u 4 || true # nobody writes
    kill -0 $! || {
      cat "$directory/log" >&2
      return 1
    }
    count_acked
    ((0 < acked && acked < count)) || continue
    last=$acked last_at=${EPOCHREALTIME//[!0-9]/}
    ((first)) || first=$last first_at=$last_at
  done
  kill "$(<"$directory/pid")"
  wait $!
  awk -v count="$count" -v micros=$((last_at - first_at)) -v acked=$((last - first)) \
    '{ print count * micros / acked / 1e6, $2, $3 }' "$directory/times" >"$directory/steady"
  mv "$directory/steady" "$directory/times"
}

# run_mode MODE COUNT: measures one of the modes, on a queue that holds so many messages before or after
run_mode() {
  local work=("$2" --prefetch 256 --lines)
  # sed -u would read byte by byte.
  # shellcheck disable=SC2016  # Perl's variables
  local reply=(perl -ne '$| = 1; print qq({"id":$1,"ok":true}\n) if /^\{"id":(\d+)/')
  amqp-declare-queue --url "$url" --queue "$QUEUE" --durable >/dev/null
  bodies "$2" >"$directory/bodies"
  sed 's/.*/{"body":"&"}/' "$directory/bodies" >"$directory/lines"
  [[ $1 != *consume && $1 != work* ]] || publish <"$directory/bodies"
  case $1 in
    amqp-consume)
      measure amqp-consume --url "$url" --queue "$QUEUE" --prefetch-count 64 --count "$2" -- sh -c 'cat >/dev/null'
      ;;
    work) measure_work "$2" -- sh -c 'cat >/dev/null' ;;
    'work --jobs 4') measure_work "$2" --jobs 4 -- sh -c 'cat >/dev/null' ;;
    'work --lines') measure_work "${work[@]}" -- "${reply[@]}" ;;
    'work --lines --in-flight 64') measure_work "${work[@]}" --in-flight 64 -- "${reply[@]}" ;;
    amqp-publish) measure amqp-publish --url "$url" --routing-key "$QUEUE" --persistent --line-buffered <"$directory/bodies" ;;
    'send --lines') measure build/bin/retryq send --lines --queue "$QUEUE" <"$directory/lines" >"$directory/answers" ;;
  esac
  expect_left "$1" "$(amqp-delete-queue --url "$url" --queue "$QUEUE")" "$2"
}

# expect_left MODE FOUND COUNT: publishers have left all messages, and consumers none
expect_left() {
  local left=0
  [[ $1 == work* || $1 == amqp-consume ]] || left=$3
  (($2 == left)) || {
    say "$1: the queue holds $2 messages, not $left"
    return 1
  }
}

mkfifo "$directory/never"
exec 4<>"$directory/never"
for ((round = 1; round <= rounds; ++round)); do
  for mode in "${MODES[@]}"; do
    count=$((20 * messages))
    [[ $mode != amqp-consume && $mode != work && $mode != *--jobs* ]] || count=$messages
    run_mode "$mode" "$count"
    awk -v mode="$mode" -v n="$count" '{ printf "%s\t%.0f\t%.1f\n", mode, n / $1, ($2 + $3) / n * 1e6 }' "$directory/times"
  done
done | tee "$directory/results" >&2

printf '\n%-28s %12s %16s %16s\n' "medians of $rounds rounds" messages/s 'least..most' 'CPU us each'
for mode in "${MODES[@]}"; do
  for column in 2 3; do
    awk -F '\t' -v mode="$mode" -v column="$column" '$1 == mode { print $column }' "$directory/results" | sort -n >"$directory/column.$column"
  done
  printf '%-28s %12s %16s %16s\n' "$mode" "$(sed -n "$(((rounds + 1) / 2))p" "$directory/column.2")" \
    "$(sed -n '1p' "$directory/column.2")..$(sed -n '$p' "$directory/column.2")" "$(sed -n "$(((rounds + 1) / 2))p" "$directory/column.3")"
done
