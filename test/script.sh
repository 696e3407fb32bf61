# shellcheck shell=bash
# Each script of the tests sources this file first. It prints the script's first comment for --help, changes to the root of the
# repository, and stops the processes of the script when it exits.

CALLER=$PWD # file names in arguments are relative to it
SCRIPT=$(realpath "$0")
cd -P "$(dirname "${BASH_SOURCE[0]}")/.."
SCRIPT=${SCRIPT#"$PWD/"}
readonly CALLER SCRIPT
started=()    # processes that are stopped when the script exits
directory='' # removed when the script exits: make_directory
unset RETRYQ_BROKER

say() { printf '%s: %s\n' "$SCRIPT" "$*" >&2; }

# die MESSAGE: exits because of wrong arguments
die() {
  say "$@"
  exit 64
}

# before_removal: called before the directory is removed. A script may define its own
before_removal() { :; }

clean_up() {
  local code=$? process
  # A subshell that is killed early has the traps of this shell.
  [[ $BASHPID == "$$" ]] || return 0
  trap - EXIT
  for process in "${started[@]}"; do
    kill "$process" 2>/dev/null || true
  done
  for process in "${started[@]}"; do
    wait "$process" 2>/dev/null || true
  done
  [[ -z ${RETRYQ_BROKER:-} ]] || third_party/rabbitmq/broker stop
  before_removal
  rm -rf "$directory"
  exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

for argument; do
  [[ $argument != -h && $argument != --help ]] || {
    sed -n '2,/^set/{/^#/!d;/^# shellcheck/d;s/^# \{0,1\}//;p}' "$SCRIPT"
    exit
  }
done

# make_directory [PARENT]: sets $directory
make_directory() { directory=$(mktemp --directory --tmpdir="${1:-${TMPDIR:-/tmp}}" "retryq.XXXXXX"); }

# from_caller FILE: prints the path of a file that an argument names, relative to the root
from_caller() { [[ $1 == /* ]] && printf '%s\n' "$1" || printf '%s\n' "$CALLER/$1"; }

# take_options "NAME… FLAG!…" ARGUMENT…: sets the variable NAME for --NAME VALUE or --NAME=VALUE, FLAG to "yes" for --FLAG, and
# the array `words` to all other arguments. A "-" is "_" in the variable's name
take_options() {
  local names=" $1 " option variable
  shift
  words=()
  while (($#)); do
    option=${1%%=*} variable=${1%%=*}
    variable=${variable#--} variable=${variable//-/_}
    if [[ $1 != -* ]]; then
      words+=("$1")
    elif [[ $names == *" ${1#--}! "* ]]; then
      printf -v "$variable" yes
    elif [[ -z $variable || $names != *" ${option#--} "* ]]; then
      die "unknown option '$1'; see --help"
    elif [[ $1 == *=* ]]; then
      printf -v "$variable" %s "${1#*=}"
    else
      (($# > 1)) || die "$option needs a value; see --help"
      printf -v "$variable" %s "$2"
      shift
    fi
    shift
  done
}

# no_words: requires that there are no other arguments
no_words() { ((${#words[@]} == 0)) || die "unknown argument '${words[0]}'; see --help"; }

# expect_numbers NAME…: requires a whole number from 1 on in each of these variables
expect_numbers() {
  local name
  for name; do
    [[ ${!name} =~ ^[1-9][0-9]*$ ]] || die "--$name '${!name}': must be a whole number from 1 on"
  done
}

# start_broker [VERSION [ARGUMENT…]]: starts a private node; see third_party/rabbitmq/broker
start_broker() {
  local settings
  [[ ${1:-bookworm} == bookworm ]] || third_party/install --brokers
  settings=$(third_party/rabbitmq/broker start --version "${1:-bookworm}" --owner $$ "${@:2}")
  set -a
  eval "$settings"
  set +a
}

# start_broker_unless_given [VERSION]: starts a private node, unless RETRYQ_URL names a broker
start_broker_unless_given() {
  if [[ -n ${RETRYQ_URL:-} ]]; then
    [[ -z ${1:-} ]] || die "--version is for a private broker, but RETRYQ_URL names another one"
    say "testing on the broker that RETRYQ_URL names"
  else
    start_broker "$@"
  fi
}

ctl() { third_party/rabbitmq/broker ctl --quiet "$@"; }

# begin COMMAND…: starts a command that runs until the script exits, and sets $process
begin() {
  "$@" &
  process=$!
  started+=("$process")
}

# run_until_done COMMAND…: like a plain call, but signals to this script stop the command first
run_until_done() {
  local code=0 process
  begin "$@"
  wait "$process" || code=$?
  unset 'started[-1]'
  return "$code"
}

# for_each COMMAND ARGUMENT…: runs the command for each argument, on all cores. Prints the output of those that failed, then
# "N passed, N failed"
for_each() {
  local command=$1 argument number=0 failed begun=$SECONDS last=$SECONDS
  shift
  (($#)) || {
    say 'there is nothing to check'
    return 1
  }
  [[ -n $directory ]] || make_directory
  for argument; do
    while (($(jobs -pr | wc -l) >= $(nproc))); do
      wait -n || true
    done
    number=$((number + 1))
    { "$command" "$argument" >"$directory/said.$number" 2>&1 || mv "$directory/said.$number" "$directory/failed.$number"; } &
    if ((SECONDS >= last + 20)); then
      last=$SECONDS
      say "$number of $#, about $(((SECONDS - begun) * ($# - number) / number)) s left"
    fi
  done
  wait
  failed=$(find "$directory" -name 'failed.*' | wc -l)
  find "$directory" -name 'failed.*' -exec cat {} +
  printf '%d passed, %d failed\n' $(($# - failed)) "$failed"
  ((failed == 0))
}
