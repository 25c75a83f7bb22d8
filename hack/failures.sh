#!/usr/bin/env bash
# Prints which tests failed, and what they said last.
set -euo pipefail

usage() {
  cat <<'TXT'
Usage: hack/failures.sh FOLDER

Reads what go test -v printed: the files of FOLDER, one for each run. Prints each
test that failed with the last fifteen lines that name a line of a test file, each cut
at 300 characters, and each panic, data race and package that did not build.
Prints nothing when nothing failed.
TXT
}

case ${1:-} in -h | --help) usage && exit ;; esac
if [ $# -ne 1 ] || ! [ -d "$1" ]; then
  echo 'one folder is needed; see --help' >&2
  exit 2
fi
export LC_ALL=C # cuts bytes, whatever they are

find "$1" -type f -exec awk '
  function tell(text) {
    if (!told++) print "\n== what failed"
    print text
  }
  FNR == 1 {split("", last); split("", count)}
  /^=== (RUN|CONT|NAME) / {test = $3; next}
  /^ +[A-Za-z0-9_]+_test\.go:[0-9]+: / {last[test, count[test]++ % 15] = substr($0, 1, 300)}
  /^(panic: |fatal error: |WARNING: DATA RACE)/ {tell(substr($0, 1, 300))}
  match($0, /--- FAIL: [^ ]+/) {
    name = substr($0, RSTART + 10, RLENGTH - 10)
    tell("--- " name)
    for (i = count[name] > 15 ? count[name] - 15 : 0; i < count[name]; i++) tell(last[name, i % 15])
  }
  /^FAIL\t.* \[/ {tell($0)}
  /^(ok  |FAIL)\t/ {split("", last); split("", count)}' {} +
