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

# Compilers and linkers live too short to collect much garbage; without that compiling takes a sixth less.
run=(env GOGC=400 go test -exec 'env -u GOGC')

log=$(mktemp)
TEST_PROGRAMS=$(mktemp -d) # what one package builds is there for all: see test/built
export TEST_PROGRAMS
set -m # a process group of its own, so that it can be ended with all that it started
"${run[@]}" -parallel 4 "$@" "${waiting[@]}" >"$log" 2>&1 &
beside=$!
set +m
trap 'kill -- "-$beside" 2>/dev/null || true; rm -rf "$log" "$TEST_PROGRAMS"' EXIT
trap 'exit 130' INT TERM

failed=0
"${run[@]}" -p "$(($(nproc) + 1))" "$@" "${others[@]}" || failed=1
exec 3<"$log"
while kill -0 "$beside" 2>/dev/null; do
  cat <&3
  sleep 0.5
done
cat <&3
wait "$beside" || failed=1
exit "$failed"
