# shellcheck shell=bash
# test/bench/run figures: writes FIGURES.md. `test/lint api` checks that its figures are those of the present src, or marked as old.

rounds=5
take_options 'rounds' "$@"
expect_numbers rounds
cmake/build release bench
for version in sid bookworm; do
  start_broker "$version"
  run_until_done build/test/bench --rounds "$rounds" --markdown "$directory/$version" "${words[@]}"
  third_party/rabbitmq/broker stop
done
{
  printf '# Figures of the last run\n\nWritten by `test/bench/run figures%s` on %s, %s rounds; [README.md](README.md) explains them.\n' \
    "${words[*]:+ ${words[*]}}" "$(date -u +%Y-%m-%d)" "$rounds"
  printf 'Sources measured (`git rev-parse --short=10 HEAD:src`): %s\n\n' "$(git rev-parse --short=10 HEAD:src)"
  cat "$directory/sid"
  printf '\n'
  cat "$directory/bookworm"
} >test/bench/FIGURES.md
