#!/usr/bin/env bash
# Packages the Helm chart of a release, with what Artifact Hub shows of the version.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

usage() {
  cat <<'TXT'
Usage: hack/package-chart.sh [OPTION...] TAG FOLDER

Packages the chart of the daemon as the release TAG, vX.Y.Z or
vX.Y.Z-PRERELEASE, into FOLDER. The package names the images of that tag, and the
changes of the section X.Y.Z of CHANGELOG.md; those of a prerelease may still be
in the section Unreleased.

  --chart NAME       another chart of helm/: endpoint-views
  --changelog FILE   another changelog

HELM   the Helm to run, 3 or 4; default .tools/bin/helm4

Exit status: 0 done, 1 something is missing or failed, 2 wrong usage.
TXT
}

# changes SECTION prints the section of the changelog as the YAML that Artifact Hub reads: the heading of a list is the
# kind, and links become their text.
changes() {
  awk -v section="$1" '
    /^## / {inside = $2 == section || $2 == "[" section "]"}
    inside && /^### / {kind = tolower($2)}
    inside && /^- / {
      text = substr($0, 3)
      while (match(text, /\[[^]]*\]\([^)]*\)/)) {
        link = substr(text, RSTART, RLENGTH)
        sub(/^\[/, "", link)
        sub(/\]\(.*/, "", link)
        text = substr(text, 1, RSTART - 1) link substr(text, RSTART + RLENGTH)
      }
      printf "    - kind: %s\n      description: >-\n        %s\n", kind, text
    }' "$changelog"
}

# annotations prints what is added to those of Chart.yaml.
annotations() {
  local name names="controller toolbox"
  [ "$chart" = ionos-endpointslice-controller ] || names=$chart
  printf '  artifacthub.io/prerelease: "%s"\n  artifacthub.io/images: |\n' "$prerelease"
  for name in $names; do
    printf '    - name: %s\n      image: %s:%s%s\n      platforms: [linux/amd64, linux/arm64]\n' \
      "$name" "$image" "$tag" "$([ "$name" = controller ] || echo "-$name")"
  done
  printf '  artifacthub.io/changes: |\n%s\n' "$changed"
}

chart=ionos-endpointslice-controller changelog=CHANGELOG.md arguments=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    --chart) need_value "$@" && chart=$2 && shift ;;
    --changelog) need_value "$@" && changelog=$2 && shift ;;
    -*) wrong_usage "unknown option $1" ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
[ ${#arguments[@]} -eq 2 ] || wrong_usage "which TAG, into which FOLDER?"
readonly tag=${arguments[0]} folder=${arguments[1]} helm=${HELM:-.tools/bin/helm4}
[[ $tag =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || wrong_usage "$tag is no tag of a release, such as v1.2.3"
[[ $chart =~ ^[a-z-]+$ && -f helm/$chart/Chart.yaml ]] || wrong_usage "there is no chart helm/$chart"
[ -r "$changelog" ] || die "$changelog cannot be read" "remedy: --changelog FILE"
command -v "$helm" >/dev/null || die "there is no $helm" "remedy: tools/build.sh helm4, or name one in HELM"

version=${tag#v}
[[ $version == *-* ]] && prerelease=true || prerelease=false
changed=$(changes "$version")
[ -n "$changed" ] || [ "$prerelease" = false ] || changed=$(changes Unreleased)
[ -n "$changed" ] || die "$changelog has no section $version with changes" "remedy: give its section Unreleased that heading before the tag is made"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -R "helm/$chart" "$scratch"
annotations >>"$scratch/$chart/Chart.yaml"
"$helm" package "$scratch/$chart" --version "$version" --app-version "$tag" --destination "$folder"
