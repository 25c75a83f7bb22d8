#!/usr/bin/env python3
"""Tests of render_inventory.py against a fake IONOS API and a fake kubectl.

Run it alone, with a part of a test's name if you like (-k paging), or by go test.
"""

from __future__ import annotations

import contextlib
import email.utils
import http.server
import importlib.util
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import warnings
from typing import Any, Callable, NoReturn, Optional
from unittest import mock

sys.dont_write_bytecode = True  # nothing is left beside the script
SCRIPT = pathlib.Path(__file__).with_name("render_inventory.py")
CANARY = "eyJ0eXAiOiJKV1QifQ.c2VjcmV0LWNhbmFyeS1vZi10aGUtdGVzdA.Zm9yZ2VkLXNpZ25hdHVyZQ"
DC = "8feda53f-15f0-447f-badf-ebe32dad2fc0"
LAN = 2
NICS = f"lans/{LAN}/nics"
ALL_CALLS = {NICS, f"lans/{LAN}", "servers"}


def uuid(number: int) -> str:
    """Return the id of the numbered server."""
    return f"00000000-0000-4000-8000-{number:012d}"


def node(name: str, provider: str = "", **more: Any) -> dict[str, Any]:
    """Return a Node object: Ready, a worker, with nothing that tells its server but provider."""
    return {
        "metadata": {"name": name, "labels": more.get("labels", {}),
                     **({"deletionTimestamp": more["deleted"]} if "deleted" in more else {})},
        "spec": {"providerID": provider, "taints": [{"key": key} for key in more.get("taints", ())]},
        "status": {"nodeInfo": {"systemUUID": more.get("system", "")},
                   "conditions": [{"type": "Ready", "status": more.get("ready", "True")}]},
    }


def managed(number: int, **more: Any) -> dict[str, Any]:
    """Return the node of the numbered server, as managed clusters have it."""
    return node(f"w{number}", "ionos://" + uuid(number), **more)


class World:
    """The data centre: servers by number, and the LAN's NICs."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.nics: list[dict[str, Any]] = []
        self.failover: Any = []
        self.page = 1000
        self.links = True
        # broken replaces the answer to some paths, below the data centre.
        self.broken: dict[str, Callable[[http.server.BaseHTTPRequestHandler], None]] = {}
        self.requests: list[str] = []
        self.tokens: set[Optional[str]] = set()
        self.hosts: set[str] = set()

    def add(self, number: int, ips: Any = None, **more: Any) -> None:
        """Add a NIC, and the numbered server if there is none yet. By default it has 10.0.0.<number>."""
        self.names.setdefault(number, more.pop("name", f"server-{number}"))
        nic = f"nic-{len(self.nics)}"
        href = more.pop("href", f"https://api/cloudapi/v6/datacenters/{DC}/servers/{uuid(number)}/nics/{nic}")
        properties = {"lan": LAN, "ips": [f"10.0.0.{number}"] if ips is None else ips, "ipv6Ips": [], **more}
        self.nics.append({"id": nic, "type": "nic", "href": href, "server": number, "properties": properties})

    def answer(self, path: str, depth: int) -> Any:
        """Return the items of a collection, or a whole document."""
        if path == NICS:
            return [{**nic, "properties": nic["properties"] if depth >= 1 else None} for nic in self.nics]
        if path == f"lans/{LAN}":
            return {"id": str(LAN), "properties": {"public": False, "ipFailover": self.failover}}
        if path == "servers":
            return [{"id": uuid(number).upper(), "properties": {"name": name}, "entities": {"nics": {"items": [
                nic for nic in self.nics if nic["server"] == number] if depth >= 3 else None}}}
                for number, name in self.names.items()]
        return None


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as the IONOS API does, or as the world's broken says."""

    world: World

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def send(self, status: int, body: bytes, **headers: str) -> None:
        """Send an answer. Headers are spelt with underscores."""
        self.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:  # noqa: N802 - http.server's name
        """Answer one request."""
        url = urllib.parse.urlsplit(self.path)
        self.world.hosts.add(self.headers["Host"])
        self.world.tokens.add(self.headers["Authorization"])
        root = f"/cloudapi/v6/datacenters/{DC}/"
        path = url.path[len(root):] if url.path.startswith(root) else ""
        query = {key: int(value) for key, value in urllib.parse.parse_qsl(url.query) if value.isdigit()}
        self.world.requests.append(f"{path}@{query.get('offset', 0)}" if path != f"lans/{LAN}" else path)
        with contextlib.suppress(OSError):  # the script went away
            if path in self.world.broken:
                self.world.broken[path](self)
            else:
                self.answer(path, query)

    def answer(self, path: str, query: dict[str, int]) -> None:
        """Answer well."""
        if self.headers["Authorization"] != "Bearer " + CANARY:
            return self.send(401, b'{"messages": []}')
        document = self.world.answer(path, query.get("depth", 0))
        if document is None:
            return self.send(404, b'{"messages": []}')
        if isinstance(document, list):
            offset, limit = query.get("offset", 0), min(query.get("limit", 100), self.world.page)
            page = document[offset:offset + limit]
            more = offset + limit < len(document)
            links = {"_links": {"next": "https://elsewhere.invalid/"} if more else {}}
            document = {"id": "x", "items": page, "limit": limit, **(links if self.world.links else {})}
        self.send(200, json.dumps(document).encode())


def body(data: bytes, status: int = 200, **headers: str) -> Callable[[Handler], None]:
    """Break by a fixed answer."""
    return lambda handler: handler.send(status, data, **headers)


def truncated(handler: Handler) -> None:
    """Break by an answer that ends before its length. What there is is whole JSON."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100")
    handler.end_headers()
    handler.wfile.write(b'{"items": []}')


def cut_chunks(handler: Handler) -> None:
    """Break by a chunked answer without its last chunk."""
    handler.wfile.write(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nd\r\n{"items": []}\r\n')


def dropped(handler: Handler) -> None:
    """Break by closing the connection."""
    handler.connection.shutdown(socket.SHUT_RDWR)


def slow(handler: Handler) -> None:
    """Break by a byte now and then, for longer than any test waits."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    for _ in range(1200):
        handler.wfile.write(b" ")
        time.sleep(0.05)


def answer_page(handler: Handler, path: str) -> None:
    """Answer well, with pages of two items."""
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(handler.path).query)
    handler.answer(path, {"depth": 3, "limit": 2, "offset": int(query["offset"][0])})


def serve_runs(requests: socket.socket) -> NoReturn:
    """Run the script for each request, each time in a fork: an interpreter takes a tenth of a second to start."""
    code = compile(SCRIPT.read_text(), str(SCRIPT), "exec")
    script()  # so that what it imports is there in each fork
    warnings.simplefilter("ignore", ResourceWarning)  # as without unittest
    for line in requests.makefile():
        request = json.loads(line)
        if os.fork() == 0:
            with contextlib.suppress(BaseException):
                for fd, path in enumerate((os.devnull, request["stdout"], request["stderr"])):
                    os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), fd)
                os.environ.clear()
                os.environ.update(request["env"])
                sys.argv = [str(SCRIPT), *request["arguments"]]
                exec(code, {"__name__": "__main__", "__file__": str(SCRIPT)})  # ends by os._exit
            os._exit(99)
        requests.send(bytes([os.waitstatus_to_exitcode(os.wait()[1]) & 0xFF]))
    os._exit(0)


FAKE_KUBECTL = """#!/bin/sh
printf '%s\\n' "$@" >"$0.args"
env >"$0.env"
"""


class Case(unittest.TestCase):
    """A world with two servers, kubectl with their nodes, and a way to run the script."""

    runs: socket.socket

    @classmethod
    def setUpClass(cls) -> None:
        """Start what runs the script, before there are threads that a fork would lose."""
        cls.runs, other = socket.socketpair()
        cls.addClassCleanup(cls.runs.close)
        pid = os.fork()
        if pid == 0:
            cls.runs.close()
            serve_runs(other)
        other.close()
        cls.addClassCleanup(lambda: (cls.runs.shutdown(socket.SHUT_RDWR), os.waitpid(pid, 0)))
        cls.runs.settimeout(60)

    def setUp(self) -> None:
        """Start the fakes."""
        self.world = World()
        self.world.add(1)
        self.world.add(2)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"world": self.world}))
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.kubectl = self.folder / "kubectl"
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.env = {
            "PATH": f"{self.folder}:/usr/bin:/bin", "HOME": str(self.folder),
            "SECURED_KUBECONFIG": "/remote/kubeconfig", "IONOS_TOKEN": CANARY, "IONOS_API_URL": self.url,
            "IONOS_DATACENTER_ID": DC, "IONOS_PRIVATE_LAN_ID": str(LAN),
        }
        self.nodes(managed(1), managed(2))

    def nodes(self, *nodes: dict[str, Any]) -> None:
        """Set what kubectl lists."""
        (self.folder / "nodes.json").write_text(json.dumps({"kind": "List", "items": nodes}))
        self.kubectl_does(f'cat "{self.folder}/nodes.json"')

    def kubectl_does(self, script: str) -> None:
        """Set what kubectl does instead."""
        self.kubectl.write_text(FAKE_KUBECTL + script + "\n")
        self.kubectl.chmod(0o755)

    def run_script(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the script, and check what holds however it ends."""
        out, err = self.folder / "stdout", self.folder / "stderr"
        request = {"arguments": arguments, "env": self.env, "stdout": str(out), "stderr": str(err)}
        self.runs.sendall(json.dumps(request).encode() + b"\n")
        status = self.runs.recv(1)[0]
        done = subprocess.CompletedProcess(arguments, status, out.read_text(), err.read_text())
        self.assert_no_secret(done.stdout + done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        if done.returncode == 0:
            self.assertEqual(done.stderr, "")
        else:
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, r"\Arender_inventory: [^\n]+; [^\n]+\n\Z")
            self.assertNotIn("internal error", done.stderr)
        return done

    def assert_no_secret(self, text: str) -> None:
        """Check that no part of the token is in a text."""
        for i in range(len(CANARY) - 7):
            self.assertNotIn(CANARY[i:i + 8], text)

    def inventory(self, *arguments: str) -> list[dict[str, Any]]:
        """Run the script, which must succeed, and return what it prints."""
        done = self.run_script(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def addresses(self, *arguments: str) -> dict[str, list[str]]:
        """Return the addresses of each node that is printed."""
        return {r["name"]: r.get("private_ips", [r.get("private_ip")]) for r in self.inventory(*arguments)}

    def fails(self, *says: str, status: int = 1, arguments: tuple[str, ...] = ()) -> None:
        """Run the script, which must fail and say all this."""
        done = self.run_script(*arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        for part in says:
            self.assertIn(part, done.stderr)


class InventoryTest(Case):
    """What is printed when both sides answer."""

    def test_a_ready_worker_is_printed_with_all_that_is_known(self) -> None:
        labels = {"topology.kubernetes.io/zone": "de-fra-1"}
        self.nodes(managed(1, labels=labels), managed(2))
        self.assertEqual(self.inventory(), [
            {"name": "w1", "id": uuid(1), "private_ip": "10.0.0.1", "zone": "de-fra-1", "ready": True, "worker": True},
            {"name": "w2", "id": uuid(2), "private_ip": "10.0.0.2", "ready": True, "worker": True},
        ])

    def test_same_world_same_bytes(self) -> None:
        first = self.run_script().stdout
        self.world.nics.reverse()
        self.nodes(managed(2), managed(1))
        self.assertEqual(self.run_script().stdout, first)

    def test_a_cluster_without_nodes_is_an_empty_array(self) -> None:
        self.nodes()
        self.assertEqual(self.run_script().stdout, "[]\n")

    def test_only_ready_workers_are_printed(self) -> None:
        self.nodes(
            managed(1),
            node("unready", "ionos://" + uuid(2), ready="False"),
            node("unknown", ready="Unknown"),
            node("master", labels={"node-role.kubernetes.io/control-plane": ""}),
            node("old-master", labels={"node-role.kubernetes.io/master": "true"}),
            node("tainted", taints=["node-role.kubernetes.io/control-plane"]),
            node("excluded", labels={"node.kubernetes.io/exclude-from-external-load-balancers": "false"}),
            {"metadata": {"name": "newborn"}},
        )
        self.assertEqual(self.addresses(), {"w1": ["10.0.0.1"]})
        listed = {r["name"]: (r["ready"], r["worker"], r.get("private_ips")) for r in self.inventory("--all")}
        self.assertEqual(listed, {
            "w1": (True, True, None),
            "unready": (False, True, []), "unknown": (False, True, []), "newborn": (False, True, []),
            "master": (True, False, []), "old-master": (True, False, []), "tainted": (True, False, []),
            "excluded": (True, False, []),
        })

    def test_a_node_that_is_announced_to_go_is_leaving(self) -> None:
        self.nodes(managed(1, taints=["ToBeDeletedByClusterAutoscaler"]), managed(2, deleted="2026-11-20T00:00:00Z"),
                   node("cordoned", "ionos://" + uuid(3), taints=["node.kubernetes.io/unschedulable"]))
        leaving = {r["name"]: r.get("leaving") for r in self.inventory()}
        self.assertEqual(leaving, {"w1": True, "w2": True, "cordoned": None})

    def test_the_prefix_chooses_among_the_addresses(self) -> None:
        self.world.add(3, ["10.0.1.3", "10.0.0.30", None, "", "10.0.0.4", "100.0.0.3"], ipv6Ips=["fd00:10::3", None])
        self.world.add(4, ["10.0.1.4"])
        self.nodes(managed(3), managed(4))
        self.assertEqual(self.addresses(), {"w3": ["10.0.0.4", "10.0.0.30"], "w4": []})
        self.env["SECURED_SUBNET_PREFIX"] = "10.0.1."
        self.assertEqual(self.addresses(), {"w3": ["10.0.1.3"], "w4": ["10.0.1.4"]})
        self.env["SECURED_SUBNET_PREFIX"] = "FD00:10:"
        self.assertEqual(self.addresses(), {"w3": ["fd00:10::3"], "w4": []})
        self.env["SECURED_SUBNET_PREFIX"] = " "
        self.assertEqual(self.addresses()["w3"], ["10.0.0.4", "10.0.0.30"])

    def test_a_node_without_an_address_is_no_error(self) -> None:
        self.world.add(3, [])
        self.world.add(4, [None, ""])
        self.world.nics[3]["properties"]["ips"] = None
        self.world.add(5, ["10.0.0.5"], lan=3)
        self.world.add(6, ["10.0.0.6"], lan=None)
        self.nodes(managed(3), managed(4), managed(5), managed(6), managed(7))
        self.assertEqual(self.addresses(), {"w3": [], "w4": [], "w5": [], "w6": ["10.0.0.6"], "w7": []})

    def test_addresses_that_move_are_left_out(self) -> None:
        self.world.failover = [{"ip": "10.0.0.100", "nicUuid": "nic-0"}, {"ip": None}, None, {}]
        self.world.nics[0]["properties"]["ips"] = ["10.0.0.100", "10.0.0.1", "10.0.0.101"]
        self.world.nics[1]["properties"]["ips"] = ["10.0.0.101", "10.0.0.2", "10.0.0.2"]
        self.assertEqual(self.addresses(), {"w1": ["10.0.0.1"], "w2": ["10.0.0.2"]})
        self.world.failover = None
        self.assertEqual(self.addresses(), {"w1": ["10.0.0.1", "10.0.0.100"], "w2": ["10.0.0.2"]})

    def test_two_nics_of_one_server_are_one_node(self) -> None:
        self.world.add(1, ["10.0.0.11"])
        self.assertEqual(self.addresses(), {"w1": ["10.0.0.1", "10.0.0.11"], "w2": ["10.0.0.2"]})


class MappingTest(Case):
    """From a node to its server. Server 1 is called like node x, and server 2 is the wrong one."""

    def setUp(self) -> None:
        """Name the servers."""
        super().setUp()
        self.world.names = {1: "X", 2: "y"}

    def test_each_way_alone_and_contradicted_by_all_below(self) -> None:
        label = "enterprise.cloud.ionos.com/node-id"
        right, wrong, gone = uuid(1), uuid(2), uuid(9)
        for title, made, want in [
            ("managed", node("n", "ionos://" + right), 1),
            ("managed, capitals", node("n", "IONOS://" + right.upper()), 1),
            ("gardener", node("n", f"ionos:///{DC}/{right}"), 1),
            ("label", node("n", labels={label: right.upper()}), 1),
            ("label, foreign provider", node("n", "aws:///eu/i-1", labels={label: right}), 1),
            ("label, provider without server", node("n", "ionos://", labels={label: right}), 1),
            ("system, foreign provider with the id of a machine", node("n", "openstack:///" + wrong, system=right), 1),
            ("name, foreign provider with the id of a machine", node("x", "openstack:///eu/" + wrong), 1),
            ("system", node("n", system=right.upper()), 1),
            ("name", node("x"), 1),
            ("provider beats all", node("y", "ionos://" + right, labels={label: wrong}, system=wrong), 1),
            ("label beats system and name", node("y", labels={label: right}, system=wrong), 1),
            ("system beats name", node("y", system=right), 1),
            ("gardener, slash at the end", node("n", f"ionos:///{DC}/{right}/"), 1),
            ("name where firmware has no id", node("x", system="ffffffff-ffff-ffff-ffff-ffffffffffff"), 1),
            ("name where ids are none", node("x", "k3s://x", labels={label: "x"}, system="Not Specified"), 1),
            ("provider of a server that is gone", node("x", "ionos://" + gone, labels={label: right}, system=right), 9),
            ("system of a server that is gone", node("x", system=gone), 9),
            ("nothing", node("nobody"), 0),
        ]:
            with self.subTest(title):
                self.nodes(made)
                found = self.inventory()[0]
                self.assertEqual(found.get("id"), uuid(want) if want else None)
                self.assertEqual(found.get("private_ip"), "10.0.0.1" if want == 1 else None)

    def test_the_expensive_call_is_made_only_when_it_is_needed_and_once(self) -> None:
        self.nodes(managed(1), node("n", system=uuid(2)))
        self.inventory()
        self.assertEqual(self.world.requests, [NICS + "@0", f"lans/{LAN}"])
        self.nodes(node("x"), node("y"), node("z"))
        self.inventory()
        self.assertEqual(self.world.requests[2:], [NICS + "@0", f"lans/{LAN}", "servers@0"])

    def test_an_ambiguous_name_is_an_error(self) -> None:
        self.world.names[2] = "x"
        self.nodes(managed(1), managed(2))
        self.assertEqual(len(self.inventory()), 2, "no request asks for the name")
        self.nodes(node("x"))
        self.fails("node x: 2 servers have this name", "providerID")

    def test_two_nodes_on_one_server_are_an_error(self) -> None:
        self.nodes(node("a", "ionos://" + uuid(1)), node("b", "ionos://" + uuid(1)))
        self.fails("nodes a and b both map to one server", "stale")
        self.nodes(node("a", "ionos://" + uuid(1)), node("b", "ionos://" + uuid(1), ready="False"))
        self.assertEqual(self.addresses(), {"a": ["10.0.0.1"]}, "a machine that joined under another name")

    def test_a_nic_whose_href_names_no_server_is_found_by_the_expensive_call(self) -> None:
        self.world.add(3, href="https://api/cloudapi/v6/datacenters/x/lans/2/nics/3")
        self.world.add(4, href=None)
        self.world.add(5, href="")
        self.world.nics[4]["server"] = 99  # of a load balancer, say
        self.assertEqual(self.addresses(), {"w1": ["10.0.0.1"], "w2": ["10.0.0.2"]})
        self.assertEqual(self.world.requests, [NICS + "@0", f"lans/{LAN}"], "no request asks for those")
        self.nodes(managed(3), managed(4), managed(5))
        self.assertEqual(self.addresses(), {"w3": ["10.0.0.3"], "w4": ["10.0.0.4"], "w5": []})


class PagingTest(Case):
    """Collections that do not fit on a page."""

    def setUp(self) -> None:
        """Fill three pages of two and a half."""
        super().setUp()
        for number in (3, 4, 5):
            self.world.add(number)
        self.nodes(*(managed(number) for number in range(1, 6)))
        self.want = {f"w{number}": [f"10.0.0.{number}"] for number in range(1, 6)}

    def test_all_pages_are_read_from_the_api_itself(self) -> None:
        self.world.page = 2
        self.assertEqual(self.addresses(), self.want)
        self.assertEqual(self.world.requests[:3], [f"{NICS}@{offset}" for offset in (0, 2, 4)])

    def test_the_servers_are_paged_too(self) -> None:
        self.world.page = 2
        self.nodes(node("server-5"))
        self.assertEqual(self.addresses(), {"server-5": ["10.0.0.5"]})

    def test_a_page_that_fails_leaves_no_page_before(self) -> None:
        self.world.page = 2

        def fail_later(handler: Handler) -> None:
            if "offset=2" in handler.path:
                handler.send(503, b"")
            else:
                handler.answer(NICS, {"depth": 1, "limit": 2})

        self.world.broken[NICS] = fail_later
        self.fails("NICs of LAN 2", "503")

    def goes_between(self, path: str) -> None:
        """Let server 1 go when the second page of a list is asked for."""

        def answer(handler: Handler) -> None:
            if "offset=2" in handler.path:
                self.world.broken = {}
                self.world.names.pop(1)
                self.world.nics = [nic for nic in self.world.nics if nic["server"] != 1]
            answer_page(handler, path)

        self.world.broken[path] = answer

    def test_what_moves_to_a_page_that_was_read_is_not_lost(self) -> None:
        self.world.page = 2
        self.want.pop("w1")
        self.nodes(*(managed(number) for number in range(2, 6)))
        self.goes_between(NICS)
        self.assertEqual(self.addresses(), self.want)

    def test_a_name_that_moves_to_a_page_that_was_read_is_not_lost(self) -> None:
        self.world.page = 2
        self.nodes(*(node(f"server-{number}") for number in range(2, 6)))
        self.goes_between("servers")
        self.assertEqual(self.addresses(), {f"server-{number}": [f"10.0.0.{number}"] for number in range(2, 6)})

    def test_a_second_reading_that_fails_is_a_failure(self) -> None:
        self.world.page = 2
        calls: list[str] = []

        def fail_later(handler: Handler) -> None:
            calls.append(handler.path)
            if len(calls) == 4:
                handler.send(503, b"")
            else:
                answer_page(handler, NICS)

        self.world.broken[NICS] = fail_later
        self.fails("NICs of LAN 2", "503")

    def test_pages_that_repeat_are_an_error_and_no_endless_loop(self) -> None:
        self.world.page = 2
        self.world.broken[NICS] = lambda handler: handler.answer(NICS, {"depth": 1, "limit": 2})
        self.fails("nothing new")

    def test_without_links_a_full_page_is_followed(self) -> None:
        for number in range(6, 1002):
            self.world.add(number, [f"10.0.{number >> 8}.{number & 255}"])
        self.world.links = False
        self.nodes(managed(1), managed(1001))
        self.env["SECURED_SUBNET_PREFIX"] = "10.0."
        self.assertEqual(self.addresses(), {"w1": ["10.0.0.1"], "w1001": ["10.0.3.233"]})
        self.assertEqual(self.world.requests[:2], [f"{NICS}@0", f"{NICS}@1000"])

    def test_without_links_the_limit_in_the_answer_says_what_is_full(self) -> None:
        self.world.links = False
        self.world.page = 2
        self.assertEqual(self.addresses(), self.want)

    def test_a_thousand_servers_take_one_request_for_the_nics(self) -> None:
        for number in range(6, 1001):
            self.world.add(number, [f"10.0.{number >> 8}.{number & 255}"])
        self.nodes(managed(1))
        self.inventory()
        self.assertEqual(self.world.requests, [NICS + "@0", f"lans/{LAN}"])


class MisbehaviourTest(Case):
    """Every way in which the API can fail, at each call. None may yield a shorter list."""

    def setUp(self) -> None:
        """Make the third call necessary."""
        super().setUp()
        self.nodes(managed(1), node("server-2"))

    def tearDown(self) -> None:
        """Check that nothing of the failure stays when the world is repaired."""
        self.world.broken = {}
        self.env["IONOS_API_URL"] = self.url
        self.assertEqual(len(self.inventory()), 2)

    def breaks(self, how: Callable[[Handler], None], *says: str, **options: Any) -> None:
        """Break each call in turn."""
        for path in sorted(ALL_CALLS):
            with self.subTest(path):
                self.world.broken = {path: how}
                self.fails("IONOS API, ", *says, **options)

    def test_401(self) -> None:
        self.breaks(body(CANARY.encode(), 401, X_Token=CANARY), "status 401", "renew it in IONOS_TOKEN")

    def test_403(self) -> None:
        self.breaks(body(b"{}", 403), "status 403", "IONOS_DATACENTER_ID")

    def test_404(self) -> None:
        self.breaks(body(b"{}", 404), "status 404", "IONOS_PRIVATE_LAN_ID")

    def test_429_with_seconds(self) -> None:
        self.breaks(body(b"", 429, Retry_After="60"), "status 429", "Retry-After: 60 s")

    def test_429_with_a_date(self) -> None:
        for usegmt in (True, False):
            date = email.utils.formatdate(time.time() + 3600, usegmt=usegmt)
            self.breaks(body(b"", 429, Retry_After=date), "status 429", "Retry-After: 3")

    def test_429_with_nonsense(self) -> None:
        for header in ("-5", CANARY, "Fri, 99 Nov 2026", "9" * 400, ""):
            self.breaks(body(b"", 429, Retry_After=header), "too many requests; ")

    def test_5xx(self) -> None:
        for status in (500, 502, 503, 504):
            self.breaks(body(b"<html>" + CANARY.encode(), status, Content_Type="text/html", Retry_After="7"),
                        f"status {status}", "Retry-After: 7 s")

    def test_other_statuses(self) -> None:
        for status in (202, 204, 206, 304, 400, 418):
            self.breaks(body(b"", status), f"status {status}")

    def test_html(self) -> None:
        self.breaks(body(b"<html>" + CANARY.encode()), "not whole JSON")

    def test_empty(self) -> None:
        self.breaks(body(b""), "the answer is empty")
        self.breaks(body(b" \n"), "the answer is empty")

    def test_documents_that_are_no_list(self) -> None:
        for document in (b"null", b"{}", b"[]", b"7", b'"x"', b'{"items": null}', b'{"items": {}}',
                         b'{"items": [null]}', b'{"items": [[]]}', b'{"items": [{}]}',
                         b'{"properties": null}', b'{"properties": []}'):
            self.breaks(body(document), "IONOS API")

    def test_malformed_documents(self) -> None:
        whole = b'{"items": []}'
        for document in (whole[:-2], whole + b" x", whole + whole, b"\xff\xfe", b"[" * 100_000):
            self.breaks(body(document), "not whole JSON")

    def test_truncated(self) -> None:
        self.breaks(truncated, "within the answer")

    def test_chunks_cut_off(self) -> None:
        self.breaks(cut_chunks, "within the answer")

    def test_dropped(self) -> None:
        self.breaks(dropped, "dropped", "network")

    def test_no_http(self) -> None:
        self.breaks(lambda handler: handler.wfile.write(CANARY.encode() + b"\r\n\r\n"), "does not speak HTTP")

    def test_too_large(self) -> None:
        self.breaks(body(b'{"items": []' + b" " * (32 << 20) + b"}"), "over 32 MiB")

    def test_slow(self) -> None:
        began = time.monotonic()
        self.breaks(slow, "not finished within 2 s", "SOURCE_TIMEOUT", status=124, arguments=("--timeout", "2"))
        self.assertLess(time.monotonic() - began, 30)

    def test_redirects_are_refused_and_the_token_stays(self) -> None:
        for status in (301, 302, 303, 307, 308):
            elsewhere = self.url.replace("127.0.0.1", "localhost") + "/stolen"
            self.breaks(body(b"", status, Location=elsewhere), f"status {status}", "redirect", "IONOS_API_URL")
        self.breaks(body(b"", 302, Location="http://[" + CANARY), "status 302")
        self.assertFalse([host for host in self.world.hosts if host.startswith("localhost")])

    def test_nics_that_are_not_understood(self) -> None:
        for properties in (None, [], {"ips": {}}, {"ips": "10.0.0.1"}, {"ips": [CANARY]}, {"ips": [7]},
                           {"ips": [["10.0.0.1"]]}, {"ips": ["10.0.0.1/24"]}, {"ips": [], "ipv6Ips": ["x"]}):
            with self.subTest(properties):
                document = {"items": [{"id": "n", "properties": properties}]}
                self.world.broken = {NICS: body(json.dumps(document).encode())}
                self.fails("NICs of LAN 2", "NIC")

    def test_documents_that_lack_a_field(self) -> None:
        """What is not said is not the same as null: a node could look as if it had no address."""
        self.world.add(3, href="")
        for path, document, says in (
            (NICS, {"items": [{"id": "n", "properties": {"lan": LAN}}]}, "ips"),
            (f"lans/{LAN}", {"properties": {"public": False}}, "ipFailover"),
            ("servers", {"items": [{"id": uuid(2), "properties": {}}]}, "properties.name"),
            ("servers", {"items": [{"id": uuid(3), "properties": {"name": "x"}, "entities": {"nics": None}}]}, "NICs of a server"),
        ):
            with self.subTest(says):
                self.nodes(managed(1), managed(3) if says == "NICs of a server" else node("server-2"))
                self.world.broken = {path: body(json.dumps(document).encode())}
                self.fails(says)

    def test_nobody_listens(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.env["IONOS_API_URL"] = f"http://127.0.0.1:{free.getsockname()[1]}"
            self.fails("refused or dropped", "IONOS_API_URL")

    def test_no_such_host(self) -> None:
        self.env["IONOS_API_URL"] = "https://api.invalid"
        self.fails("NICs of LAN 2", "IONOS_API_URL")

    def test_no_tls(self) -> None:
        self.env["IONOS_API_URL"] = self.url.replace("http:", "https:")
        self.fails("TLS fails")


class KubectlTest(Case):
    """How kubectl is run, and how it fails."""

    def test_the_command(self) -> None:
        self.env.update(SECURED_KUBECTL_CONTEXT="far away", SECURED_NODE_SELECTOR="pool=web,!x", KUBECONFIG="/local",
                        KUBERNETES_SERVICE_HOST="10.0.0.1", IONOS_PASSWORD="x")
        self.nodes(managed(1, labels={"node-role.kubernetes.io/control-plane": ""}))
        self.assertEqual(self.addresses(), {"w1": ["10.0.0.1"]}, "a selector alone decides who is a worker")
        arguments = pathlib.Path(str(self.kubectl) + ".args").read_text().splitlines()
        self.assertRegex(arguments.pop(5), r"\A--request-timeout=1[0-5]s\Z")
        self.assertEqual(arguments, ["--kubeconfig=/remote/kubeconfig", "--context=far away", "get", "nodes",
                                     "--output=json", "--selector=pool=web,!x"])
        environment = pathlib.Path(str(self.kubectl) + ".env").read_text()
        self.assertIn("HOME=", environment)
        for hidden in ("IONOS_", "KUBECONFIG=/local", "KUBERNETES_SERVICE_", CANARY):
            self.assertNotIn(hidden, environment)

    def test_without_a_context_kubectl_chooses(self) -> None:
        self.inventory()
        self.assertNotIn("--context", pathlib.Path(str(self.kubectl) + ".args").read_text())

    def test_another_kubectl(self) -> None:
        self.kubectl.rename(self.folder / "k2")
        with mock.patch.dict(self.env, PATH=str(self.folder)):
            self.fails("kubectl cannot be started: no such file or directory", "--kubectl")
        self.assertEqual(len(self.inventory("--kubectl", "k2")), 2)
        self.assertEqual(len(self.inventory(f"--kubectl={self.folder}/k2")), 2)

    def test_failures(self) -> None:
        for script, says in {
            "echo trying >&2; echo 'error: no context \"x\"' >&2; exit 1": 'exit status 1: error: no context "x"',
            'cat "$(dirname "$0")/nodes.json"; exit 3': "exit status 3: it says nothing",
            "kill -9 $$": "ended by signal 9",
            f"echo 'Bearer {CANARY}' >&2; exit 1": "withheld",
            f"echo 'Bearer {CANARY[5:20]}' >&2; exit 1": "withheld",
            "printf '\\033[31mred\\007\\n' >&2; exit 1": "red",
            "true": "the answer is empty",
            "echo No resources found": "not whole JSON",
            "echo '{\"items\": [{\"metadata\"'": "not whole JSON",
            "echo null": "no list of items",
            "echo '{\"items\": null}'": "no list of items",
            "echo '{\"items\": [{}]}'": "a node has no name",
            "echo '{\"items\": [{\"metadata\": {\"name\": 7}}]}'": "a node has no name",
        }.items():
            with self.subTest(script):
                self.kubectl_does(script)
                self.fails("kubectl: ", says)
        self.assertEqual(self.world.requests, [], "without nodes there is nothing to ask for")

    def test_a_kubectl_that_hangs_is_ended(self) -> None:
        self.kubectl_does('echo $$ >"$0.pid"; exec sleep 600')
        self.fails("kubectl get nodes was not finished within 3 s", status=124, arguments=("--timeout", "3"))
        pid = int(pathlib.Path(str(self.kubectl) + ".pid").read_text())
        for _ in range(500):
            if not alive(pid):
                return
            time.sleep(0.01)
        self.fail("kubectl is still there")

    def test_much_on_standard_error_blocks_nothing(self) -> None:
        self.kubectl_does(f'head -c 1000000 /dev/zero | tr "\\0" w >&2; cat "{self.folder}/nodes.json"')
        self.assertEqual(len(self.inventory()), 2)


def alive(pid: int) -> bool:
    """Report whether a process runs; one that is dead and not yet collected does not."""
    try:
        os.kill(pid, 0)
        return "State:\tZ" not in pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


class SettingsTest(Case):
    """Variables and arguments: every mistake is told before anything is asked."""

    def tearDown(self) -> None:
        """Check that no request was made."""
        self.assertEqual(self.world.requests, [])

    def test_each_missing_variable_is_named(self) -> None:
        for name in ("SECURED_KUBECONFIG", "IONOS_DATACENTER_ID", "IONOS_PRIVATE_LAN_ID", "IONOS_TOKEN"):
            for value in (None, "", "  "):
                with self.subTest(name=name, value=value), mock.patch.dict(self.env):
                    del self.env[name]
                    if value is not None:
                        self.env[name] = value
                    self.fails(name, "not set", "--help", status=2)

    def test_all_missing_variables_are_told_together(self) -> None:
        self.env = {"PATH": "/usr/bin"}
        self.fails("SECURED_KUBECONFIG, IONOS_DATACENTER_ID, IONOS_PRIVATE_LAN_ID, "
                   "IONOS_TOKEN (or IONOS_TOKEN_FILE) not set", status=2)

    def test_wrong_values_are_told_and_not_quoted(self) -> None:
        for name, values in {
            "IONOS_PRIVATE_LAN_ID": ["two", "-1", "0", "2.0", "²", CANARY],
            "IONOS_DATACENTER_ID": ["a/b", "..", "a b", CANARY],
            "IONOS_API_URL": ["ftp://x", "https://", "https://u:p@x", "https://x?y", "https://x#y", "https://[x",
                              "https://x:y", "https://é", "https://x y", "https://" + CANARY + "@x"],
            "SECURED_SUBNET_PREFIX": ["10.0.0.0/24", "10.0.0.*", "10.0.0.,10.0.1.", CANARY],
            "IONOS_TOKEN": ["Bearer " + CANARY, CANARY + "\nx", "é"],
        }.items():
            for value in values:
                with self.subTest(name=name, value=value), mock.patch.dict(self.env, {name: value}):
                    self.fails(name, status=2)

    def test_a_token_file_that_cannot_be_used(self) -> None:
        del self.env["IONOS_TOKEN"]
        path = self.folder / "token"
        self.env["IONOS_TOKEN_FILE"] = str(path)
        self.fails("IONOS_TOKEN_FILE cannot be read: no such file", status=2)
        for content in ("", "\n", CANARY + " " + CANARY, "x" * 70_000):
            path.write_text(content)
            self.fails("IONOS_TOKEN_FILE", status=2)
        self.env["IONOS_TOKEN_FILE"] = str(self.folder)
        self.fails("IONOS_TOKEN_FILE cannot be read: is a directory", status=2)

    def test_arguments(self) -> None:
        for arguments in (("x",), ("--nodes",), ("--timeout", "0"), ("--timeout", "-1"), ("--timeout", "nan"),
                          ("--kubectl",)):
            self.fails("--help", status=2, arguments=arguments)

    def test_help_names_every_variable(self) -> None:
        self.env = {"PATH": "/usr/bin"}
        text = self.run_script("--help").stdout
        for name in ("SECURED_KUBECONFIG", "SECURED_KUBECTL_CONTEXT", "SECURED_NODE_SELECTOR", "SECURED_SUBNET_PREFIX",
                     "IONOS_TOKEN_FILE", "IONOS_DATACENTER_ID", "IONOS_PRIVATE_LAN_ID", "IONOS_API_URL"):
            self.assertIn(name, text)


class SurroundingsTest(Case):
    """Tokens, proxies, outputs, signals."""

    def test_a_token_of_a_file_is_trimmed_and_read_anew(self) -> None:
        del self.env["IONOS_TOKEN"]
        path = self.folder / "token"
        self.env["IONOS_TOKEN_FILE"] = str(path)
        path.write_text("old\n")
        self.fails("status 401")
        path.write_text(f" {CANARY}\r\n")
        self.assertEqual(len(self.inventory()), 2)

    def test_the_token_alone_wins_over_its_file(self) -> None:
        self.env["IONOS_TOKEN_FILE"] = "/nowhere"
        self.assertEqual(len(self.inventory()), 2)
        self.assertEqual(self.world.tokens, {"Bearer " + CANARY})

    def test_spellings_of_the_url(self) -> None:
        for suffix in ("", "/", "/cloudapi/v6", "/cloudapi/v6/"):
            self.env["IONOS_API_URL"] = self.url + suffix
            self.assertEqual(len(self.inventory()), 2, suffix)
        self.assertEqual(script().api_base("api.example"), "https://api.example/cloudapi/v6")

    def test_the_lan_is_a_number_however_it_is_spelt(self) -> None:
        self.env["IONOS_PRIVATE_LAN_ID"] = " 02 "
        self.assertEqual(len(self.inventory()), 2)

    def test_a_proxy_is_used_and_can_be_avoided(self) -> None:
        self.env.update(IONOS_API_URL="http://api.invalid", http_proxy=self.url)
        self.assertEqual(len(self.inventory()), 2)
        self.assertEqual(self.world.hosts, {"api.invalid"})
        self.env.update(IONOS_API_URL=self.url, http_proxy="http://127.0.0.1:1", no_proxy="127.0.0.1")
        self.assertEqual(len(self.inventory()), 2)

    def test_a_proxy_that_refuses_is_named_without_its_words(self) -> None:
        self.env.update(IONOS_API_URL="https://api.invalid", HTTPS_PROXY=self.url.replace("//", "//user:pa55word@"))
        done = self.run_script()
        self.assertIn("the proxy answers status 501", done.stderr)
        self.assertNotIn("pa55word", done.stderr)

    def test_an_output_that_takes_nothing_is_a_failure(self) -> None:
        with open("/dev/full", "wb") as full:
            done = subprocess.run([sys.executable, str(SCRIPT)], env=self.env, stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=60, check=False)
        want = "render_inventory: standard output cannot be written: no space left on device; give it a reader\n"
        self.assertEqual((done.returncode, done.stderr), (1, want))

    def test_an_interrupt_is_no_traceback(self) -> None:
        self.kubectl_does('echo >"$0.there"; exec sleep 600')
        with subprocess.Popen([sys.executable, str(SCRIPT)], env=self.env, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            while not pathlib.Path(str(self.kubectl) + ".there").exists():
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            output, error = process.communicate(timeout=30)
        want = "render_inventory: interrupted; nothing was printed\n"
        self.assertEqual((process.returncode, output, error), (130, "", want))

    def test_what_nobody_thought_of_is_told_without_its_words(self) -> None:
        module = script()
        try:
            raise RuntimeError(CANARY)
        except RuntimeError as err:
            text = str(module.unforeseen(err))
        self.assert_no_secret(text)
        self.assertRegex(text, "RuntimeError at line [0-9]+; ")


def script() -> Any:
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("render_inventory", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    with mock.patch.dict(sys.modules, {"render_inventory": module}):  # dataclasses look there
        spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    unittest.main()
