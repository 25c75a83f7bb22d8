#!/usr/bin/env bash
# Builds an image for several platforms and pushes it under an explicit tag.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

usage() {
  cat <<'TXT'
Usage: hack/build-and-push.sh [OPTION...] TAG

Builds the image with docker buildx and pushes it as IMAGE:TAG, or
IMAGE:TAG-TARGET for another target than controller. IMAGE is CONTROLLER_IMAGE, or
ghcr.io/ablmnzde/ionoscloud-endpointslice-controller.

  --target NAME      controller (the daemon alone, the default), endpoint-views
                     (the second program) or toolbox (the daemon with kubectl,
                     python3 and scripts/; compatible with the original, not
                     recommended)
  --platform LIST    default linux/amd64,linux/arm64
  --overwrite        push even if the registry has the tag already
  --allow-dirty      build even if there are changes that are not committed
  --dry-run          print the command, build and push no image

There is no default for TAG, and latest is refused: the tag of an image must say
which version it is. Exit status: 0 done, 1 something is missing or failed,
2 wrong usage.
TXT
}

target=controller platform=linux/amd64,linux/arm64 tag='' overwrite=false allow_dirty=false
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    --target) need_value "$@" && target=$2 && shift ;;
    --platform) need_value "$@" && platform=$2 && shift ;;
    --overwrite) overwrite=true ;;
    --allow-dirty) allow_dirty=true ;;
    --dry-run) dry_run=true ;;
    -*) wrong_usage "unknown option $1" ;;
    *)
      [ -z "$tag" ] || wrong_usage "one TAG, not $tag and $1"
      tag=$1
      ;;
  esac
  shift
done
[ -n "$tag" ] || wrong_usage "which TAG?"
[[ $tag =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]{0,112}$ ]] || wrong_usage "$tag is no tag of an image"
[ "$tag" != latest ] || wrong_usage "latest names no version; give a version"
[[ $platform =~ ^[a-z0-9]+/[a-z0-9/]+(,[a-z0-9]+/[a-z0-9/]+)*$ ]] || wrong_usage "--platform $platform is no list such as linux/amd64,linux/arm64"
case $target in
  controller) reference=$image:$tag ;;
  toolbox | endpoint-views) reference=$image:$tag-$target ;;
  *) wrong_usage "--target is controller, toolbox or endpoint-views, not $target" ;;
esac

[ -f Dockerfile ] || die "there is no Dockerfile in $PWD" "remedy: run the script of a complete checkout"
need git
revision=$(git rev-parse HEAD) || die "this is no checkout of git, so the image could not name its revision" "remedy: git clone the repository"
if [ -n "$(git status --porcelain)" ]; then
  [ "$allow_dirty" = true ] || die "there are changes that are not committed, so the image would differ from $revision" "remedy: commit them, or --allow-dirty"
  revision=$revision-dirty
fi
command=(docker buildx build --target "$target" --platform "$platform" --build-arg "VERSION=$tag" --build-arg "REVISION=$revision"
  --sbom=true --provenance=mode=max --tag "$reference" --push .)
if [ "$dry_run" = true ]; then
  say "dry run, no image is built or pushed; the command would be"
  printf '%q ' "${command[@]}" && echo
  exit
fi

need docker
docker buildx version >/dev/null 2>&1 || die "docker has no buildx" "remedy: install it, https://docs.docker.com/go/buildx/"
if [ "$overwrite" = false ] && docker buildx imagetools inspect "$reference" >/dev/null 2>&1; then
  die "the registry has $reference already" "remedy: another TAG, or --overwrite"
fi
say "building $reference for $platform from $revision; docker shows the progress"
"${command[@]}" || die "docker failed, see above" \
  "remedy: docker login ${image%%/*}; for several platforms a builder of its own: docker buildx create --use"
say "pushed $reference"
