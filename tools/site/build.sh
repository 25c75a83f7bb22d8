#!/usr/bin/env bash
# Builds the site of docs/ with the pinned mkdocs, shows it, or publishes it.
set -euo pipefail

usage() {
  cat <<'TXT'
Usage: tools/site/build.sh [build|serve|publish]

build    (the default) writes the site to .tools/site and fails on a warning
serve    shows it at http://127.0.0.1:8000, and again after each change
publish  builds it and pushes it to the branch gh-pages

SITE_VERSION is the tag or branch that links to files outside of docs/ lead to,
by default main. mkdocs is installed into .tools/site-venv at the first run, from
PyPI, as tools/site/requirements.txt says, and what the search needs without a
server from npm, as package-lock.json says: about half a minute.
TXT
}

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly config=tools/site/mkdocs.yml pinned=tools/site/requirements.txt locked=tools/site/package-lock.json
readonly venv=.tools/site-venv
export NO_MKDOCS_2_WARNING=1

install() {
  if cat "$pinned" "$locked" | cmp -s - "$venv/installed"; then
    return
  fi
  echo 'site: installing mkdocs, about half a minute'
  rm -rf "$venv"
  mkdir -p .tools
  python3 -m venv "$venv" || {
    echo 'site: no virtual environment; remedy: hack/install-test-packages.sh' >&2
    exit 1
  }
  "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes --no-deps -r "$pinned"
  cp tools/site/package.json "$locked" "$venv"
  (cd "$venv" && npm ci --ignore-scripts --no-audit --no-fund --silent)
  cat "$pinned" "$locked" >"$venv/installed"
}

case ${1:-build} in
  -h | --help) usage && exit ;;
  build) command=(build --strict) ;;
  serve) command=(serve) ;;
  publish) command=(gh-deploy --strict --force) ;;
  *)
    printf 'site: unknown argument %s, see --help\n' "$1" >&2
    exit 2
    ;;
esac
install
exec "$venv/bin/python" -m mkdocs "${command[@]}" -f "$config"
