#!/usr/bin/env bash
# Asks the Service from inside the cluster, as its clients do, and sums up the answers.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

readonly curl_image=${CURL_IMAGE:-docker.io/curlimages/curl:8.11.1}

usage() {
  cat <<TXT
Usage: hack/run-maintenance-curl.sh [OPTION...]

Starts a Pod with curl in the namespace of the Service, sends requests to the
Service one after another, each over a connection of its own, prints how often each
answer came, and removes the Pod. Run it while nodes are replaced: every request
should succeed.

  --requests N       default 20
  --interval SECONDS between two requests, default 0
  --path PATH        default /
  --port PORT        default: the Service's first port
  --scheme SCHEME    http (the default) or https, without verification
  --timeout SECONDS  how long the Pod may take in all, default 120
  --dry-run          print the Pod, let the API server check it, change no object

TARGET_NAMESPACE, TARGET_SERVICE_NAME   the Service
CURL_IMAGE         default $curl_image
KUBECONFIG, KUBECTL_PATH

The Pod satisfies the Pod Security Standard "restricted". Exit status: 0 every
answer had a status below 400, 1 one had not or something is missing, 2 wrong usage.
TXT
}

requests=20 interval=0 path=/ port='' scheme=http timeout=120
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    --requests) need_value "$@" && requests=$2 && shift ;;
    --interval) need_value "$@" && need_seconds "$@" && interval=$2 && shift ;;
    --path) need_value "$@" && path=$2 && shift ;;
    --port) need_value "$@" && port=$2 && shift ;;
    --scheme) need_value "$@" && scheme=$2 && shift ;;
    --timeout) need_value "$@" && need_seconds "$@" && timeout=$2 && shift ;;
    --dry-run) dry_run=true ;;
    *) wrong_usage "unknown argument $1" ;;
  esac
  shift
done
[[ $requests =~ ^[1-9][0-9]{0,4}$ ]] || wrong_usage "--requests $requests is no number from 1 to 99999"
[[ $path =~ ^/[A-Za-z0-9._~/?=\&%:@+,-]*$ ]] || wrong_usage "--path $path is no path of a URL"
[[ -z $port || $port =~ ^[1-9][0-9]{0,4}$ ]] || wrong_usage "--port $port is no port"
[[ $scheme =~ ^https?$ ]] || wrong_usage "--scheme is http or https, not $scheme"

use_service
if [ -z "$port" ]; then
  port=$(kube -n "$target_namespace" get service "$TARGET_SERVICE_NAME" -o 'jsonpath={.spec.ports[0].port}')
  [ -n "$port" ] || die "the Service has no port" "remedy: --port PORT"
fi
readonly url=$scheme://$TARGET_SERVICE_NAME.$target_namespace.svc:$port$path
readonly pod=maintenance-curl-$$-$RANDOM

# manifest prints the Pod. What curl may do follows its address as arguments, not as text of the script.
manifest() {
  cat <<YAML
apiVersion: v1
kind: Pod
metadata:
  name: $pod
  labels:
    app.kubernetes.io/name: maintenance-curl
spec:
  restartPolicy: Never
  activeDeadlineSeconds: $((timeout + 30))
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 1
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: curl
      image: "$curl_image"
      command:
        - sh
        - -c
        - |
          i=0
          while [ \$i -lt "\$1" ]; do
            i=\$((i + 1))
            curl --silent --insecure --noproxy '*' --max-time 10 --output /dev/null --write-out '%{http_code} %{errormsg}\n' "\$3"
            sleep "\$2"
          done
        - curl
        - "$requests"
        - "$interval"
        - "$url"
      resources:
        requests: {cpu: 10m, memory: 16Mi}
        limits: {memory: 64Mi}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
YAML
}

say "$requests requests to $url, from $curl_image"
if [ "$dry_run" = true ]; then
  manifest | kube -n "$target_namespace" create --dry-run=server -o yaml -f - >/dev/null || die "the API server refuses the Pod, see above"
  manifest
  say "dry run, the script changed no object"
  exit
fi
remove() { kube -n "$target_namespace" delete pod "$pod" --ignore-not-found --wait=false >&2 || say "remedy: kubectl -n $target_namespace delete pod $pod"; }
trap remove EXIT
trap 'exit 130' INT TERM
manifest | kube -n "$target_namespace" create -f - >&2 || die "the API server refuses the Pod, see above"

# ended succeeds when the Pod has run.
ended() {
  phase=$(kube -n "$target_namespace" get pod "$pod" -o 'jsonpath={.status.phase}')
  [ "$phase" = Succeeded ] || [ "$phase" = Failed ]
}
phase=
wait_until "$timeout" "the requests" ended || {
  kube -n "$target_namespace" get pod "$pod" -o 'jsonpath={range .status.conditions[*]}{.type}={.status} {.message}{"\n"}{end}{range .status.containerStatuses[*]}{.state}{"\n"}{end}' >&2
  die "the Pod is $phase after $timeout s" "remedy: --timeout, or CURL_IMAGE=... if the cluster cannot pull $curl_image"
}
answers=$("$kubectl" -n "$target_namespace" logs "$pod") || die "the Pod's log cannot be read, see above"
sort <<<"$answers" | uniq -c | sort -rn | sed 's/ 000 / no answer: /'
good=$(grep -cE '^[123][0-9][0-9]( |$)' <<<"$answers" || true)
say "$good of $requests requests succeeded"
[ "$good" = "$requests" ] || die "not every request succeeded" "remedy: hack/verify-endpointslice.sh"
