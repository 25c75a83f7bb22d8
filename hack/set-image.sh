#!/usr/bin/env bash
# Gives the daemon's Deployment another image and waits until it runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

usage() {
  cat <<'TXT'
Usage: hack/set-image.sh [OPTION...] TAG

Sets the image of the daemon's Deployment to IMAGE:TAG and waits for the rollout.
For the toolbox give TAG-toolbox. An installation by Helm is upgraded by Helm
instead, or its next upgrade takes the image back.

  --timeout SECONDS  how long the rollout may take, default 180
  --container NAME   which container; needed if the Deployment has several
  --dry-run          say what would change, change nothing

CONTROLLER_NAMESPACE   where the Deployment is; default TARGET_NAMESPACE, default
CONTROLLER_NAME        its name; default ionos-endpointslice-controller
CONTROLLER_IMAGE       IMAGE; default ghcr.io/ablmnzde/ionoscloud-endpointslice-controller
KUBECONFIG, KUBECTL_PATH

Exit status: 0 the new image runs, 1 it does not, 2 wrong usage.
TXT
}

tag='' timeout=180 container=''
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    --timeout) need_value "$@" && timeout=$2 && need_seconds "$@" && shift ;;
    --container) need_value "$@" && container=$2 && shift ;;
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
[[ $tag =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$ ]] || wrong_usage "$tag is no tag of an image"
[ "$tag" != latest ] || wrong_usage "latest says nothing; give a version"

use_deployment
names=$(kube -n "$controller_namespace" get deployment "$controller_name" -o 'jsonpath={.spec.template.spec.containers[*].name}')
if [ -z "$container" ]; then
  [[ $names != *" "* ]] || die "the Deployment has several containers: $names" "remedy: --container NAME"
  container=$names
fi
[[ " $names " == *" $container "* ]] || die "the Deployment has no container $container, but $names" "remedy: --container NAME"
before=$(kube -n "$controller_namespace" get deployment "$controller_name" \
  -o "jsonpath={.spec.template.spec.containers[?(@.name=='$container')].image}")
say "container $container: $before -> $image:$tag"
change=(-n "$controller_namespace" set image deployment "$controller_name" "$container=$image:$tag")
if [ "$dry_run" = true ]; then
  kube "${change[@]}" --dry-run=server >&2 || die "the API server refuses the change, see above"
  say "dry run, nothing was changed"
  exit
fi
kube "${change[@]}" >&2 || die "the API server refuses the change, see above" "remedy: kubectl auth can-i patch deployments -n $controller_namespace"
follow_rollout "$timeout"
say "$image:$tag runs"
