#!/usr/bin/env bash
# Runs a command beside another one, for tests that wait most of the time.
set -euo pipefail

usage() {
  cat <<'TXT'
Usage: hack/beside.sh COMMAND [ARGUMENT...] -- COMMAND [ARGUMENT...]

Runs the first command beside the second one. The output of the first command
follows that of the second. Fails if one of them fails.
TXT
}

case ${1:-} in
  -h | --help) usage && exit ;;
  -*)
    echo "$1 is no command; see --help" >&2
    exit 2
    ;;
esac
first=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  first+=("$1")
  shift
done
if [ $# -lt 2 ] || [ ${#first[@]} -eq 0 ]; then
  echo 'two commands with -- between them are needed; see --help' >&2
  exit 2
fi
shift

log=$(mktemp)
set -m # a process group of its own, so that it can be ended with all that it started
"${first[@]}" >"$log" 2>&1 &
beside=$!
set +m
trap 'kill -- "-$beside" 2>/dev/null || true; rm -f "$log"' EXIT
trap 'exit 130' INT TERM

failed=0
"$@" || failed=1
exec 3<"$log"
while kill -0 "$beside" 2>/dev/null; do
  cat <&3
  sleep 0.5
done
cat <&3
wait "$beside" || failed=1
exit "$failed"
