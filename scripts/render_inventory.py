#!/usr/bin/env python3
"""Print the JSON inventory of the remote cluster's Ready workers.

For SOURCE_KIND=command. The nodes come from kubectl, their private addresses
from the IONOS Cloud API: a node's own addresses are not the ones that the
private LAN carries. Either the whole inventory is printed, or nothing, one line
on standard error and a status other than 0: a list with a hole in it would look
like nodes that are gone.

It is compatible with the original and not recommended: SOURCE_KIND=ionos does
the same inside the daemon.

Needs Python 3.9 and kubectl, nothing else.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import email.utils
import functools
import http.client
import ipaddress
import json
import os
import queue
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Callable, NoReturn, Optional, Union

PUBLIC_API = "https://api.ionos.com"
API_PATH = "/cloudapi/v6"
PAGE_SIZE = 1000  # the most that the API gives at once
MAX_PAGES = 100
MAX_BODY = 32 << 20  # bytes of one answer; 1,000 servers at depth 3 are 8 MiB
MAX_NODES = 128 << 20  # bytes of kubectl's output; a node has some 15 KiB
MAX_TOKEN = 64 << 10  # bytes of a token's file
MAX_LINE = 1000  # characters of the line on standard error

STATUS_FAILURE = 1
STATUS_USAGE = 2
STATUS_TIMEOUT = 124
STATUS_INTERRUPTED = 130

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Labels, and taints: some clusters set only the latter.
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
EXCLUDE_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers"
NODE_ID_LABEL = "enterprise.cloud.ionos.com/node-id"
ZONE_LABEL = "topology.kubernetes.io/zone"
DELETION_TAINT = "ToBeDeletedByClusterAutoscaler"

# What the remote kubectl must not see: the token, which it has no use for, and
# all that leads to another cluster than the one that SECURED_KUBECONFIG names.
HIDDEN_FROM_KUBECTL = ("IONOS_", "KUBECONFIG", "KUBERNETES_SERVICE_")

EPILOG = """\
variables:
  SECURED_KUBECONFIG       kubeconfig of the remote cluster; its user may list nodes
  SECURED_KUBECTL_CONTEXT  context in it (default: its current one)
  SECURED_NODE_SELECTOR    label selector of the workers (default: all but the control plane)
  SECURED_SUBNET_PREFIX    how the text of an address must begin (default: 10.0.0.)
  IONOS_TOKEN              token of the IONOS Cloud API, or
  IONOS_TOKEN_FILE         a file that holds it
  IONOS_DATACENTER_ID      UUID of the virtual data centre
  IONOS_PRIVATE_LAN_ID     number of the private LAN
  IONOS_API_URL            address of the API (default: https://api.ionos.com)
  HTTPS_PROXY, NO_PROXY    as usual

exit status: 0 the whole inventory is printed; 1 it could not be read; 2 a
variable or an argument is wrong; 124 the time is over. Unless it is 0, standard
output is empty, and one line on standard error says why and what to do.
"""


class Failure(Exception):
    """Why there is no inventory. The text is one line and ends with a remedy."""

    def __init__(self, reason: str, status: int = STATUS_FAILURE) -> None:
        super().__init__(reason)
        self.status = status


# Settings


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the variables and arguments say, checked."""

    kubectl: str
    kubeconfig: str
    context: str
    selector: str
    prefix: str
    api: str
    datacenter: str
    lan: int
    token: str = dataclasses.field(repr=False)
    everyone: bool = False


def read_settings(environ: Mapping[str, str], kubectl: str, everyone: bool) -> Settings:
    """Check all variables, and report what is missing at once."""
    value = {name: text.strip() for name, text in environ.items()}
    missing = [n for n in ("SECURED_KUBECONFIG", "IONOS_DATACENTER_ID", "IONOS_PRIVATE_LAN_ID") if not value.get(n)]
    if not value.get("IONOS_TOKEN") and not value.get("IONOS_TOKEN_FILE"):
        missing.append("IONOS_TOKEN (or IONOS_TOKEN_FILE)")
    if missing:
        raise Failure(f"{', '.join(missing)} not set; --help explains each variable", STATUS_USAGE)
    return Settings(
        kubectl=kubectl,
        kubeconfig=value["SECURED_KUBECONFIG"],
        context=value.get("SECURED_KUBECTL_CONTEXT", ""),
        selector=value.get("SECURED_NODE_SELECTOR", ""),
        prefix=address_prefix(value.get("SECURED_SUBNET_PREFIX") or "10.0.0."),
        api=api_base(value.get("IONOS_API_URL") or PUBLIC_API),
        datacenter=datacenter_id(value["IONOS_DATACENTER_ID"]),
        lan=lan_number(value["IONOS_PRIVATE_LAN_ID"]),
        token=read_token(value),
        everyone=everyone,
    )


def wrong(name: str, rule: str, remedy: str) -> Failure:
    """Build the failure of a variable. Its value stays out: it may be a token that strayed."""
    return Failure(f"{name} {rule}; {remedy}", STATUS_USAGE)


def read_token(value: Mapping[str, str]) -> str:
    """Return the token, read again each time, so that a rotated one works at once."""
    name, token = "IONOS_TOKEN", value.get("IONOS_TOKEN", "")
    if not token:
        name = "IONOS_TOKEN_FILE"
        try:
            with open(value[name], "rb") as file:
                token = file.read(MAX_TOKEN + 1).decode("ascii", "replace").strip()
        except OSError as err:
            raise wrong(name, f"cannot be read: {os_reason(err)}", "correct the path or its rights") from None
    if not token:
        raise wrong(name, "names an empty file", "write the token into it")
    if len(token) > MAX_TOKEN or not re.fullmatch(r"[!-~]+", token):
        raise wrong(name, "holds more than a token (a space, a line break, letters beyond ASCII)",
                    "leave 'Bearer' and everything else out")
    return token


def lan_number(text: str) -> int:
    """Return the LAN's number: the API spells it as text here and as a number there."""
    if not re.fullmatch(r"[0-9]{1,10}", text) or int(text) == 0:
        raise wrong("IONOS_PRIVATE_LAN_ID", "is no number of a LAN", "write for example 2")
    return int(text)


def datacenter_id(text: str) -> str:
    """Return the data centre's id, which becomes a part of a path."""
    if not re.fullmatch(r"[0-9A-Za-z-]{1,64}", text):
        raise wrong("IONOS_DATACENTER_ID", "is no identifier", "copy the UUID from the IONOS console")
    return text.lower()


def address_prefix(text: str) -> str:
    """Return the beginning of the addresses to keep. 10.0.0.0/24 would keep none, silently."""
    if not re.fullmatch(r"[0-9A-Fa-f.:]+", text):
        raise wrong("SECURED_SUBNET_PREFIX", "is not how an address begins", "write for example 10.0.0.")
    return text.lower()


def api_base(text: str) -> str:
    """Return the address of the API with its path and without a slash at the end."""
    name, remedy = "IONOS_API_URL", f"write for example {PUBLIC_API}"
    url = text if "://" in text else "https://" + text
    try:
        parts = urllib.parse.urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise wrong(name, "is not a URL", remedy) from None
    if not usable or not re.fullmatch(r"[!-~]+", url):
        raise wrong(name, "is not an https or http URL", remedy)
    if parts.query or parts.fragment or parts.username is not None or parts.password is not None:
        raise wrong(name, "holds more than scheme, host and path", remedy)
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{parts.netloc}{path}" + ("" if path.endswith(API_PATH) else API_PATH)


# Time


class Budget:
    """The time that is left, and what it is being spent on."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end = time.monotonic() + seconds
        self.step = "the start"
        self.child: Optional[subprocess.Popen[bytes]] = None

    def spend(self, step: str) -> float:
        """Begin a step and return the seconds that are left for it."""
        self.step = step
        left = self.end - time.monotonic()
        if left <= 0:
            raise self.over()
        return left

    def over(self) -> Failure:
        """Build the failure of a run that took too long."""
        return Failure(f"{self.step} was not finished within {self.seconds:g} s; look for what delays it, "
                       "or raise --timeout and SOURCE_TIMEOUT", STATUS_TIMEOUT)

    def stop(self) -> None:
        """End the program that may still be running."""
        if self.child:
            self.child.kill()


def bounded(work: Callable[[], str], budget: Budget) -> str:
    """Run work in a thread and leave it behind when the time is over.

    No time-out of a socket bounds a slow name server, or a server that sends a
    byte now and then.
    """
    results: queue.Queue[Union[str, BaseException]] = queue.Queue()

    def run() -> None:
        try:
            results.put(work())
        except BaseException as err:  # noqa: BLE001 - handed over, not swallowed
            results.put(err)

    threading.Thread(target=run, daemon=True).start()
    try:
        result = results.get(timeout=max(0.0, budget.end - time.monotonic()))
    except queue.Empty:
        raise budget.over() from None
    finally:
        budget.stop()
    if isinstance(result, BaseException):
        raise result
    return result


# JSON


def field(value: Any, *path: str) -> Any:
    """Return what lies at a path, None where a part of it is absent, null or no object."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_field(value: Any, *path: str) -> str:
    """Return the text at a path, empty where there is none."""
    found = field(value, *path)
    return found if isinstance(found, str) else ""


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a list, nothing where there is no list."""
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def parse(body: bytes, subject: str, remedy: str) -> Any:
    """Return the document, without quoting a broken one: it could hold a secret."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        problem = "not whole JSON" if body.strip() else "empty"
        raise Failure(f"{subject}: the answer is {problem}; {remedy}") from None


def items_of(document: Any, subject: str, remedy: str) -> list[dict[str, Any]]:
    """Return the items of a list. Without them an answer is no list, not an empty one."""
    items = field(document, "items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise Failure(f"{subject}: the answer has no list of items; {remedy}")
    return items


def needed(document: Any, what: str, *path: str) -> Any:
    """Return what the API says at a path, which may be null. An answer that does not say it is not whole."""
    parent = field(document, *path[:-1])
    if not isinstance(parent, dict) or path[-1] not in parent:
        raise Failure(f"IONOS API, {what}: an item has no {'.'.join(path)}; the next read asks again")
    return parent[path[-1]]


# The remote cluster


@dataclasses.dataclass(frozen=True)
class Worker:
    """A node of the remote cluster, as far as it matters here."""

    name: str
    server: str  # the server's id, empty where the node does not tell
    zone: str
    ready: bool
    worker: bool
    leaving: bool

    def backend(self) -> bool:
        """Report whether the node may be listed with its addresses."""
        return self.ready and self.worker


def server_id(item: dict[str, Any], labels: dict[str, Any]) -> str:
    """Return the server that a node names, from the most trusted place that names one.

    A providerID is ionos://<server> or, as Gardener writes, ionos:///<datacenter>/<server>.
    One of another scheme names no server of IONOS, whatever its last part is.
    Firmware without an id of its own reports a systemUUID of zeros or ones.
    """
    scheme, _, path = text_field(item, "spec", "providerID").strip().rpartition(":")
    provider = path.rstrip("/").rpartition("/")[2] if scheme.lower() in ("", "ionos") else ""
    system = text_field(item, "status", "nodeInfo", "systemUUID")
    for candidate in (provider, text_field(labels, NODE_ID_LABEL), system):
        candidate = candidate.strip().lower()
        if UUID.fullmatch(candidate) and len(set(candidate)) > 2:
            return candidate
    return ""


def translate_node(item: dict[str, Any], chosen: bool) -> Worker:
    """Turn a Node object into a Worker. Chosen says that a selector has picked it."""
    name = text_field(item, "metadata", "name")
    if not name:
        raise Failure("kubectl: a node has no name; look at the output of 'kubectl get nodes -o json'")
    labels = field(item, "metadata", "labels")
    labels = labels if isinstance(labels, dict) else {}
    conditions = field(item, "status", "conditions")
    taints = {taint.get("key") for taint in objects(field(item, "spec", "taints"))}
    control_plane = not chosen and any(key in labels or key in taints for key in CONTROL_PLANE)
    return Worker(
        name=name,
        server=server_id(item, labels),
        zone=text_field(labels, ZONE_LABEL),
        ready=any(c.get("type") == "Ready" and c.get("status") == "True" for c in objects(conditions)),
        worker=not control_plane and EXCLUDE_LABEL not in labels,
        leaving=bool(field(item, "metadata", "deletionTimestamp")) or DELETION_TAINT in taints,
    )


def kubectl_command(settings: Settings, seconds: float) -> list[str]:
    """Return the one command that is run. No shell sees it."""
    command = [settings.kubectl, "--kubeconfig=" + settings.kubeconfig]
    if settings.context:
        command.append("--context=" + settings.context)
    command += ["get", "nodes", "--output=json", f"--request-timeout={max(1, int(seconds))}s"]
    if settings.selector:
        command.append("--selector=" + settings.selector)
    return command


def run_kubectl(settings: Settings, budget: Budget) -> bytes:
    """Return what kubectl prints.

    It stays in our process group, so that the daemon, which kills the group,
    leaves nothing behind.
    """
    seconds = budget.spend("kubectl get nodes")
    env = {name: text for name, text in os.environ.items() if not name.startswith(HIDDEN_FROM_KUBECTL)}
    try:
        budget.child = subprocess.Popen(
            kubectl_command(settings, seconds), env=env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
    except (OSError, ValueError) as err:
        raise Failure(f"kubectl cannot be started: {os_reason(err)}; "
                      "install it, or give its path with --kubectl") from None
    return collect(budget.child, settings.token)


def collect(process: subprocess.Popen[bytes], token: str) -> bytes:
    """Return the output of a process that succeeds, within its limit."""
    remedy = "check SECURED_KUBECONFIG, SECURED_KUBECTL_CONTEXT, and that its user may list nodes"
    said: list[str] = [""]
    listener = threading.Thread(target=keep_last_line, args=(process.stderr, said), daemon=True)
    listener.start()
    output = process.stdout.read(MAX_NODES + 1) if process.stdout else b""
    if len(output) > MAX_NODES:
        raise Failure(f"kubectl: the list of nodes is over {MAX_NODES >> 20} MiB; "
                      "choose fewer with SECURED_NODE_SELECTOR")
    status = process.wait()
    if status != 0:
        listener.join(timeout=1)  # a child of kubectl may hold the pipe open
        ended = f"ended by signal {-status}" if status < 0 else f"exit status {status}"
        raise Failure(f"kubectl: {ended}: {conceal(said[0], token) or 'it says nothing'}; {remedy}")
    return output


def keep_last_line(stream: Any, said: list[str]) -> None:
    """Read a stream to its end and keep the last line: kubectl's verdict comes after its trials."""
    for line in iter(lambda: stream.readline(MAX_TOKEN), b""):
        said[0] = line.decode("utf-8", "replace").strip()[-400:] or said[0]


def conceal(line: str, token: str) -> str:
    """Return the line without anything if it holds a part of the token.

    kubectl does not get the token. But its last line is the only text of others
    that ever gets into a message, and what a plugin of it prints is not known.
    """
    width = min(8, len(token))
    if any(token[i:i + width] in line for i in range(len(token) - width + 1)):
        return "(its last line holds a part of the token and is withheld)"
    return line


def list_workers(settings: Settings, budget: Budget) -> list[Worker]:
    """Return all nodes that the selector matches, sorted by name."""
    remedy = "check that the program is kubectl"
    document = parse(run_kubectl(settings, budget), "kubectl", remedy)
    workers = [translate_node(item, bool(settings.selector)) for item in items_of(document, "kubectl", remedy)]
    return sorted(workers, key=lambda worker: worker.name)


# The IONOS Cloud API


class RefuseRedirects(urllib.request.HTTPRedirectHandler):
    """Makes an error of every redirect: it would send the token to another server."""

    def http_error_302(self, *_: Any, **__: Any) -> None:
        """Leave the answer to the handler that raises an error."""

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


class Api:
    """Reads from the API. No text of an answer goes into a message: it could repeat the token."""

    def __init__(self, settings: Settings, budget: Budget) -> None:
        self.settings = settings
        self.budget = budget
        self.opener = urllib.request.build_opener(RefuseRedirects)

    def get(self, what: str, path: str, **query: int) -> Any:
        """Return one document, whole."""
        subject = f"IONOS API, {what}"
        root = f"{self.settings.api}/datacenters/{self.settings.datacenter}"
        request = urllib.request.Request(
            f"{root}/{path}?{urllib.parse.urlencode({**query, 'pretty': 'false'})}",
            headers={"Accept": "application/json", "User-Agent": "ionos-endpointslice-controller/render_inventory"},
        )
        # Unredirected: even if a redirect were followed, it would not go along.
        request.add_unredirected_header("Authorization", "Bearer " + self.settings.token)
        # A second more than there is: what ends the wait is the budget, which knows the step.
        seconds = self.budget.spend(subject) + 1
        try:
            with self.opener.open(request, timeout=seconds) as response:
                body = read_body(response, subject)
        except urllib.error.HTTPError as err:
            err.close()
            raise Failure(f"{subject}: {status_reason(err)}") from None
        except (OSError, http.client.HTTPException, ValueError) as err:
            raise Failure(f"{subject}: {network_reason(err)}; check IONOS_API_URL, the network and its proxy") from None
        return parse(body, subject, "the next read asks again")

    def collection(self, what: str, path: str, depth: int) -> list[dict[str, Any]]:
        """Return all items of a list, each once, or fail.

        When an item is deleted between two pages, the first one of the next page moves to the page that was read
        already. So a list of several pages is read twice, and what either reading has is there.
        """
        found, pages = self.pages(what, path, depth)
        if pages > 1:
            found = {**found, **self.pages(what, path, depth)[0]}
        return list(found.values())

    def pages(self, what: str, path: str, depth: int) -> tuple[dict[str, dict[str, Any]], int]:
        """Return the items of all pages by id, and how many pages there are."""
        found: dict[str, dict[str, Any]] = {}
        remedy = "the next read asks again"
        offset = 0
        for number in range(1, MAX_PAGES + 1):
            page = self.get(what, path, depth=depth, limit=PAGE_SIZE, offset=offset)
            items = items_of(page, f"IONOS API, {what}", remedy)
            known = len(found)
            found.update((identifier(item, what), item) for item in items)
            if not has_next(page, len(items)):
                return found, number
            if len(found) == known:
                raise Failure(f"IONOS API, {what}: a further page holds nothing new; {remedy}")
            offset += len(items)
        raise Failure(f"IONOS API, {what}: more than {MAX_PAGES} pages; tell the authors of this script")


def has_next(page: dict[str, Any], count: int) -> bool:
    """Report whether a page has a successor. Some carry no links; there a full one may have one."""
    links, limit = page.get("_links"), page.get("limit")
    if isinstance(links, dict):
        return bool(links.get("next"))
    full = int(limit) if isinstance(limit, (int, float)) and 1 <= limit < PAGE_SIZE else PAGE_SIZE
    return count >= full


def identifier(item: dict[str, Any], what: str) -> str:
    """Return an item's id in lower case, as everything is compared."""
    found = text_field(item, "id").lower()
    if not found:
        raise Failure(f"IONOS API, {what}: an item has no id; the next read asks again")
    return found


def read_body(response: Any, subject: str) -> bytes:
    """Return the whole body. A connection that ended early looks whole to read()."""
    if response.status != http.HTTPStatus.OK:
        raise Failure(f"{subject}: status {response.status}, not 200; check IONOS_API_URL")
    body = response.read(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise Failure(f"{subject}: the answer is over {MAX_BODY >> 20} MiB; check IONOS_API_URL")
    if response.length:
        raise Failure(f"{subject}: the connection ended within the answer; the next read asks again")
    return body


def status_reason(err: urllib.error.HTTPError) -> str:
    """Say in our own words what a status means and what to do about it."""
    wait = retry_after(err.headers.get("Retry-After"))
    ids = "IONOS_DATACENTER_ID and IONOS_PRIVATE_LAN_ID"
    reasons = {
        401: "the token is refused; renew it in IONOS_TOKEN or IONOS_TOKEN_FILE",
        403: f"the token may not read this; check {ids} and the rights of the token's user",
        404: f"there is no such data centre or LAN; check {ids}",
        407: "the proxy refuses; check HTTPS_PROXY",
        429: f"too many requests{wait}; raise SOURCE_POLL_INTERVAL if it happens often",
    }
    if err.code in reasons:
        return f"status {err.code}, {reasons[err.code]}"
    if 300 <= err.code < 400:
        return f"status {err.code}, a redirect, which the token must not follow; correct IONOS_API_URL"
    if err.code >= 500:
        return f"status {err.code}, the service fails{wait}; the next read asks again"
    return f"status {err.code} was not expected; check IONOS_API_URL"


def retry_after(header: Optional[str]) -> str:
    """Render a Retry-After of either form, nothing where there is none to understand."""
    header = (header or "").strip()
    if re.fullmatch(r"[0-9]{1,6}", header):
        return f" (Retry-After: {int(header)} s)"
    try:
        when = email.utils.parsedate_to_datetime(header)
        if when.tzinfo is None:  # "-0000", which RFC 5322 has for UTC
            when = when.replace(tzinfo=datetime.timezone.utc)
        seconds = (when - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return ""
    return f" (Retry-After: {max(0, round(seconds))} s)"


def network_reason(err: BaseException) -> str:
    """Say why there was no answer, without words of the other side."""
    cause = err.reason if isinstance(err, urllib.error.URLError) else err
    if isinstance(cause, (TimeoutError, socket.timeout)):
        return "no answer in time"
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError):
        return "TLS fails"
    if isinstance(cause, ConnectionError):
        return "the connection was refused or dropped"
    if isinstance(cause, http.client.IncompleteRead):
        return "the connection ended within the answer"
    if isinstance(cause, http.client.HTTPException):
        return "what answers does not speak HTTP"
    if isinstance(cause, OSError) and (tunnel := re.match(r"Tunnel connection failed: (\d{3})", str(cause))):
        return f"the proxy answers status {tunnel.group(1)}"
    return os_reason(cause)


def os_reason(err: Any) -> str:
    """Return the system's own words for an error."""
    if isinstance(err, OSError) and err.strerror:
        return str(err.strerror).lower()
    return type(err).__name__


# From servers to addresses


@dataclasses.dataclass(frozen=True)
class Nic:
    """A network card on the private LAN. Server is empty where its href does not say."""

    id: str
    server: str
    addresses: frozenset[str]


def translate_nic(item: dict[str, Any], lan: int) -> Optional[Nic]:
    """Turn an item of the LAN into a Nic, or None if it is of another LAN."""
    what = f"NICs of LAN {lan}"
    properties = field(item, "properties")
    if not isinstance(properties, dict):
        raise Failure(f"IONOS API, {what}: a NIC has no properties; the next read asks again")
    if properties.get("lan") is not None and str(properties["lan"]) != str(lan):
        return None
    server = re.search(r"/servers/([^/?#]+)", text_field(item, "href"))
    found = addresses_of(needed(properties, what, "ips"), what) | addresses_of(properties.get("ipv6Ips"), what)
    return Nic(identifier(item, what), server.group(1).lower() if server else "", frozenset(found))


def addresses_of(entries: Any, what: str) -> set[str]:
    """Return addresses in canonical form. Null and empty entries are a NIC's that has none yet."""
    if entries is None:
        return set()
    malformed = Failure(f"IONOS API, {what}: a NIC has an address that is none; report it to IONOS")
    if not isinstance(entries, list):
        raise malformed
    try:
        # Only text: ip_address takes numbers for addresses.
        return {str(ipaddress.ip_address(entry.strip())) for entry in entries if entry}
    except (ValueError, AttributeError):
        raise malformed from None


def by_number(address: str) -> tuple[int, int]:
    """Order addresses as numbers, IPv4 first: the API's own order changes."""
    parsed = ipaddress.ip_address(address)
    return parsed.version, int(parsed)


class Cloud:
    """What the IONOS API knows of the servers on the private LAN."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.lan = api.settings.lan
        nics = self.read_nics()
        self.unusable = self.failover() | shared(nics)
        self.owned: dict[str, set[str]] = {}
        self.ownerless: list[Nic] = []
        for nic in nics:
            if nic.server:
                self.owned.setdefault(nic.server, set()).update(nic.addresses)
            else:
                self.ownerless.append(nic)

    def read_nics(self) -> list[Nic]:
        """Return the LAN's NICs by the cheapest call."""
        items = self.api.collection(f"NICs of LAN {self.lan}", f"lans/{self.lan}/nics", depth=1)
        return [nic for item in items if (nic := translate_nic(item, self.lan))]

    def failover(self) -> set[str]:
        """Return the addresses that move between servers, and so belong to none."""
        what = f"LAN {self.lan}"
        properties = field(self.api.get(what, f"lans/{self.lan}", depth=1), "properties")
        if not isinstance(properties, dict):
            raise Failure(f"IONOS API, {what}: the answer has no properties; the next read asks again")
        return addresses_of([entry.get("ip") for entry in objects(needed(properties, what, "ipFailover"))], what)

    @functools.cached_property
    def servers(self) -> list[dict[str, Any]]:
        """All servers with their NICs: the expensive call, made only if it is needed, and once."""
        return self.api.collection("servers", "servers", depth=3)

    @functools.cached_property
    def names(self) -> dict[str, list[str]]:
        """The servers of each name."""
        names: dict[str, list[str]] = {}
        for server in self.servers:
            name = needed(server, "servers", "properties", "name")
            names.setdefault(str(name or "").lower(), []).append(identifier(server, "servers"))
        return names

    def addresses(self, server: str) -> set[str]:
        """Return the addresses of a server, none where it has no NIC on the LAN."""
        if server not in self.owned and self.ownerless:
            self.find_owners()
        return self.owned.get(server, set()) - self.unusable

    def find_owners(self) -> None:
        """Find the servers of the NICs whose href does not tell. What is left is no server's."""
        nics = {nic.id: nic for nic in self.ownerless}
        self.ownerless = []
        for server in self.servers:
            cards = field(server, "entities", "nics")
            for card in items_of(cards, "IONOS API, NICs of a server", "the next read asks again"):
                if nic := nics.get(text_field(card, "id").lower()):
                    self.owned.setdefault(identifier(server, "servers"), set()).update(nic.addresses)

    def named(self, name: str) -> str:
        """Return the one server of that name, empty where there is none."""
        found = self.names.get(name.lower(), [])
        if len(found) > 1:
            raise Failure(f"node {name}: {len(found)} servers have this name, and nothing else tells which it is; "
                          f"rename one, or set the node's providerID or label {NODE_ID_LABEL}")
        return found[0] if found else ""


def shared(nics: Iterable[Nic]) -> set[str]:
    """Return the addresses that are on more than one NIC."""
    counts = Counter(address for nic in nics for address in nic.addresses)
    return {address for address, count in counts.items() if count > 1}


def resolve(workers: Iterable[Worker], cloud: Cloud) -> dict[str, str]:
    """Return the server of each node by the node's name. Two nodes cannot be one server."""
    servers: dict[str, str] = {}
    owners: dict[str, str] = {}
    for worker in workers:
        # What a node tells of itself is final, even if that server is gone: a
        # name may have passed to another one.
        server = worker.server or cloud.named(worker.name)
        servers[worker.name] = server
        if server and (other := owners.setdefault(server, worker.name)) != worker.name:
            raise Failure(f"nodes {other} and {worker.name} both map to one server; "
                          f"delete the stale node, or correct providerID or label {NODE_ID_LABEL}")
    return servers


# The inventory


def record(worker: Worker, server: str, addresses: list[str]) -> dict[str, Any]:
    """Return a node as docs/how-to/choose-a-source.md describes it; what is not known is left out."""
    made: dict[str, Any] = {"name": worker.name}
    if server:
        made["id"] = server
    if len(addresses) == 1:
        made["private_ip"] = addresses[0]
    else:
        made["private_ips"] = addresses
    if worker.zone:
        made["zone"] = worker.zone
    made.update(ready=worker.ready, worker=worker.worker)
    if worker.leaving:
        made["leaving"] = True
    return made


def render(records: list[dict[str, Any]]) -> str:
    """Return the array with a line for each node, ASCII only: no locale can spoil it."""
    return "[" + ",".join("\n  " + json.dumps(made) for made in records) + ("\n]\n" if records else "]\n")


def inventory(settings: Settings, budget: Budget) -> str:
    """Read both sides and join them."""
    workers = list_workers(settings, budget)
    backends = [worker for worker in workers if worker.backend()]
    cloud = Cloud(Api(settings, budget))
    servers = resolve(backends, cloud)
    records = []
    for worker in workers if settings.everyone else backends:
        server = servers.get(worker.name, "")
        kept = [a for a in cloud.addresses(server) if a.startswith(settings.prefix)] if server else []
        records.append(record(worker, server, sorted(kept, key=by_number)))
    return render(records)


# The program


class Parser(argparse.ArgumentParser):
    """Reports a mistake in one line, as everything else does."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage and exiting."""
        raise Failure(f"{message}; see --help", STATUS_USAGE)


def seconds_argument(text: str) -> float:
    """Parse --timeout."""
    if not re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,3})?", text) or not float(text):
        raise argparse.ArgumentTypeError("not a number of seconds, such as 15")
    return float(text)


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = Parser(
        prog="render_inventory.py", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Print the JSON inventory of the remote cluster's Ready workers with their private addresses.",
        allow_abbrev=False,
    )
    parser.add_argument("--kubectl", default="kubectl", metavar="PROGRAM",
                        help="kubectl, by name or path (default: kubectl)")
    parser.add_argument("--all", action="store_true",
                        help="list the nodes that are not Ready or no workers too, without addresses, "
                             "so that the daemon's explain can tell why they are not published")
    parser.add_argument("--timeout", type=seconds_argument, default=15.0, metavar="SECONDS",
                        help="bound of the whole run (default: 15); keep it below SOURCE_TIMEOUT")
    return parser.parse_args(arguments)


def complain(failure: Failure) -> None:
    """Print the reason in one printable line."""
    line = "".join(c if c.isprintable() else " " for c in str(failure))
    print("render_inventory: " + line[:MAX_LINE], file=sys.stderr, flush=True)


def unforeseen(err: BaseException) -> Failure:
    """Name an unexpected error by kind and line: its text could hold a secret."""
    trace, line = err.__traceback__, 0
    while trace:
        trace, line = trace.tb_next, trace.tb_lineno
    return Failure(f"internal error: {type(err).__name__} at line {line}; tell the authors of this script")


def print_whole(document: str) -> None:
    """Print the inventory. A reader that went away makes it a failure."""
    try:
        sys.stdout.write(document)
        sys.stdout.flush()
    except (OSError, AttributeError) as err:  # AttributeError: it was closed from the start
        raise Failure(f"standard output cannot be written: {os_reason(err)}; give it a reader") from None


def main(arguments: list[str]) -> int:
    """Run the program and return its exit status."""
    try:
        options = parse_arguments(arguments)
        settings = read_settings(os.environ, options.kubectl, options.all)
        budget = Budget(options.timeout)
        print_whole(bounded(lambda: inventory(settings, budget), budget))
        return 0
    except Failure as failure:
        complain(failure)
        return failure.status
    except KeyboardInterrupt:
        complain(Failure("interrupted; nothing was printed"))
        return STATUS_INTERRUPTED
    except Exception as err:  # noqa: BLE001 - no traceback may reach the user
        complain(unforeseen(err))
        return STATUS_FAILURE


if __name__ == "__main__":
    # Not sys.exit: a thread that was left behind must not delay the end, and
    # standard output was flushed, or is broken.
    exit_status = STATUS_FAILURE
    try:
        exit_status = main(sys.argv[1:])
    except SystemExit as end:  # --help
        sys.stdout.flush()
        exit_status = end.code if isinstance(end.code, int) else STATUS_FAILURE
    finally:
        os._exit(exit_status)
