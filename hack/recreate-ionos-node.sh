#!/usr/bin/env bash
# Replaces a node of a cluster that IONOS manages, and watches the slices follow.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

usage() {
  cat <<'TXT'
Usage: hack/recreate-ionos-node.sh [OPTION...] NODE

Cordons and drains NODE of the remote cluster, deletes it through the Managed
Kubernetes API, waits for a new node in its pool, and then until the slices of the
Service have the new node's address as ready and no address of the old node. It asks
before it begins. It does not begin, and deletes nothing, unless another endpoint is ready.

  --recreate         ask the API to recreate the node instead of deleting it: the
                     new node is there before the old node goes, and you pay for
                     both meanwhile
  --drain-timeout SECONDS   default 300
  --timeout SECONDS  for each of the two waits after the deletion, default 1800
  --yes              do not ask
  --dry-run          read the state and print the steps, change no object

IONOS_TOKEN or IONOS_TOKEN_FILE, IONOS_CLUSTER_ID, IONOS_DATACENTER_ID,
IONOS_PRIVATE_LAN_ID   required; IONOS_API_URL
SECURED_KUBECONFIG     required, of a user who may cordon and drain;
                       SECURED_KUBECTL_CONTEXT
TARGET_SERVICE_NAME    required; TARGET_NAMESPACE, TARGET_MANAGED_BY, KUBECONFIG,
                       KUBECTL_PATH

Drained Pods lose what they keep in emptyDir volumes. Exit status: 0 done, 1
something is missing or failed, 2 wrong usage.
TXT
}

node='' recreate=false drain_timeout=300 timeout=1800
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit ;;
    --recreate) recreate=true ;;
    --drain-timeout) need_value "$@" && need_seconds "$@" && drain_timeout=$2 && shift ;;
    --timeout) need_value "$@" && need_seconds "$@" && timeout=$2 && shift ;;
    --yes) yes=true ;;
    --dry-run) dry_run=true ;;
    -*) wrong_usage "unknown option $1" ;;
    *)
      [ -z "$node" ] || wrong_usage "one NODE, not $node and $1"
      node=$1
      ;;
  esac
  shift
done
[ -n "$node" ] || wrong_usage "which NODE?"

# secured asks the remote cluster.
secured() {
  "$kubectl" --kubeconfig "$SECURED_KUBECONFIG" ${SECURED_KUBECTL_CONTEXT:+--context "$SECURED_KUBECTL_CONTEXT"} "$@"
}

# token prints the token, read again at each use; the same forms as the daemon takes.
token() {
  local text=${IONOS_TOKEN:-}
  [ -n "$text" ] || text=$(<"$IONOS_TOKEN_FILE")
  text=${text//[[:space:]]/ }
  text=${text#"${text%%[! ]*}"}
  text=${text%"${text##*[! ]}"}
  printf '%s' "${text#[Bb]earer }"
}

# ionos METHOD PATH sends one request. The token goes to curl on standard input: other users of the machine see arguments.
ionos() {
  local answer status secret
  secret=$(token)
  [[ $secret =~ ^[A-Za-z0-9._~+/=-]+$ ]] || die "the token of the IONOS API is empty or has characters that no token has" "remedy: export IONOS_TOKEN_FILE=FILE"
  answer=$(printf 'header = "Authorization: Bearer %s"\n' "$secret" |
    curl --disable --config - --silent --show-error --connect-timeout 10 --max-time 60 --request "$1" --write-out '\n%{http_code}' "$api$2") ||
    die "the IONOS API at $api does not answer, see above" "remedy: correct IONOS_API_URL, or try again"
  status=${answer##*$'\n'}
  case $status in
    2??) printf '%s' "${answer%$'\n'*}" ;;
    401 | 403) die "the IONOS API refuses the token: status $status for $1 $2" "remedy: a token of a user who may manage the cluster" ;;
    404) die "the IONOS API knows no $2" "remedy: correct IONOS_CLUSTER_ID, IONOS_DATACENTER_ID or IONOS_PRIVATE_LAN_ID" ;;
    429) die "the IONOS API limits the rate of requests: status 429" "remedy: try again in a minute" ;;
    *) die "the IONOS API answers $1 $2 with status $status" "remedy: try again; https://status.ionos.cloud" ;;
  esac
}

# items reads a list and prints its items, each on a line; an answer without items, or with more of them elsewhere, is none.
items() {
  local answer
  answer=$(ionos GET "$1?depth=1&limit=1000") || exit 1
  ! jq -e '._links.next // empty' <<<"$answer" >/dev/null || die "the IONOS API has more than 1000 items at $1" "remedy: replace the node in the IONOS console"
  jq -ec '.items | arrays | (.[], true)' <<<"$answer" | sed '$d' || die "the IONOS API answers $1 without items" "remedy: try again"
}

# canonical spells the address that each line begins with as others do: one IPv6 address has many texts.
canonical() {
  python3 -c '
import ipaddress, sys
for line in filter(str.strip, sys.stdin):
    address, *rest = line.split()
    try:
        print(ipaddress.ip_address(address), *rest)
    except ValueError:
        sys.exit(f"{address[:64]!r} is no IP address")'
}

# addresses_of SERVER prints its addresses on the private LAN. None is an answer only where each card says whose it is.
addresses_of() {
  local cards found
  cards=$(items "/datacenters/$IONOS_DATACENTER_ID/lans/$IONOS_PRIVATE_LAN_ID/nics") || exit 1
  found=$(jq -r --arg id "$1" 'select(.href | ascii_downcase | contains("/servers/" + ($id | ascii_downcase) + "/")) | .properties | (.ips // [])[], (.ipv6Ips // [])[] | select(. != null and . != "")' <<<"$cards" | canonical) ||
    die "the addresses of server $1 cannot be read, see above" "remedy: correct them in the IONOS console"
  [ -n "$found" ] || jq -es 'all(.[]; .href | ascii_downcase | contains("/servers/"))' >/dev/null <<<"$cards" ||
    die "server $1 has no address, and network cards of LAN $IONOS_PRIVATE_LAN_ID do not say whose they are" "remedy: replace the node in the IONOS console"
  printf '%s\n' "$found"
}

# published prints what the daemon's slices publish: address and whether it is ready. With publishNotReadyAddresses each
# endpoint has the condition ready.
published() {
  kube -n "$target_namespace" get endpointslices -o json \
    --selector "kubernetes.io/service-name=$TARGET_SERVICE_NAME,endpointslice.kubernetes.io/managed-by=${TARGET_MANAGED_BY:-ionos-endpointslice-controller}" |
    jq -r '.items[].endpoints // [] | .[] | (.conditions.serving and (.conditions.terminating | not)) as $ready | .addresses[] | "\(.) \($ready)"' | canonical
}

# others prints how many endpoints are ready that are none of the node.
others() {
  awk 'NR == FNR {old[$1]; next} $2 == "true" && !($1 in old)' <(printf '%s\n' "$old") <(published) | wc -l
}

need curl jq python3
for name in IONOS_CLUSTER_ID IONOS_DATACENTER_ID IONOS_PRIVATE_LAN_ID; do need_variable "$name" ID "the id in the IONOS Cloud"; done
[ -n "${IONOS_TOKEN:-}" ] || { need_variable IONOS_TOKEN_FILE FILE "a file with the token" && need_file IONOS_TOKEN_FILE; }
need_variable SECURED_KUBECONFIG FILE "the kubeconfig of the remote cluster"
need_file SECURED_KUBECONFIG
api=${IONOS_API_URL:-https://api.ionos.com}
[[ $api == *://* ]] || api=https://$api
api=${api%/} api=${api%/cloudapi/v6}/cloudapi/v6
use_service

# Which machine it is: what the node says of itself, in the order of the daemon; its name is the last resort.
say "remote cluster: context $(secured config view --minify -o 'jsonpath={.contexts[0].name}, {.clusters[0].cluster.server}'), $api"
object=$(secured get node "$node" -o json --request-timeout=30s) || die "node $node cannot be read, see above" "remedy: $kubectl --kubeconfig $SECURED_KUBECONFIG get nodes"
id=$(jq -r '[(.spec.providerID // "" | rtrimstr("/") | split("/") | last), .metadata.labels["enterprise.cloud.ionos.com/node-id"], .status.nodeInfo.systemUUID] | map(select(. != null and . != "")) | first // "" | ascii_downcase' <<<"$object")
cluster=/k8s/$IONOS_CLUSTER_ID/nodepools
pools=$(items "$cluster" | jq -r .id)
pool='' members=''
for candidate in $pools; do
  members=$(items "$cluster/$candidate/nodes")
  [ -n "$id" ] || id=$(jq -r --arg name "$node" 'select(.properties.name == $name) | .id | ascii_downcase' <<<"$members")
  before=$(jq -r '.id | ascii_downcase' <<<"$members")
  if [ -n "$id" ] && grep -qxF "$id" <<<"$before"; then
    pool=$candidate && break
  fi
done
[ -n "$pool" ] || die "no node pool of cluster $IONOS_CLUSTER_ID has node $node (id ${id:-unknown})" "remedy: correct IONOS_CLUSTER_ID, or name a node that IONOS manages"
old=$(addresses_of "$id")
say "node $node is $id in pool $pool, with $(wc -w <<<"$before") nodes; addresses on LAN $IONOS_PRIVATE_LAN_ID: ${old:-none}"
ready=$(others)
[ "$ready" -gt 0 ] || die "no other endpoint is ready in the slices of the Service; without $node the Service would not answer" "remedy: hack/verify-endpointslice.sh; add a node to the pool first"
say "$ready other endpoints are ready"

verb=delete
[ "$recreate" = false ] || verb=recreate
say "to do: cordon and drain $node, $verb $pool/$id, wait for its successor and for the slices"
if [ "$dry_run" = true ]; then
  secured drain "$node" --ignore-daemonsets --delete-emptydir-data --dry-run=server >&2 || die "the drain would fail, see above"
  say "dry run, the script changed no object"
  exit
fi
confirm "This deletes the machine of $node for good."
secured cordon "$node" >&2 || die "$node was not cordoned, see above; no node was deleted" "remedy: a user who may patch nodes"
secured drain "$node" --ignore-daemonsets --delete-emptydir-data --timeout="${drain_timeout}s" >&2 ||
  die "$node was not drained, see above; it is cordoned, no node was deleted" "remedy: move the remaining Pods and run the script again, or $kubectl --kubeconfig $SECURED_KUBECONFIG uncordon $node"
[ "$(others)" -gt 0 ] || die "no other endpoint is ready any more; $node is cordoned and drained, no node was deleted" "remedy: hack/verify-endpointslice.sh; $kubectl --kubeconfig $SECURED_KUBECONFIG uncordon $node"
case $verb in
  delete) ionos DELETE "$cluster/$pool/nodes/$id" >/dev/null ;;
  recreate) ionos POST "$cluster/$pool/nodes/$id/replace" >/dev/null ;;
esac
say "the IONOS API took the order"

# arrived sets new to a ready node of the pool that was not there before. A failed look is no answer; the next one follows.
arrived() {
  local now
  now=$(items "$cluster/$pool/nodes" 2>/dev/null | jq -r 'select(.metadata.state == "READY") | .id | ascii_downcase') || return 1
  new=$(grep -vxFf <(printf '%s\n' "$before") <<<"$now" | head -n 1) && [ -n "$new" ] && fresh=$(addresses_of "$new" 2>/dev/null) && [ -n "$fresh" ]
}

# followed succeeds when the slices hold one of the new addresses ready, and no old one that is not new as well.
followed() {
  local now address
  now=$(published 2>/dev/null) || return 1
  for address in $old; do
    if grep -qxF "$address" <<<"$fresh"; then continue; fi
    if grep -qxF -e "$address true" -e "$address false" -e "$address null" <<<"$now"; then return 1; fi
  done
  for address in $fresh; do
    if grep -qxF "$address true" <<<"$now"; then return 0; fi
  done
  return 1
}
new='' fresh=''
interval=10 # seconds; the API limits requests
wait_until "$timeout" "a new node in pool $pool with an address on the LAN" arrived ||
  die "there is no new node after $timeout s" "remedy: look at the pool in the IONOS console; its nodeCount may have to be raised"
say "new node $new: $fresh"
interval=2
wait_until "$timeout" "the slices to hold the new address and not the old one" followed ||
  die "the slices did not follow within $timeout s" "remedy: hack/verify-endpointslice.sh, hack/logs-controller.sh, and the daemon's command explain $node"
say "$node is replaced"
