#!/usr/bin/env bash
# Looks at the EndpointSlices of the Service as they are, and says what is wrong with them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=hack/lib.sh
. hack/lib.sh

usage() {
  cat <<'TXT'
Usage: hack/verify-endpointslice.sh

Reads the Service and the EndpointSlices of its namespace, and checks without the
daemon what the daemon promises: names, labels and owner of its slices; ports that
are called as the Service calls them; addresses inside SECURED_SUBNET_CIDR, each
once; conditions that are all there and make sense; no slice of another program
for the same Service; at least one ready address. It changes no object.

SECURED_SUBNET_CIDR    required
TARGET_SERVICE_NAME    required
TARGET_NAMESPACE, TARGET_ENDPOINTSLICE_NAME, TARGET_MANAGED_BY,
TARGET_PORT, TARGET_PORTS   as for the daemon; without TARGET_PORT and TARGET_PORTS a
                            slice may have any of the Service's ports
KUBECONFIG, KUBECTL_PATH

Exit status: 0 all is right, 1 something is wrong or missing, 2 wrong usage.
TXT
}

case ${1:-} in
  -h | --help) usage && exit ;;
  "") ;;
  *) wrong_usage "unknown argument $1" ;;
esac
need python3
need_variable SECURED_SUBNET_CIDR 10.0.0.0/24 "the private network of the remote nodes"
use_service

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s' "$service" >"$folder/service"
kube -n "$target_namespace" get endpointslices -o json >"$folder/slices" ||
  die "the EndpointSlices cannot be read, see above" "remedy: kubectl auth can-i list endpointslices -n $target_namespace"

status=0
python3 - "$folder" "${TARGET_ENDPOINTSLICE_NAME:-$TARGET_SERVICE_NAME-remote}" "${TARGET_MANAGED_BY:-ionos-endpointslice-controller}" <<'PY' || status=$?
import ipaddress, json, os, re, sys

folder, name, manager = sys.argv[1:]
service, slices = (json.load(open(os.path.join(folder, part))) for part in ("service", "slices"))
wrong = []
try:
    subnets = [ipaddress.ip_network(text.strip()) for text in os.environ["SECURED_SUBNET_CIDR"].split(",") if text.strip()]
except ValueError as err:
    sys.exit(f"wrong: SECURED_SUBNET_CIDR: {err}")
SERVICE, MANAGER = "kubernetes.io/service-name", "endpointslice.kubernetes.io/managed-by"
NUMBER = "(-([2-9]|[1-9][0-9]+))?"
ALWAYS = "endpoints.ablmnzde.github.io/publish-not-ready-addresses"
always = service["spec"].get("publishNotReadyAddresses", False)
# By serving and terminating; with publishNotReadyAddresses ready is always true.
STATES = {(True, False): "ready", (True, True): "draining", (False, False): "down"}
title = service["metadata"]["name"]


def check(good, text):
    if not good:
        wrong.append(text)


def label(item, key):
    return (item["metadata"].get("labels") or {}).get(key, "")


def conditions(endpoint):
    found = endpoint.get("conditions") or {}
    return tuple(found.get(key) for key in ("ready", "serving", "terminating"))


def state_of(endpoint):
    """Return the state that the conditions spell, None if they spell none."""
    ready, serving, terminating = conditions(endpoint)
    state = STATES.get((serving, terminating))
    return state if ready is (always or state == "ready") else None


def pair(port):
    return (port.get("name") or "", port.get("protocol") or "TCP")


def picked(ports):
    """Return the ports of the Service that the daemon fills, None if that is not known."""
    if os.environ.get("TARGET_PORTS"):
        split = (re.fullmatch(r"\s*([^=\s]+)\s*=\s*\d+\s*(?:/\s*(\w+))?\s*", text) for text in os.environ["TARGET_PORTS"].split(",") if text.strip())
        return {(found[1], (found[2] or "TCP").upper()) for found in split if found}
    if not os.environ.get("TARGET_PORT"):
        return None
    number = int(os.environ["TARGET_PORT"]) if os.environ["TARGET_PORT"].isdecimal() else 0
    fits = ports if len(ports) == 1 else [port for port in ports if port.get("targetPort", port["port"]) == number]
    fits = fits or [port for port in ports if port["port"] == number]
    return {pair(port) for port in fits} if len(fits) == 1 else set()


def look(item, seen, count):
    """Check one slice of the daemon."""
    at = "slice " + item["metadata"]["name"]
    family = item["addressType"]
    pattern = re.escape(name) + ("-ipv6" if family == "IPv6" else "") + NUMBER
    check(re.fullmatch(pattern, item["metadata"]["name"]), f"{at}: a slice of the daemon for {family} is called {pattern}")
    owners = [(o["kind"], o["uid"]) for o in item["metadata"].get("ownerReferences") or []]
    check(("Service", service["metadata"]["uid"]) in owners, f"{at}: its owner is not the Service, so it would outlive it")
    endpoints = item.get("endpoints") or []
    marked = (item["metadata"].get("annotations") or {}).get(ALWAYS) == "true"
    check(marked == always, f"{at}: it is written for publishNotReadyAddresses: {str(marked).lower()}, but the Service has {str(always).lower()}")
    ports = {pair(port) for port in item.get("ports") or []}
    offered = {pair(port) for port in service["spec"].get("ports") or []}
    wanted = picked(service["spec"].get("ports") or [])
    if wanted is None:
        wanted = set() if ports & offered else offered
    if endpoints:
        for port in sorted(wanted - ports):
            wrong.append(f"{at}: no port is called {port[0]!r} ({port[1]}), as the Service calls it")
        for port in sorted(ports - offered):
            wrong.append(f"{at}: port {port[0]!r} ({port[1]}) is no port of the Service")
    for endpoint in endpoints:
        check(len(endpoint["addresses"]) == 1, f"{at}: an endpoint has {len(endpoint['addresses'])} addresses, not one")
        for address in endpoint["addresses"]:
            parsed = ipaddress.ip_address(address)
            check(f"IPv{parsed.version}" == family, f"{at}: {address} is not of {family}")
            check(any(parsed in subnet for subnet in subnets), f"{at}: {address} is outside SECURED_SUBNET_CIDR")
            check(parsed not in seen, f"{at}: {address} is in {seen.get(parsed)} as well")
            seen[parsed] = at
            state = state_of(endpoint)
            check(state, f"{at}: {address}: ready, serving, terminating are {conditions(endpoint)}, which is no state of an endpoint")
            count[state] = count.get(state, 0) + 1
            usable.append(conditions(endpoint)[0])
        for key in ("nodeName", "targetRef", "hostname"):
            check(key not in endpoint, f"{at}: {endpoint['addresses'][0]} has a {key}, but its node is not in this cluster")


if picked(service["spec"].get("ports") or []) == set():
    wrong.append(f"TARGET_PORT={os.environ.get('TARGET_PORT', '')} fits none or several of the ports of Service {title}: set TARGET_PORTS")
check(not service["spec"].get("selector"), f"Service {title} has a selector: Kubernetes fills slices for it as well; remove it")
check(service["spec"].get("type") != "ExternalName", f"Service {title} is of type ExternalName, which has no endpoints")
seen, count, usable, ours = {}, {}, [], 0
for item in slices["items"]:
    mine, served = label(item, MANAGER) == manager, label(item, SERVICE) == title
    called = re.fullmatch(re.escape(name) + "(-ipv6)?" + NUMBER, item["metadata"]["name"])
    if mine and served:
        ours += 1
        look(item, seen, count)
    elif served:
        wrong.append(f"slice {item['metadata']['name']} is for the Service too, managed by {label(item, MANAGER) or 'no program'}: its endpoints get traffic too")
    elif called:
        wrong.append(f"slice {item['metadata']['name']} has a name of the daemon, but its labels say Service {label(item, SERVICE) or 'none'}, managed by {label(item, MANAGER) or 'no program'}")
check(ours, f"no slice for {title} is managed by {manager}: does the daemon run?")
check(not ours or any(usable), "no endpoint is ready: the Service has no endpoint to send traffic to")
for text in wrong:
    print("wrong:", text)
print(f"{ours} slices, " + ", ".join(f"{count.get(state, 0)} {state}" for state in STATES.values()))
sys.exit(bool(wrong))
PY
[ "$status" = 0 ] || die "the slices of $target_namespace/$TARGET_SERVICE_NAME are not as they should be, see above" \
  "remedy: hack/logs-controller.sh, and the daemon's own commands status and check"
say "the slices are right"
