#!/usr/bin/env bash
# Sets the daemon's image in its manifest and, once it is applied, in the cluster.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

usage() {
  cat <<'TXT'
Usage: hack/set-image.sh [OPTION...] TAG

Sets the image of the daemon to IMAGE:TAG, in two places:

  manifest   FOLDER/controller-deployment.yaml. Before the first installation it is
             made from the example beside it
  cluster    the Deployment, if it is applied already; then the script waits for the
             rollout

The script says which of them it changed. A place that has the image stays as it is.
For the toolbox give TAG-toolbox. An installation by Helm is upgraded by Helm instead,
or its next upgrade takes the image back.

  --folder FOLDER    where the manifests are, default deploy
  --manifest-only    ask no cluster
  --timeout SECONDS  how long the rollout may take, default 180
  --container NAME   which container; needed if the Deployment has several
  --dry-run          say what would change, change nothing

CONTROLLER_NAMESPACE   where the Deployment is; default TARGET_NAMESPACE, default
CONTROLLER_NAME        its name; default ionos-endpointslice-controller
CONTROLLER_IMAGE       IMAGE; default ghcr.io/ablmnzde/ionoscloud-endpointslice-controller
KUBECONFIG, KUBECTL_PATH

Exit status: 0 the image is set, and runs if the Deployment is there; 1 it does not,
2 wrong usage.
TXT
}

tag='' timeout=180 container='' folder=deploy applied=''
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    --folder) need_value "$@" && folder=${2%/} && shift ;;
    --manifest-only) applied=false ;;
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
[ "$tag" != latest ] || wrong_usage "latest names no version; give a version"
[[ $image =~ ^([A-Za-z0-9.-]+(:[0-9]+)?/)?[a-z0-9._/-]+$ ]] ||
  die "CONTROLLER_IMAGE=$image is no image without a tag" "remedy: export CONTROLLER_IMAGE=registry.example.com/edge/ionos-endpointslice-controller"
[ -d "$folder" ] || die "there is no folder $folder" "remedy: --folder FOLDER, the one with the manifests"
readonly reference=$image:$tag manifest=$folder/controller-deployment.yaml example=$folder/controller-deployment.example.yaml

# look_at_cluster sets applied, and container if the Deployment is there.
look_at_cluster() {
  local found names before
  # shellcheck disable=SC2034 # of lib.sh
  otherwise=', or --manifest-only'
  use_cluster
  found=$(kube -n "$controller_namespace" get deployment "$controller_name" --ignore-not-found -o name) ||
    die "the Deployment $controller_namespace/$controller_name cannot be read, see above" \
      "remedy: kubectl auth can-i get deployments -n $controller_namespace$otherwise"
  if [ -z "$found" ]; then
    applied=false
    say "the Deployment $controller_namespace/$controller_name is not in the cluster; if it is elsewhere: export CONTROLLER_NAMESPACE=NAMESPACE CONTROLLER_NAME=NAME"
    return
  fi
  applied=true
  names=$(kube -n "$controller_namespace" get deployment "$controller_name" -o 'jsonpath={.spec.template.spec.containers[*].name}')
  if [ -z "$container" ]; then
    [[ $names != *" "* ]] || die "the Deployment has several containers: $names" "remedy: --container NAME"
    container=$names
  fi
  [[ " $names " == *" $container "* ]] || die "the Deployment has no container $container, but $names" "remedy: --container NAME"
  before=$(kube -n "$controller_namespace" get deployment "$controller_name" \
    -o "jsonpath={.spec.template.spec.containers[?(@.name=='$container')].image}")
  say "Deployment $controller_namespace/$controller_name, container $container: $before -> $reference"
}

# look_at_manifest sets edited to what the manifest is to become, empty where there is nothing to change, and change to a
# sentence about it.
look_at_manifest() {
  local from=$manifest lines number found
  edited='' change=''
  if [ ! -f "$manifest" ]; then
    if [ "$applied" = true ]; then
      change="there is no $manifest; if you keep the manifest elsewhere, set the image there too"
      return
    fi
    from=$example
    [ -f "$from" ] || die "there is neither $manifest nor $example" "remedy: git restore $example, or --folder FOLDER"
  fi
  lines=$(grep -nE '^ *(- )?image: ' "$from") || die "$from has no line with an image" "remedy: compare it with deploy/controller-deployment.example.yaml"
  if [[ $lines == *$'\n'* ]]; then
    lines=$(grep -F "$image:" <<<"$lines") || true
    [[ -n $lines && $lines != *$'\n'* ]] ||
      die "$from has several lines with an image, and not one of them alone has $image" "remedy: set the image in $from by hand"
  fi
  number=${lines%%:*} found=${lines#*image: }
  found=${found%% #*}
  found=${found//[\"\' ]/}
  if [ "$from" = "$manifest" ] && [ "$found" = "$reference" ]; then
    change="$manifest has $reference already"
    return
  fi
  change="$manifest: $found -> $reference"
  [ "$from" = "$manifest" ] || change="$manifest, made from the example: $reference"
  edited=$(line="image: \"$reference\"" awk -v number="$number" 'NR == number { sub(/image: .*/, ""); $0 = $0 ENVIRON["line"] } { print }' "$from")
}

# set_in_cluster ARGUMENT... changes the Deployment.
set_in_cluster() {
  kube -n "$controller_namespace" set image deployment "$controller_name" "$container=$reference" "$@" >&2 ||
    die "the API server refuses the change, see above; the image is unchanged" "remedy: kubectl auth can-i patch deployments -n $controller_namespace"
}

[ -n "$applied" ] || look_at_cluster
look_at_manifest
say "$change"
if [ "$dry_run" = true ]; then
  [ "$applied" = false ] || set_in_cluster --dry-run=server
  say "dry run, the script changed no object and no file"
  exit
fi
[ "$applied" = false ] || set_in_cluster
if [ -n "$edited" ]; then
  printf '%s\n' "$edited" >"$manifest" || die "$manifest cannot be written, see above" "remedy: set the image there by hand"
fi
if [ "$applied" = false ]; then
  say "next: replace each REPLACE_ME in $folder, then hack/apply-order.sh $folder; if the page that you follow has other steps, follow the page"
  exit
fi
follow_rollout "$timeout"
say "$reference runs"
