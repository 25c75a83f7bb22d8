#!/usr/bin/env bash
# Runs every fuzz target of the module for a while, one after another.
set -euo pipefail

usage() {
  cat <<'TXT'
Usage: hack/fuzz.sh [DURATION]

Finds every func Fuzz... in the tests and runs each for DURATION (Go's form,
default 2m). All are run even if one finds something; the exit status is 1 then,
and go test says where the failing input was saved.
TXT
}

case ${1:-} in -h | --help) usage && exit ;; esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
duration=${1:-2m}
failed=()

while IFS=: read -r file target; do
  package=./$(dirname "$file")
  printf 'fuzz: %s %s for %s\n' "$package" "$target" "$duration"
  go test -run='^$' -fuzz="^$target\$" -fuzztime="$duration" "$package" </dev/null || failed+=("$package $target")
done < <(grep -roE '^func Fuzz[A-Za-z0-9_]*' --include='*_test.go' cmd internal test | sed 's/:func /:/' | sort)

if [ ${#failed[@]} -gt 0 ]; then
  printf 'fuzz: failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
