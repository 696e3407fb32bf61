# shellcheck shell=bash
# test/bench/run quorum-queues: what many delay queues cost a broker.
#
# Each queue has a TTL of ten seconds, and dead-letters at least once into one work queue. The queues hold nothing at first. Then,
# every ten seconds for a minute, each gets a message of ten bytes, which comes due. Finally the broker is restarted, until all
# queues work. All times are CPU time of the broker's process, which other programs change little.

readonly IDLE=60 ROUNDS=6 TTL=10000 # seconds, and milliseconds
type=quorum
take_options 'version type' "$@"
((${#words[@]})) || words=(100 1000 5000)

# api METHOD PATH [CURL ARG…]
api() {
  curl --silent --show-error --fail --max-time 600 -X "$1" -H 'content-type: application/json' \
    "$RETRYQ_MANAGEMENT_URL/api$2" "${@:3}"
}

# definitions NUMBER: the queues, one exchange that leads to all of them, and the work queue, which keeps one message
definitions() {
  jq -n --argjson number "$1" --argjson ttl "$TTL" --arg type "$type" '
    {vhost: "/", durable: true, auto_delete: false} as $object |
    ({"x-queue-type": $type, "x-message-ttl": $ttl, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "work",
      "x-overflow": "reject-publish"} +
     if $type == "quorum" then {"x-dead-letter-strategy": "at-least-once"} else {} end) as $arguments |
    [range($number) | "retry.\($ttl).work\(.).q0"] as $names |
    {queues: ([$names[] | $object + {name: ., arguments: $arguments}] +
              [$object + {name: "work", arguments: {"x-max-length": 1}}]),
     exchanges: [$object + {name: "all", type: "fanout", internal: false, arguments: {}}],
     bindings: [$names[] | {source: "all", vhost: "/", destination: ., destination_type: "queue", routing_key: "",
                            arguments: {}}]}'
}

# pid: the broker's own process
pid() { ctl eval 'list_to_integer(os:getpid()).' | tr -dc 0-9; }

cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{ print int(($14 + $15) * 1000 / hz) }' "/proc/$1/stat"; }

memory_mib() { awk '/^VmRSS/ { printf "%d", $2 / 1024 }' "/proc/$1/status"; }

# running: how many queues work
running() { api GET '/queues?columns=state' | jq '[.[] | select(.state == "running")] | length' || echo 0; }

# use: a message for each queue every ten seconds
use() {
  local i
  for ((i = 0; i < ROUNDS; ++i)); do
    api POST /exchanges/%2F/all/publish \
      --data '{"properties":{"delivery_mode":2},"routing_key":"work","payload":"0123456789","payload_encoding":"string"}' >/dev/null
    sleep $((TTL / 1000))
  done
}

# cpu_during NODE COMMAND…: milliseconds of CPU that the broker takes meanwhile
cpu_during() {
  local node=$1 before
  before=$(cpu_ms "$node")
  "${@:2}"
  echo $(($(cpu_ms "$node") - before))
}

measure() {
  local number=$1 node empty idle_cpu idle used_cpu used
  start_broker "${version:-sid}" --wait 120
  node=$(pid)
  sleep 20
  empty=$(memory_mib "$node")
  definitions "$number" >"$RETRYQ_BROKER/definitions.json"
  api POST /definitions --data-binary "@$RETRYQ_BROKER/definitions.json" >/dev/null
  sleep 30
  idle_cpu=$(cpu_during "$node" sleep "$IDLE") idle=$(memory_mib "$node")
  used_cpu=$(cpu_during "$node" use) used=$(memory_mib "$node")
  third_party/rabbitmq/broker shutdown >/dev/null
  third_party/rabbitmq/broker restart >/dev/null || true # it may take longer than that waits
  until (($(running) > number)); do sleep 0.5; done
  awk -v number="$number" -v idle=$((idle - empty)) -v used=$((used - empty)) -v idle_cpu=$((idle_cpu / IDLE)) \
    -v used_cpu=$((used_cpu * 1000 / ROUNDS / TTL)) -v start="$(cpu_ms "$(pid)")" \
    'BEGIN { printf "| %d | %d | %d | %d | %d | %.1f |\n", number, idle, used, idle_cpu, used_cpu, start / 1000 }'
  third_party/rabbitmq/broker stop >/dev/null
  unset RETRYQ_BROKER
}

printf '| %s queues | memory, idle (MiB) | in use | CPU, idle (ms a second) | in use | start (CPU s) |\n' "$type"
printf '| --- | --- | --- | --- | --- | --- |\n'
for number in "${words[@]}"; do
  measure "$number"
done
