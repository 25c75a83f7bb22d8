#!/usr/bin/env bash
# Applies the manifests of deploy/ in the order in which they need each other.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

usage() {
  cat <<'TXT'
Usage: hack/apply-order.sh [OPTION...] [FOLDER]

Applies the manifests of FOLDER (default deploy) in this order: rbac, Secrets,
configuration, script, Service, Deployment. Copy each X.example.yaml to X.yaml and
edit it; the script takes X.yaml. Without it

  - a Secret or the Service that is in the cluster already is kept as it is,
  - an example without REPLACE_ME is applied as it stands,
  - the script is left out: it is for SOURCE_KIND=command alone.

The script checks all files before it applies one. The namespaces must exist.

  --timeout SECONDS  how long the rollout at the end may take, default 180; 0 does
                     not wait
  --dry-run          let the API server check each file, change no object

TARGET_NAMESPACE       where the Service goes; default "default"
CONTROLLER_NAMESPACE   where the rest goes; default TARGET_NAMESPACE. A file that
                       states namespaces of its own keeps them
KUBECONFIG, KUBECTL_PATH

Exit status: 0 done, 1 something is missing or failed, 2 wrong usage.
TXT
}

readonly order=(rbac ionos-token-secret kubeconfigs-secret controller-config scripts-configmap.ionos service controller-deployment)
folder='' timeout=180
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    --timeout) need_value "$@" && need_seconds "$@" && timeout=$2 && shift ;;
    --dry-run) dry_run=true ;;
    -*) wrong_usage "unknown option $1" ;;
    *)
      [ -z "$folder" ] || wrong_usage "one FOLDER, not $folder and $1"
      folder=$1
      ;;
  esac
  shift
done
folder=${folder:-deploy}
[ -d "$folder" ] || die "there is no folder $folder" "remedy: name the one with the manifests"

# namespace_of NAME
namespace_of() {
  case $1 in service) echo "$target_namespace" ;; *) echo "$controller_namespace" ;; esac
}

# unedited FILE prints the lines that still hold a placeholder, comments aside.
unedited() {
  grep -nE '^[^#]*REPLACE_ME' "$1" | head -n 3
}

# choose NAME sets file to the manifest to apply for it, empty where there is none.
choose() {
  local example=$folder/$1.example.yaml lines
  file=$folder/$1.yaml
  if [ ! -f "$file" ]; then
    case $1 in
      scripts-configmap.ionos) file='' && return ;;
      service)
        keep_service && return
        ;;
      *-secret)
        if [ -f "$example" ] && kube -n "$(namespace_of "$1")" get -f "$example" -o name >/dev/null 2>&1; then
          say "$1: is in the cluster and is kept as it is"
          file='' && return
        fi
        ;;
    esac
    [ -f "$example" ] || die "there is neither $file nor $example" "remedy: git restore $example, or name the folder"
    file=$example
  fi
  lines=$(unedited "$file") || return 0
  if [ "$file" = "$example" ]; then
    die "$example has placeholders: $lines" "remedy: cp $example $folder/$1.yaml, then replace each REPLACE_ME there"
  fi
  die "$file still has a placeholder: $lines" "remedy: replace each REPLACE_ME in $file"
}

# keep_service succeeds, with file empty, if the Service that the daemon is configured for is there. Where it is not, the
# example must not make another one.
keep_service() {
  local configured=$folder/controller-config.yaml name=${TARGET_SERVICE_NAME:-}
  [ -f "$configured" ] || configured=$folder/controller-config.example.yaml
  [ -n "$name" ] || name=$(sed -nE 's/^ +TARGET_SERVICE_NAME: *"?([a-z0-9-]+)"? *$/\1/p' "$configured")
  [ -n "$name" ] || die "$configured names no Service" "remedy: TARGET_SERVICE_NAME there"
  if kube -n "$target_namespace" get service "$name" -o name >/dev/null 2>&1; then
    say "service: $name is in the cluster and is kept as it is"
    file=''
    return
  fi
  grep -qE "^  name: $name\$" "$folder/service.example.yaml" ||
    die "Service $target_namespace/$name is not in the cluster, and the example has another name" \
      "remedy: cp $folder/service.example.yaml $folder/service.yaml, then give it the name $name"
  return 1
}

# apply NAME FILE
apply() {
  local options=(-n "$(namespace_of "$1")")
  # kubectl refuses -n where it differs from what a file states.
  if grep -qE '^  namespace:' "$2"; then options=(); fi
  [ "$dry_run" = false ] || options+=(--dry-run=server)
  say "$2"
  kube apply "${options[@]}" -f "$2" >&2 ||
    die "$2 was refused, see above; the files named above it are applied" "remedy: correct $2 and run the script again"
}

use_cluster
for namespace in "$target_namespace" "$controller_namespace"; do
  kube get namespace "$namespace" -o name >/dev/null || die "namespace $namespace cannot be read, see above" "remedy: kubectl create namespace $namespace"
done
say "namespace of the Service $target_namespace, of the daemon $controller_namespace"
files=()
for name in "${order[@]}"; do
  choose "$name"
  files+=("$file")
done
for i in "${!order[@]}"; do
  [ -z "${files[i]}" ] || apply "${order[i]}" "${files[i]}"
done
if [ "$dry_run" = true ]; then
  say "dry run, the script changed no object"
  exit
fi
[ "$timeout" = 0 ] || follow_rollout "$timeout"
say "applied; next: hack/verify-endpointslice.sh"
