#!/usr/bin/env bash
# Runs the daemon on this machine with the real source, and prints the slices instead of writing them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

usage() {
  cat <<'TXT'
Usage: hack/run-local-inventory.sh [OPTION...]

Runs the daemon on this machine as the environment, or else .envrc, configures it,
but with STORE_KIND=memory and without an election: it reads the source, checks
the backends and prints each slice whenever it changes. It asks no API server of
the local cluster and writes nothing. bin/ is built when it is missing or old.

  --once             decide and print once, then exit; without it until Ctrl-C

Exit status: that of the daemon (0 done, 1 nothing is ready, 2 configuration, 3
source), 1 if something is missing, 2 wrong usage.
TXT
}

arguments=(run)
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    --once) arguments+=(--once) ;;
    *) wrong_usage "unknown argument $1" ;;
  esac
  shift
done

load_settings
need_variable SECURED_SUBNET_CIDR 10.0.0.0/24 "the private network of the remote nodes"
need_variable TARGET_SERVICE_NAME web "the name of the Service"
[ -z "${SECURED_KUBECONFIG:-}" ] || need_file SECURED_KUBECONFIG
find_binary
say "source ${SOURCE_KIND:-static}, Service $target_namespace/$TARGET_SERVICE_NAME; slices are printed, not written"
unset LEADER_ELECTION LEADER_ELECTION_NAMESPACE LEADER_ELECTION_NAME
export STORE_KIND=memory
exec "$binary" "${arguments[@]}"
