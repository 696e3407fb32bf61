# shellcheck shell=bash
# test/bench/run figures: writes FIGURES.md. `test/lint figures` checks that it was measured with the present src, or says so.

asked=$*
rounds=5
take_options 'version rounds' "$@"
expect_numbers rounds
versions=(sid bookworm)
[[ -z $version ]] || versions=("$version")
cmake/build release bench
for version in "${versions[@]}"; do
  start_broker "$version"
  run_until_done build/test/bench --rounds "$rounds" --markdown "$directory/$version" "${words[@]}"
  third_party/rabbitmq/broker stop
  unset RETRYQ_BROKER
done
{
  printf '# Figures of the last run\n\n'
  printf 'Written by `test/bench/run figures%s` on\n%s, %s rounds; [README.md](README.md) explains them.\n' "${asked:+ $asked}" \
    "$(date -u +%Y-%m-%d)" "$rounds"
  printf 'Sources measured (`git rev-parse --short=10 HEAD:src`): %s\n' "$(git rev-parse --short=10 HEAD:src)"
  for version in "${versions[@]}"; do
    printf '\n'
    cat "$directory/$version"
  done
} >test/bench/FIGURES.md
