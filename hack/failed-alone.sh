#!/usr/bin/env bash
# Prints what go test -run needs to repeat the tests that failed.
set -euo pipefail

readonly most=10 # more than these are no matter of a busy machine

usage() {
  cat <<TXT
Usage: hack/failed-alone.sh LOG

Reads what go test -v printed and prints a pattern for -run that takes the tests
that failed, without those in which they are. Prints nothing where that would not
tell everything: nothing or more than $most failed, or a package did not run to its end.
TXT
}

case ${1:-} in -h | --help) usage && exit ;; esac
if [ $# -ne 1 ] || ! [ -f "$1" ]; then
  echo 'one log is needed; see --help' >&2
  exit 2
fi
export LC_ALL=C

awk -v most="$most" '
  /^(panic: |fatal error: |WARNING: DATA RACE|signal: |exit status )/ || /^FAIL\t.* \[/ {broken = 1}
  match($0, /--- FAIL: [^ ]+/) {failed[substr($0, RSTART + 10, RLENGTH - 10)]}
  END {
    for (name in failed) {
      parent = name
      while (sub("/[^/]*$", "", parent)) parents[parent]
    }
    for (name in failed) {
      if (name in parents) continue
      leaves++
      depth = split(name, levels, "/")
      for (i = 1; i <= depth; i++) {
        gsub(/[^A-Za-z0-9_-]+/, ".+", levels[i])
        if (!((i, levels[i]) in seen)) pattern[i] = pattern[i] (pattern[i] == "" ? "" : "|") levels[i]
        seen[i, levels[i]]
      }
      deepest = depth > deepest ? depth : deepest
    }
    if (broken || !leaves || leaves > most) exit
    for (i = 1; i <= deepest; i++) printf "%s^(%s)", i == 1 ? "" : "/", pattern[i]
    print ""
  }' "$1"
