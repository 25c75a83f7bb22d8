#!/usr/bin/env bash
# Installs the Debian packages that the tests need beside Go; does nothing when all are there.
set -euo pipefail

usage() {
  cat <<'TXT'
Usage: hack/install-test-packages.sh [--check]

Installs what make test and make lint need and this machine lacks, by apt-get,
as root or with sudo:

  gcc, libc6-dev   go test -race links with the C library
  iproute2         ip: tests give their backends addresses in a network
                   namespace of their own
  util-linux       unshare, nsenter: make that namespace and enter it; flock
  nftables,        make lab: kube-proxy writes its rules with them, and lost
  iptables         packages are dropped by them
  python3,         scripts/ has tests of its own
  python3-venv     make site: mkdocs is installed apart
  shellcheck       make lint: mistakes in shell scripts
  jq, curl         scripts in hack/ read the APIs with them
  chromium         the status page is looked at with a real browser,
  nodejs, npm      which a script drives
  haproxy          examples/haproxy keeps a real one right; it need not run
  git, make        the version of the build; the targets

  --check          list the missing packages, install none; exit 1 if one is missing
TXT
}

# missing prints the packages whose programs are not there.
missing() {
  command -v ip >/dev/null || echo iproute2
  command -v gcc >/dev/null || echo gcc
  [ -e /usr/include/stdlib.h ] || echo libc6-dev
  command -v unshare >/dev/null && command -v nsenter >/dev/null && command -v flock >/dev/null || echo util-linux
  command -v nft >/dev/null || echo nftables
  command -v iptables >/dev/null || echo iptables
  command -v python3 >/dev/null || echo python3
  python3 -c 'import ensurepip' 2>/dev/null || echo python3-venv
  command -v shellcheck >/dev/null || echo shellcheck
  command -v jq >/dev/null || echo jq
  command -v curl >/dev/null || echo curl
  command -v chromium >/dev/null || echo chromium
  command -v node >/dev/null || echo nodejs
  command -v npm >/dev/null || echo npm
  command -v haproxy >/dev/null || echo haproxy
  command -v git >/dev/null || echo git
  command -v make >/dev/null || echo make
}

die() {
  printf 'packages: %s\n' "$@" >&2
  exit 1
}

case ${1:-} in
  -h | --help) usage && exit ;;
  "" | --check) ;;
  *) die "unknown argument $1, see --help" ;;
esac

# ip is in a folder that a user's PATH may lack.
PATH=$PATH:/usr/sbin:/sbin
mapfile -t packages < <(missing)
[ ${#packages[@]} -gt 0 ] || exit 0
if [ "${1:-}" = --check ]; then
  die "missing: ${packages[*]}" "remedy: hack/install-test-packages.sh"
fi

command -v apt-get >/dev/null ||
  die "missing: ${packages[*]}" "remedy: install them (Debian's names); there is no apt-get here to do it"
as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null ||
    die "missing: ${packages[*]}" "remedy: as root, apt-get install ${packages[*]} (no sudo here to do it)"
  as_root=(sudo)
fi
printf 'packages: installing %s\n' "${packages[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  "${as_root[@]}" apt-get update -q &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${packages[@]}"
}
install >"$log" 2>&1 || {
  tail -n 20 "$log" >&2
  die "apt-get failed, see above" "remedy: apt-get update && apt-get install ${packages[*]}, as root"
}
mapfile -t packages < <(missing)
[ ${#packages[@]} -eq 0 ] || die "still missing after the installation: ${packages[*]}"
