#!/usr/bin/env bash
# Prints the nodes that the daemon could publish, as JSON.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

usage() {
  cat <<'TXT'
Usage: hack/run-local-inventory.sh

Reads the source once, as the environment, or else .envrc, configures it, and prints
the eligible nodes as a JSON array: name, addresses, ready, worker. Standard output
has the array alone; which nodes are not eligible, and why, is on standard error. It
checks no endpoint, asks no API server of the local cluster and writes no slice. bin/
is built when it is missing or old.

SECURED_SUBNET_CIDR, TARGET_SERVICE_NAME   required
SOURCE_KIND and what the source needs

Exit status: that of the daemon's command inventory: 0 there are eligible nodes, 1
there is none, 2 configuration, 3 source; 1 if something is missing, 2 wrong usage.
TXT
}

case ${1:-} in
  -h | --help) usage && exit ;;
  "") ;;
  *) wrong_usage "unknown argument $1" ;;
esac
load_settings
need_variable SECURED_SUBNET_CIDR 10.0.0.0/24 "the private network of the remote nodes"
need_variable TARGET_SERVICE_NAME web "the name of the Service"
[ -z "${SECURED_KUBECONFIG:-}" ] || need_file SECURED_KUBECONFIG
find_binary
say "source ${SOURCE_KIND:-static}"
exec "$binary" inventory
