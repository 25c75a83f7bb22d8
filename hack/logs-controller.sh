#!/usr/bin/env bash
# Follows the logs of all Pods of the daemon.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

usage() {
  cat <<'TXT'
Usage: hack/logs-controller.sh [OPTION...]

Prints the logs of all Pods of the daemon's Deployment, each line with its Pod, and
goes on until Ctrl-C. The standby says little: the leader does the work. Pods that
start later are not followed: after a rollout start the script again.

  --no-follow        print the present lines and end
  --since DURATION   only younger lines, such as 10m
  --tail LINES       at most so many lines of each Pod, default 200; -1 all
  --previous         of the containers that ran before, after a crash; does not follow

CONTROLLER_NAMESPACE   where the Deployment is; default TARGET_NAMESPACE, default
CONTROLLER_NAME        its name; default ionos-endpointslice-controller
KUBECONFIG, KUBECTL_PATH

Exit status: that of kubectl; 1 something is missing, 2 wrong usage.
TXT
}

tail=200 follow=(--follow) options=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    -f | --follow) follow=(--follow) ;;
    --no-follow) follow=() ;;
    --previous) follow=() && options+=(--previous) ;;
    --since) need_value "$@" && options+=("--since=$2") && shift ;;
    --tail) need_value "$@" && tail=$2 && shift ;;
    *) wrong_usage "unknown argument $1" ;;
  esac
  shift
done
[[ $tail =~ ^(-1|[0-9]+)$ ]] || wrong_usage "--tail $tail is no number of lines"

use_deployment
# shellcheck disable=SC2016 # a template of kubectl, not of the shell
selector=$(kube -n "$controller_namespace" get deployment "$controller_name" \
  -o 'go-template={{range $k, $v := .spec.selector.matchLabels}}{{$k}}={{$v}},{{end}}')
selector=${selector%,}
pods=$(kube -n "$controller_namespace" get pods --selector "$selector" -o name)
[ -n "$pods" ] || die "the Deployment has no Pods" "remedy: $kubectl -n $controller_namespace describe deployment $controller_name"
exec "$kubectl" -n "$controller_namespace" logs --selector "$selector" --all-containers --prefix --max-log-requests=20 \
  --tail="$tail" "${follow[@]}" "${options[@]}"
