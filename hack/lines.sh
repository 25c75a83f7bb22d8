#!/usr/bin/env bash
# Counts the lines of Go that this repository links into the two programs.
set -euo pipefail

usage() {
  cat <<'TXT'
Usage: hack/lines.sh

Counts the lines of the packages of this module that go list -deps ./cmd/...
names, built for Linux, without generated files, comments and blank lines. Prints
the lines of each package, the largest first, and at the end the total.
TXT
}

case ${1:-} in -h | --help) usage && exit ;; esac
if [ $# -ne 0 ]; then
  echo 'no argument is needed; see --help' >&2
  exit 2
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck disable=SC2016 # $ is that of the template
ours='{{with .Module}}{{if .Main}}{{$dir := slice $.ImportPath (len .Path)}}{{range $.GoFiles}}.{{$dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}'
# Each line that awk reads is the path of a file. Comments of the form /* */ are not used here.
CGO_ENABLED=0 GOOS=linux go list -deps -f "$ours" ./cmd/... | awk '
  /./ {
    package = $0
    gsub(/^\.\/|\/[^\/]*$/, "", package)
    generated = 0
    while ((getline line <$0) > 0) {
      if (line ~ /^\/\/ Code generated .* DO NOT EDIT\.$/) generated = 1
      if (!generated && line !~ /^[ \t]*(\/\/.*)?$/) {
        lines[package]++
        total++
      }
    }
    close($0)
  }
  END {
    for (package in lines) printf "%6d  %s\n", lines[package], package | "sort -k1,1rn -k2"
    close("sort -k1,1rn -k2")
    printf "%6d  in total\n", total
  }'
