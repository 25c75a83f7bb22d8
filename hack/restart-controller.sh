#!/usr/bin/env bash
# Replaces the daemon's Pods, one after another, and waits until the new Pods run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

usage() {
  cat <<'TXT'
Usage: hack/restart-controller.sh [OPTION...]

Restarts the daemon's Deployment, for example after a change of its ConfigMap, and
waits for the rollout. The slices stay as they are meanwhile. A new token or
kubeconfig needs no restart: both are read again at each use.

  --timeout SECONDS  how long the rollout may take, default 180
  --dry-run          check the rights, change no object

CONTROLLER_NAMESPACE   where the Deployment is; default TARGET_NAMESPACE, default
CONTROLLER_NAME        its name; default ionos-endpointslice-controller
KUBECONFIG, KUBECTL_PATH

Exit status: 0 the new Pods run, 1 they do not, 2 wrong usage.
TXT
}

timeout=180
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    --timeout) need_value "$@" && timeout=$2 && need_seconds "$@" && shift ;;
    --dry-run) dry_run=true ;;
    *) wrong_usage "unknown argument $1" ;;
  esac
  shift
done

use_deployment
if [ "$dry_run" = true ]; then
  # kubectl has no dry run of a restart.
  kube -n "$controller_namespace" auth can-i patch "deployment/$controller_name" >/dev/null ||
    die "this user may not restart the Deployment" "remedy: the right to patch deployments in $controller_namespace"
  say "dry run, the script changed no object"
  exit
fi
kube -n "$controller_namespace" rollout restart deployment "$controller_name" >&2 ||
  die "the API server refuses the change, see above" "remedy: kubectl auth can-i patch deployments -n $controller_namespace"
follow_rollout "$timeout"
say "restarted"
