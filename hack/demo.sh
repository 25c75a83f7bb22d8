#!/usr/bin/env bash
# Builds the daemon and the demo, and plays it: what the daemon is for, in a minute.
set -euo pipefail

usage() {
  cat <<'TXT'
Usage: hack/demo.sh

Shows in a minute what the daemon is for, on this machine alone: it needs Go and
git, no cluster, no rights and no network (except the first download of the Go
modules). It builds bin/ionos-endpointslice-controller, which takes some minutes
the first time, starts five small web servers and the daemon, and plays eight
scenes: nodes join, a node dies and comes back, a node is drained, the source
breaks and recovers, every health check fails at once, the daemon is stopped.

It ends by itself, or at Ctrl-C, and leaves only bin/ behind. Exit status 0 if
every scene came true, 1 if one did not, 130 after Ctrl-C. With NO_COLOR set, or
into a pipe or a file, it uses no colours.
TXT
}

die() {
  printf 'demo: %s\n' "$@" >&2
  exit 1
}

case ${1:-} in
  -h | --help) usage && exit ;;
  "") ;;
  *) die "unknown argument $1, see --help" ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v go >/dev/null || die "there is no go in PATH" "remedy: install Go, https://go.dev/doc/install"

# progress counts the packages that go build names, and lets through whatever else it says.
progress() {
  local most=$1 count=0 line
  while IFS= read -r line; do
    if [[ ! $line =~ ^[A-Za-z0-9._/~-]+$ ]]; then
      [ -t 2 ] && printf '\r\033[K' >&2
      printf '%s\n' "$line" >&2
      continue
    fi
    count=$((count + 1))
    if [ -t 2 ]; then
      printf '\r\033[Kdemo: compiled %d of at most %d packages' "$count" "$most" >&2
    elif [ $((count % 100)) = 0 ]; then
      printf 'demo: compiled %d of at most %d packages\n' "$count" "$most" >&2
    fi
  done
  [ -t 2 ] && [ "$count" -gt 0 ] && printf '\r\033[K' >&2
  return 0
}

# build compiles as make build does, so that both share what is compiled already.
build() {
  local packages=(./cmd/ionos-endpointslice-controller ./hack/demo) most
  export CGO_ENABLED=0
  printf 'demo: building the daemon; the first time takes some minutes\n' >&2
  most=$(go list -deps "${packages[@]}" | wc -l)
  mkdir -p bin
  go build -v -trimpath -buildvcs=false -o bin/ "${packages[@]}" 2>&1 | progress "$((most))" || die "the build failed"
  printf 'demo: built in %d s\n' "$SECONDS" >&2
}

build
arguments=(-daemon bin/ionos-endpointslice-controller)
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
  arguments+=(-color)
fi
# The demo takes the place of the shell, so that Ctrl-C and kill reach it.
exec bin/demo "${arguments[@]}"
