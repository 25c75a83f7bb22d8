#!/usr/bin/env bash
# Runs go test on packages, with the end-to-end tests beside the others.
set -euo pipefail

usage() {
  cat <<'TXT'
Usage: hack/run-tests.sh PACKAGE... -- [FLAG...]

Runs "go test FLAG..." on the packages, which may be patterns such as ./... .
The package test/e2e waits most of the time, so it runs beside the others from
the start, with four tests at a time; what it prints follows what they print.
The others wait too, so one more of them runs at once than there are processors.
TXT
}

case ${1:-} in -h | --help) usage && exit ;; esac
patterns=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  patterns+=("$1")
  shift
done
if [ $# -eq 0 ] || [ ${#patterns[@]} -eq 0 ]; then
  echo 'packages and then -- are needed; see --help' >&2
  exit 2
fi
shift

listed=$(go list "${patterns[@]}")
mapfile -t waiting < <(grep '/test/e2e$' <<<"$listed")
mapfile -t others < <(grep -v '/test/e2e$' <<<"$listed")
if [ ${#waiting[@]} -eq 0 ] || [ ${#others[@]} -eq 0 ]; then
  exec go test "$@" "${patterns[@]}"
fi

TEST_PROGRAMS=$(mktemp -d) # what one package builds is there for all: see test/built
export TEST_PROGRAMS
trap 'rm -rf "$TEST_PROGRAMS"' EXIT
trap 'exit 130' INT TERM
"$(dirname "${BASH_SOURCE[0]}")/beside.sh" go test -parallel 4 "$@" "${waiting[@]}" -- go test -p "$(($(nproc) + 1))" "$@" "${others[@]}"
