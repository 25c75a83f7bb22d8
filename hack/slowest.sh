#!/usr/bin/env bash
# Prints which test packages and which tests took longest.
set -euo pipefail

usage() {
  cat <<'TXT'
Usage: hack/slowest.sh FOLDER

Reads what go test -v printed: the files of FOLDER, one for each run. Prints the
ten slowest packages and the ten slowest tests (without subtests), with their
seconds. Packages and tests that failed count too.
TXT
}

case ${1:-} in -h | --help) usage && exit ;; esac
if [ $# -ne 1 ] || ! [ -d "$1" ]; then
  echo 'one folder is needed; see --help' >&2
  exit 2
fi
export LC_ALL=C # numbers with a point

# go test prints a package after its tests, and not at all when it was killed before. A test's own output may
# stand before its result in the same line.
times=$(find "$1" -type f -exec awk '
  function tell(package) {for (; n > 0; n--) print "tests", seconds[n], package, name[n]}
  FNR == 1 {tell("unfinished")}
  match($0, /--- (PASS|FAIL): [^ \/]+ \([0-9.]+s\)$/) {
    split(substr($0, RSTART), part, " ")
    name[++n] = part[3]
    seconds[n] = substr(part[4], 2) + 0
  }
  /^(ok  |FAIL)\t/ {
    sub(/^([^\/]*\/)([^\/]*\/)([^\/]*\/)/, "", $2)
    tell($2)
    if ($3 ~ /^[0-9.]+s$/) print "packages", $3 + 0, $2
  }
  END {tell("unfinished")}' {} +)

for what in packages tests; do
  printf '\n== the slowest %s (seconds)\n' "$what"
  sed -n "s/^$what //p" <<<"$times" | sort -rn | awk 'NR <= 10 {printf "%8.1f  %s%s\n", $1, $2, (NF == 3 ? " " $3 : "")}'
done
