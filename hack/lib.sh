# shellcheck shell=bash
# What the scripts for a cluster share: messages, what has to be there, which
# cluster is meant, questions and waits. It is sourced, never run, and reads the
# same variables as the daemon.

# shellcheck disable=SC2034 # what the scripts use

readonly image=${CONTROLLER_IMAGE:-ghcr.io/ablmnzde/ionoscloud-endpointslice-controller}
readonly target_namespace=${TARGET_NAMESPACE:-default}
readonly controller_namespace=${CONTROLLER_NAMESPACE:-$target_namespace}
readonly controller_name=${CONTROLLER_NAME:-ionos-endpointslice-controller}
readonly kubectl=${KUBECTL_PATH:-kubectl}
dry_run=false yes=false
interval=2 # seconds between two looks of wait_until

# say tells on standard error what happens; standard output is for data.
say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2; }

# die ends the script: what is wrong, then the remedy.
die() {
  local line
  for line in "$@"; do say "$line"; done
  exit 1
}

wrong_usage() {
  say "$1, see --help"
  exit 2
}

# need_value OPTION [VALUE]...
need_value() {
  [ -n "${2:-}" ] || wrong_usage "$1 needs a value"
}

# need PROGRAM... ends the script unless all are there.
need() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null && continue
    case $program in
      "$kubectl") die "there is no $program in PATH" "remedy: install kubectl, https://kubernetes.io/docs/tasks/tools/, or name it in KUBECTL_PATH${otherwise:-}" ;;
      docker) die "there is no docker in PATH" "remedy: install Docker with buildx, https://docs.docker.com/engine/install/" ;;
      *) die "there is no $program in PATH" "remedy: install it, on Debian: apt-get install $program" ;;
    esac
  done
}

# need_variable NAME EXAMPLE MEANING ends the script unless the variable is set.
# The remedy is a line for the shell.
need_variable() {
  [ -n "${!1:-}" ] || die "$1 is not set: $3" "remedy: export $1=$2"
}

# need_file VARIABLE ends the script unless each file that it names can be read.
need_file() {
  local file files
  IFS=: read -ra files <<<"${!1}"
  for file in "${files[@]}"; do
    [ -z "$file" ] || [ -r "$file" ] || die "$1 names $file, which cannot be read" "remedy: export $1=FILE${otherwise:-}"
  done
}

# kube asks the local cluster, within a bound.
kube() { "$kubectl" --request-timeout=30s "$@"; }

# otherwise is the option of a script that does without a cluster, as the end of a remedy.
otherwise=

# use_cluster shows which cluster is meant, before anything is changed there.
use_cluster() {
  local cluster context
  need "$kubectl"
  [ -z "${KUBECONFIG:-}" ] || need_file KUBECONFIG
  cluster=$(kube config view --minify -o 'jsonpath={.contexts[0].name}, {.clusters[0].cluster.server}' 2>/dev/null) ||
    die "no cluster is chosen: the kubeconfig has no current context" "remedy: export KUBECONFIG=FILE, or $kubectl config use-context NAME$otherwise"
  context=${cluster%%, *}
  say "cluster: context $cluster"
  kube get --raw /version >/dev/null ||
    die "the API server of context $context does not answer as it should, see above" "remedy: $kubectl --context $context cluster-info$otherwise"
}

# use_deployment shows the cluster and ends the script unless the daemon's Deployment is there.
use_deployment() {
  use_cluster
  say "Deployment: $controller_namespace/$controller_name"
  kube -n "$controller_namespace" get deployment "$controller_name" -o name >/dev/null ||
    die "the Deployment cannot be read, see above" "remedy: export CONTROLLER_NAMESPACE=NAMESPACE CONTROLLER_NAME=NAME"
}

# use_service shows the cluster, sets service to the Service's JSON, and ends the script unless it is there.
use_service() {
  need_variable TARGET_SERVICE_NAME web "the name of the Service"
  use_cluster
  say "Service: $target_namespace/$TARGET_SERVICE_NAME"
  service=$(kube -n "$target_namespace" get service "$TARGET_SERVICE_NAME" -o json) ||
    die "the Service cannot be read, see above" "remedy: export TARGET_NAMESPACE=NAMESPACE TARGET_SERVICE_NAME=NAME"
}

# need_seconds OPTION VALUE
need_seconds() {
  [[ $2 =~ ^[0-9]{1,6}$ ]] || wrong_usage "$1 $2 is no number of seconds"
}

# follow_rollout SECONDS waits until the Deployment runs as it is described; kubectl shows the progress.
follow_rollout() {
  "$kubectl" -n "$controller_namespace" rollout status deployment "$controller_name" --timeout="${1}s" >&2 ||
    die "the rollout did not end within $1 s, see above" \
      "remedy: hack/logs-controller.sh and $kubectl -n $controller_namespace describe pods; back: $kubectl -n $controller_namespace rollout undo deployment $controller_name"
}

# confirm asks a person, or ends the script where there is none.
confirm() {
  local answer=
  [ "$yes" = false ] || return 0
  [ -t 0 ] || die "the script asks for confirmation, and there is no terminal; it changed no object" "remedy: --yes, once --dry-run shows what you expect"
  printf '%s Type yes to go on: ' "$1" >&2
  read -r answer || true
  [ "$answer" = yes ] || die "stopped; the script changed no object"
}

# wait_until SECONDS WHAT COMMAND... repeats the command until it succeeds and says every 15 s that it still waits.
wait_until() {
  local seconds=$1 what=$2 started=$SECONDS next=15 waited
  shift 2
  until "$@"; do
    waited=$((SECONDS - started))
    ((waited < seconds)) || return 1
    if ((waited >= next)); then
      next=$((waited + 15))
      say "waiting for $what, $waited of at most $seconds s"
    fi
    sleep "$interval"
  done
  say "$what: after $((SECONDS - started)) s"
}

# find_binary sets binary to the daemon's program: CONTROLLER_BINARY, or bin/ of this
# repository, which is built when it is missing or older than its source.
find_binary() {
  binary=${CONTROLLER_BINARY:-bin/ionos-endpointslice-controller}
  if [ -n "${CONTROLLER_BINARY:-}" ]; then
    [ -x "$binary" ] || die "CONTROLLER_BINARY names $binary, which is no program" "remedy: unset CONTROLLER_BINARY, then bin/ is built"
    return
  fi
  if [ -x "$binary" ] && [ -z "$(find cmd internal go.mod go.sum -newer "$binary" -print -quit)" ]; then
    return
  fi
  command -v go >/dev/null || die "$binary is missing or older than its source, and there is no go in PATH to build it" \
    "remedy: install Go, https://go.dev/doc/install, or name a built program in CONTROLLER_BINARY"
  say "building $binary; the first time takes some minutes"
  CGO_ENABLED=0 go build -trimpath -buildvcs=false -o bin/ ./cmd/ionos-endpointslice-controller >&2 || die "the build failed, see above"
}

# load_settings sources .envrc where direnv has not. What .envrc prints is no data.
load_settings() {
  [ -z "${SOURCE_KIND:-}${SECURED_SUBNET_CIDR:-}${TARGET_SERVICE_NAME:-}" ] || return 0
  [ -f .envrc ] || die "nothing is configured: none of SOURCE_KIND, SECURED_SUBNET_CIDR and TARGET_SERVICE_NAME is set, and there is no .envrc" \
    "remedy: cp .envrc.example .envrc && direnv allow (without direnv: . ./.envrc)"
  say "reading .envrc, which direnv has not"
  # shellcheck source=/dev/null
  . ./.envrc >&2 || die ".envrc failed, see above" "remedy: compare it with .envrc.example"
}
