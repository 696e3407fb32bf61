# shellcheck shell=bash
# Checks for suites that ctest does not run, such as test/monitoring/run.

readonly PATIENCE=120 # seconds
passed=0
failed=0

# check WHAT COMMAND…: counts whether the command succeeds, and prints its output if it fails
check() {
  local what=$1 said
  shift
  if said=$("$@" 2>&1); then
    passed=$((passed + 1))
    printf 'ok    %s\n' "$what"
  else
    failed=$((failed + 1))
    printf 'FAIL  %s\n' "$what"
    # shellcheck disable=SC2001  # each line
    sed 's/^/      /' <<<"$said"
  fi
}

# until_true WHAT COMMAND…: waits until the command succeeds
until_true() {
  local what=$1 end=$((SECONDS + PATIENCE))
  shift
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS > end)); then
      printf '%s: not within %s s: %s\n' "${BASH_SOURCE[-1]}" "$PATIENCE" "$what" >&2
      return 1
    fi
    sleep 0.2
  done
}

# is_hardened FILE: whether a program or a shared library has the hardening of the presets user and debian
is_hardened() {
  local facts
  facts=$(readelf --wide --file-header --program-headers --dynamic --dyn-syms "$1") || return 1
  printf '%s\n' "$facts" | grep -E 'Type: |GNU_RELRO|GNU_STACK|FLAGS|_chk'
  grep -qE '^ +Type: +DYN' <<<"$facts" && grep -q 'GNU_RELRO' <<<"$facts" && grep -q 'BIND_NOW' <<<"$facts" &&
    grep -q '__stack_chk_fail' <<<"$facts" && ! grep -E 'GNU_STACK.* RWE ' <<<"$facts" || return 1
  # The library calls no function of libc that FORTIFY checks.
  [[ $1 == *.so* ]] || { grep -qE ' __[a-z]+_chk@' <<<"$facts" && grep -qE 'FLAGS_1.* PIE' <<<"$facts"; }
}

# is_sbom FILE: whether the file is an SBOM in SPDX that lists the dependencies of the command with their versions
is_sbom() {
  python3 - "$1" <<'PYTHON'
import json, sys
sbom = json.load(open(sys.argv[1]))
assert sbom["spdxVersion"] == "SPDX-2.3", sbom
packages = {package["SPDXID"]: package for package in sbom["packages"]}
assert {"retryq", "libevent", "Abseil", "OpenSSL", "libcurl"} <= {package["name"] for package in packages.values()}
for package in packages.values():
    assert package["versionInfo"][0].isdigit() and package["licenseDeclared"] and package["downloadLocation"], package
    assert any(relation["relatedSpdxElement"] == package["SPDXID"] for relation in sbom["relationships"]), package
PYTHON
}

# count_checks: prints the line that test/tally.sh reads; returns whether all checks passed
count_checks() {
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0))
}
