#!/usr/bin/env bash
# Shows the nodes of the remote cluster, and what the daemon would make of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

usage() {
  cat <<'TXT'
Usage: hack/check-secured-nodes.sh

With SECURED_KUBECONFIG, lists the nodes of the remote cluster: whether each is
ready and a worker, its internal addresses, and whether those are inside
SECURED_SUBNET_CIDR. Nodes of the IONOS Cloud often have no such address, or not the
one of the private LAN; SOURCE_KIND=ionos asks the cloud for it.

Then, always, it says for each node which addresses the daemon would publish: with
the source that the environment, or else .envrc, configures, or with kubernetes if
that is static or file and there is a SECURED_KUBECONFIG. It changes no object and
checks no endpoint. bin/ is built when it is missing or old.

SECURED_SUBNET_CIDR    required
SECURED_KUBECONFIG, SECURED_KUBECTL_CONTEXT, SECURED_NODE_SELECTOR, SOURCE_KIND and
what the source needs; TARGET_SERVICE_NAME, TARGET_PORT; KUBECTL_PATH

Exit status: 0 some node can be published and no ready worker is left out, 1 otherwise
or if something is missing, 2 wrong usage.
TXT
}

case ${1:-} in
  -h | --help) usage && exit ;;
  "") ;;
  *) wrong_usage "unknown argument $1" ;;
esac
load_settings
need_variable SECURED_SUBNET_CIDR 10.0.0.0/24 "the private network of the remote nodes"

# secured asks the remote cluster, within a bound.
secured() {
  "$kubectl" --request-timeout=30s --kubeconfig "$SECURED_KUBECONFIG" ${SECURED_KUBECTL_CONTEXT:+--context "$SECURED_KUBECTL_CONTEXT"} "$@"
}

# list shows the nodes as the remote cluster has them.
list() {
  need "$kubectl" python3
  need_file SECURED_KUBECONFIG
  local cluster
  cluster=$(secured config view --minify -o 'jsonpath={.contexts[0].name}, {.clusters[0].cluster.server}') ||
    die "SECURED_KUBECONFIG has no such context, see above" "remedy: export SECURED_KUBECTL_CONTEXT=NAME, one of $kubectl --kubeconfig $SECURED_KUBECONFIG config get-contexts"
  say "remote cluster: context $cluster"
  secured get nodes -o json >"$folder/nodes" ||
    die "the remote cluster's nodes cannot be read, see above" "remedy: $kubectl --kubeconfig $SECURED_KUBECONFIG auth can-i list nodes"
  secured get nodes --selector "${SECURED_NODE_SELECTOR:-}" -o name >"$folder/matching" ||
    die "SECURED_NODE_SELECTOR=${SECURED_NODE_SELECTOR:-} is refused, see above" "remedy: a label selector such as pool=web"
  python3 - "$folder" <<'PY' || die "the nodes cannot be shown, see above"
import ipaddress, json, os, sys

folder = sys.argv[1]
nodes = json.load(open(os.path.join(folder, "nodes")))["items"]
matching = {line.strip().removeprefix("node/") for line in open(os.path.join(folder, "matching"))}
try:
    subnets = [ipaddress.ip_network(text.strip()) for text in os.environ["SECURED_SUBNET_CIDR"].split(",") if text.strip()]
except ValueError as err:
    sys.exit(f"SECURED_SUBNET_CIDR: {err}")
CONTROL = {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}


def worker(node):
    """Judge as the daemon does: by the selector, or else by the marks of a control plane."""
    if os.environ.get("SECURED_NODE_SELECTOR", "").strip():
        return node["metadata"]["name"] in matching
    marks = set(node["metadata"].get("labels") or {}) | {taint["key"] for taint in node["spec"].get("taints") or []}
    return not marks & CONTROL


rows = [("NODE", "READY", "WORKER", "INTERNAL IP", "INSIDE SECURED_SUBNET_CIDR")]
for node in nodes:
    name, status = node["metadata"]["name"], node.get("status", {})
    ready = any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", []))
    addresses = [a["address"] for a in status.get("addresses", []) if a["type"] == "InternalIP"]
    for address in addresses or ["-"]:
        inside = address != "-" and any(ipaddress.ip_address(address) in subnet for subnet in subnets)
        rows.append((name, *("yes" if x else "no" for x in (ready, worker(node))), address, "yes" if inside else "no"))
widths = [max(map(len, column)) for column in zip(*rows)]
for row in rows:
    print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
print()
PY
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
source=${SOURCE_KIND:-static}
if [ -n "${SECURED_KUBECONFIG:-}" ]; then
  list
  case $source in static | file) source=kubernetes ;; esac
fi
find_binary
say "what the daemon would publish, with SOURCE_KIND=$source"
unset LEADER_ELECTION LEADER_ELECTION_NAMESPACE LEADER_ELECTION_NAME
status=0
report=$(SOURCE_KIND=$source STORE_KIND=memory HEALTH_CHECK_MODE=off "$binary" check) || status=$?
if [ "$status" = 2 ]; then
  printf '%s\n' "$report"
  die "the configuration is wrong, see above"
fi
# What stands around it is about the local cluster.
sed -n '/^source$/,/^api$/ {/^api$/d; p}' <<<"$report"
[ "$status" = 0 ] || die "not every worker can be published, see above" "remedy: see above; docs/reference/reasons.md explains each reason"
say "all is right"
