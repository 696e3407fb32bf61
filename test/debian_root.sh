# shellcheck shell=bash
# To be sourced: a clean Debian of any release, in a directory, for suites that try things there. Needs root, by sudo where it
# does not run as root.

as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo --preserve-env=http_proxy,https_proxy,no_proxy -- "$@"
  fi
}

# make_root RELEASE DIRECTORY PACKAGE…: what each Debian of that release has, and these packages
make_root() {
  local release=$1 directory=$2 mirror=${RETRYQ_DEBIAN_MIRROR:-http://deb.debian.org/debian} log
  shift 2
  log=$(mktemp)
  as_root debootstrap --variant=minbase --include="$(IFS=, && echo "$*")" "$release" "$directory" "$mirror" >"$log" 2>&1 || {
    tail -n 5 "$log" >&2
    rm -f "$log"
    printf '%s: debootstrap could not make a Debian %s from %s; its last words are above\n' "$0" "$release" "$mirror" >&2
    return 1
  }
  rm -f "$log"
}

# in_root DIRECTORY COMMAND…: in that system, with nothing of this one's environment but what leads to the network
in_root() {
  local directory=$1
  shift
  # shellcheck disable=SC2016  # expanded in there
  as_root env -i PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
    unshare --mount --propagation private -- bash -c '
      mount --bind "$0" "$0" && mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"' "$directory" "$@"
}
