#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A relay handed to nginx (answer.* = accel), with etc/nginx/balance-accel.conf as it is but for the places, and real
MapServer hosts behind. BUILD names the build folder."""

import http.server
import os
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib import client, fleet, processes, world  # noqa: E402
from lib.case import MAP, SceneCase, wait_until_usable  # noqa: E402
from lib.balancer import Balancer  # noqa: E402

KINDS = ("body", "private", "document", "long", "image", "data", "page")
LINES = "".join(f"answer.{kind} = accel\n" for kind in KINDS)


class Plain(http.server.BaseHTTPRequestHandler):
    """A host of our own that tells what it was asked, and fails as the query says."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.seen.append((self.command, self.path, body, self.headers))
        if "break" in self.path and self.server.breaks:
            self.close_connection = True
            return
        text = f"{self.command} {self.path} {len(body)}".encode()
        self.send_response(503 if "busy" in self.path and self.server.breaks else 200)
        self.send_header("Content-Type", "image/png" if "mode=map" in self.path else "text/xml")
        if "orders" in self.path:
            self.send_header("X-Accel-Redirect", "@balance_again")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_HEAD = answer

    def log_message(self, *_):
        pass


def front(scene, balancer, name="accel"):
    """nginx with the file of etc/ before balancer's socket; the port."""
    port = processes.free_port()
    folder = scene.path(name)
    os.makedirs(folder)
    with open(os.path.join(world.ROOT, "etc", "nginx", "balance-accel.conf"), encoding="utf-8") as file:
        text = file.read()
    text = text.replace("listen 80;", f"listen 127.0.0.1:{port};").replace("/run/balance/front.sock", balancer.socket)
    scene.write(f"{name}/balance-accel.conf", text)
    temporary = "".join(f"{k}_temp_path {folder}/{k};" for k in ("client_body", "fastcgi", "proxy", "scgi", "uwsgi"))
    user = "user root;" if os.geteuid() == 0 else ""
    main = scene.write(
        f"{name}/main.conf",
        f"{user} worker_processes 1; daemon off; pid {folder}/pid; events {{}}\n"
        f"http {{ access_log off; {temporary} include {folder}/balance-accel.conf; }}\n",
    )
    server = scene.start(f"{name}/server", ["nginx", "-e", f"{folder}/error.log", "-p", folder, "-c", main])
    server.wait_for(lambda: processes.answers("127.0.0.1", port), 5, "nginx")
    return port


class PlainHosts(SceneCase):
    @classmethod
    def build(cls):
        cls.servers = []
        for _ in range(2):
            server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Plain)
            server.seen, server.breaks, server.daemon_threads = [], False, True
            threading.Thread(target=server.serve_forever, daemon=True).start()
            cls.servers.append(server)
            cls.addClassCleanup(server.server_close)
            cls.addClassCleanup(server.shutdown)
        names = ("pinchot", "leopold")
        hosts = "".join(f"host = {n} http://127.0.0.1:{s.server_port} probe=none\n" for n, s in zip(names, cls.servers))
        dead = processes.free_port()
        cls.balancers = {}
        for name, lines in (
            ("both", hosts),
            # All requests go to a host that refuses first: nobody probes it.
            ("refusing", f"host = dead http://127.0.0.1:{dead} probe=none weight=1000\n" + hosts.replace("probe", "weight=0.001 probe")),
        ):
            balancer = Balancer(cls.scene, fleet.Fleet(cls.scene, 0), name=name, web=None, watch="none", lines=LINES)
            # Web checks would find the dead host before a request does.
            balancer.configuration = cls.scene.write(
                f"{name}/balance.conf", f"state-dir = {balancer.state_dir}-none/no\n{LINES}{lines}"
            )
            balancer.start()
            cls.balancers[name] = front(cls.scene, balancer, f"front-{name}")

    def setUp(self):
        for server in self.servers:
            server.seen.clear()
            server.breaks = False

    def ask(self, target, name="both", **how):
        return client.ask("127.0.0.1", self.balancers[name], target, **how)

    def seen(self):
        return [each for server in self.servers for each in server.seen]

    def test_a_host_gets_method_path_query_and_body_as_they_came(self):
        for method, body in (("GET", b""), ("POST", b"<GetFeature/>")):
            target = "/cgi-bin/mapserv/WORLD/a%2Fb?x=%0A%7E[1];+%2520&mode=map"
            answer = self.ask(target, method=method, body=body, headers=(("Content-Type", "text/xml"),))
            self.assertEqual(answer.body, f"{method} {target} {len(body)}".encode())
            self.assertIn(answer.header("X-Balance-Host"), ("pinchot", "leopold"))
            self.assertEqual(answer.header("Access-Control-Allow-Origin"), "*")
        self.assertEqual(len(self.seen()), 2)

    def test_nginx_asks_the_host_and_balance_says_for_whom(self):
        self.ask(
            "/cgi-bin/mapserv?mode=map",
            headers=(("Host", "maps.example.org"), ("X-Forwarded-Host", "evil.example"), ("X-Forwarded-For", "192.0.2.9")),
        )
        headers = self.seen()[0][3]
        self.assertEqual(headers["X-Forwarded-Host"], "maps.example.org")
        self.assertEqual(headers["X-Forwarded-For"], "127.0.0.1")
        self.assertEqual(headers["X-Forwarded-Proto"], "http")
        self.assertTrue(headers["Host"].startswith("127.0.0.1:"))

    def test_head_is_sent_as_get(self):
        answer = self.ask("/cgi-bin/mapserv?mode=map", method="HEAD")
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertEqual(self.seen()[0][0], "GET")

    def test_nothing_that_a_client_sends_chooses_the_host(self):
        evil = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Plain)
        evil.seen, evil.breaks = [], False
        threading.Thread(target=evil.serve_forever, daemon=True).start()
        self.addCleanup(evil.server_close)
        self.addCleanup(evil.shutdown)
        there = f"http://127.0.0.1:{evil.server_port}"
        headers = (
            ("X-Balance-To", there),
            ("X-Accel-Redirect", "@balance_host"),
            ("BALANCE_ACCEL", "@balance_again"),
            ("Balance-Accel", "@balance_again"),
            ("Balance-Failed", "pinchot; 502; -"),
            ("X-Upstream-Http-X-Balance-To", there),
        )
        for target in ("/cgi-bin/mapserv?mode=map", f"/cgi-bin/mapserv?mode=map&balance_to={there}", "/@balance_host", "/%40balance_host"):
            self.ask(target, headers=headers)
        self.assertEqual(evil.seen, [])

    def test_a_host_gives_no_orders_to_nginx(self):
        answer = self.ask("/cgi-bin/mapserv?mode=map&orders")
        self.assertEqual(answer.body, b"GET /cgi-bin/mapserv?mode=map&orders 0")
        self.assertIsNone(answer.header("X-Accel-Redirect"))

    def test_after_a_refused_connection_another_host_is_asked_whatever_the_request(self):
        for method, body in (("GET", b""), ("POST", b"<wfs:Transaction/>")):
            answer = self.ask("/cgi-bin/mapserv?service=WFS&request=GetCapabilities", "refusing", method=method, body=body, headers=(("Content-Type", "text/xml"),))
            self.assertEqual(answer.status, 200)
            self.assertIn(answer.header("X-Balance-Host"), ("pinchot", "leopold"))
        self.assertCountEqual([each[2] for each in self.seen()], [b"", b"<wfs:Transaction/>"])  # of two hosts, in no order

    def test_what_was_sent_is_sent_again_only_if_that_does_no_harm(self):
        self.servers[0].breaks = self.servers[1].breaks = True
        for target, method, body, times in (
            # libcurl may try a kept connection that was closed once more.
            ("/cgi-bin/mapserv?mode=map&break", "GET", b"", (2, 3)),
            ("/cgi-bin/mapserv?map=WORLD&break", "POST", b"<GetFeature/>", (2, 3)),
            ("/cgi-bin/mapserv?map=WORLD&break", "POST", b"<wfs:Transaction/>", (1,)),
            ("/cgi-bin/mapserv?map=WORLD&busy", "POST", b"<wfs:Transaction/>", (1,)),
        ):
            with self.subTest(body=body, target=target):
                self.setUp()
                self.servers[0].breaks = self.servers[1].breaks = True
                answer = self.ask(target, method=method, body=body, headers=(("Content-Type", "text/xml"),))
                self.assertEqual(answer.status, 502)
                self.assertIn(len(self.seen()), times)

    def test_a_host_that_is_too_busy_leaves_it_to_the_other(self):
        for breaking in (0, 1):
            self.servers[breaking].breaks, self.servers[1 - breaking].breaks = True, False
            for _ in range(6):
                self.assertEqual(self.ask("/cgi-bin/mapserv?mode=map&busy").status, 200)


class RealHosts(SceneCase):
    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 3).start()
        cls.balancer = Balancer(cls.scene, cls.fleet, web=None, lines=LINES).start()
        wait_until_usable(cls.balancer, 3)
        cls.port = front(cls.scene, cls.balancer)

    def test_no_request_fails_when_a_host_dies_under_load(self):
        outcomes, over = [], threading.Event()

        def ask():
            while not over.is_set():
                try:
                    answer = client.ask("127.0.0.1", self.port, MAP, timeout=20)
                    outcomes.append((answer.status, answer.body[:4]))
                except OSError as error:
                    outcomes.append(repr(error))

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(1.5)
        self.fleet.hosts[1].kill()
        time.sleep(3)
        over.set()
        for thread in threads:
            thread.join()
        failed = [outcome for outcome in outcomes if outcome != (200, b"\x89PNG")]
        self.assertEqual(failed, [], f"{len(failed)} of {len(outcomes)}")
        self.assertGreater(len(outcomes), 30)

    def test_capabilities_name_the_balancer(self):
        answer = client.ask("127.0.0.1", self.port, "/cgi-bin/mapserv?map=WORLD&service=WMS&request=GetCapabilities")
        self.assertIn(f'xlink:href="http://127.0.0.1:{self.port}/cgi-bin/mapserv?'.encode(), answer.body)


if __name__ == "__main__":
    unittest.main()
