# SPDX-License-Identifier: MIT
"""Relaying from hosts that are killed or stopped under load, and from hosts that break off."""

import http.client
import signal
import threading
import time

from lib import badhost, client, fleet, peers
from lib.balancer import Balancer, every_gateway
from lib.case import MAP, PNG, SceneCase, wait_until_usable


class Failing(SceneCase):
    """Three real hosts of which one fails under load, all requests relayed. nginx and HAProxy, with retries on, relay to
    the same hosts at the same time; what becomes of their requests is told, for comparison."""

    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 3, workers=2, first_address=34).start()
        cls.balancer = Balancer(
            cls.scene,
            cls.fleet,
            keep_connections=32,
            lines="mode = relay\n",
            sections="[relay]\nresponse-timeout = 3s\n",
        ).start()
        cls.ports = {"balance": cls.balancer.port}
        cls.ports["nginx"] = peers.nginx(cls.scene, cls.fleet.hosts)
        if peers.HAPROXY:
            cls.ports["haproxy"] = peers.haproxy(cls.scene, cls.fleet.hosts)
        wait_until_usable(cls.balancer, 3)

    def load(self, seconds, event):
        """Eight clients of the balancer and four of each peer for so long, with `event` after one second. By name:
        (begin, seconds, status, is a map) of each request, begin counted from the event."""
        end = time.monotonic() + seconds
        happened = time.monotonic() + 1
        outcomes = {name: [] for name in self.ports}

        def one_client(name):
            while time.monotonic() < end:
                began = time.monotonic()
                try:
                    answer = client.ask("127.0.0.1", self.ports[name], MAP, timeout=20)
                    came = (answer.seconds, answer.status, answer.body.startswith(PNG))
                except (OSError, http.client.HTTPException) as error:
                    came = (time.monotonic() - began, repr(error), False)
                outcomes[name].append((began - happened, *came))

        threads = [
            threading.Thread(target=one_client, args=(name,))
            for name in self.ports
            for _ in range(8 if name == "balance" else 4)
        ]
        for thread in threads:
            thread.start()
        time.sleep(max(0, happened - time.monotonic()))
        event()
        for thread in threads:
            thread.join()
        return outcomes

    def judge(self, what, outcomes):
        for name, requests in outcomes.items():
            failed = sum(status != 200 or not is_map for _, _, status, is_map in requests)
            late = [seconds for began, seconds, *_ in requests if began > 1]
            print(
                f"\n  {what}: {name}: {len(requests)} requests, {failed} failed, longest "
                f"{max(seconds for _, seconds, *_ in requests):.2f} s, {max(late):.2f} s from the next second on",
                end="",
                flush=True,
            )
        ours = outcomes["balance"]
        self.assertGreater(len(ours), 100)
        self.assertEqual([outcome for outcome in ours if outcome[2] != 200 or not outcome[3]], [])
        self.assertEqual([outcome for outcome in ours if outcome[1] > 3.5 and outcome[0] > 1], [])

    def test_a_host_killed_under_load_fails_nobody(self):
        victim = self.fleet.hosts[0]
        self.addCleanup(lambda: (victim.start(), wait_until_usable(self.balancer, 3)))
        self.judge("killed", self.load(6, victim.kill))

    def test_a_host_stopped_under_load_fails_nobody(self):
        victim = self.fleet.hosts[1]
        stopped = [*victim.mapserver.processes, victim.web.process, victim.probe]

        def signal_all(number):
            for process in stopped:
                process.signal(number)

        self.addCleanup(lambda: (signal_all(signal.SIGCONT), wait_until_usable(self.balancer, 3)))
        self.judge("stopped", self.load(10, lambda: signal_all(signal.SIGSTOP)))


def half(content_length):
    """Answers half of 100,000 bytes and closes."""

    def behave(connection, _head, _body):
        length = b"Content-Length: 100000\r\n" if content_length else b"Transfer-Encoding: chunked\r\n"
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n" + length + b"\r\n")
        connection.sendall((b"" if content_length else b"c350\r\n") + b"<x>" + b"y" * 49997)

    return behave


class Broken(SceneCase):
    """An answer that breaks off, under each web server: the client is to see it, and at once."""

    @classmethod
    def build(cls):
        cls.fronts = {}
        for name, content_length in (("length", True), ("chunks", False)):
            host = badhost.BadHost(half(content_length))
            cls.addClassCleanup(host.close)
            balancer = Balancer(
                cls.scene,
                badhost.BadFleet(host),
                web=None,
                name=name,
                watch="on-demand",
                host_options={host.name: "probe=none"},
                lines="mode = relay\n",
            )
            balancer.start()
            for server, front in every_gateway(cls.scene, balancer, name).items():
                cls.fronts[name, server] = front

    def test_half_an_answer_is_never_taken_for_a_whole_one(self):
        for (name, server), front in self.fronts.items():
            with self.subTest(answer=name, server=server):
                began = time.monotonic()
                try:
                    answer = client.ask("127.0.0.1", front.port, "/cgi-bin/mapserv?map=WORLD&request=GetFeature", timeout=5)
                    self.assertGreaterEqual(answer.status, 500)
                except (http.client.IncompleteRead, http.client.BadStatusLine, ConnectionError):
                    pass
                self.assertLess(time.monotonic() - began, 2)
