# SPDX-License-Identifier: MIT
"""Each line of queries.txt goes through a real web server, balance and the redirect or the relay to a real MapServer
host, and its bytes are looked for in that host's log. What the web server in front changes or refuses by itself is taken from an echo
program behind the same server."""

import unittest

from lib import client, echo, fleet, processes, webservers, world
from lib.balancer import Balancer
from lib.case import SceneCase, wait_until_usable

# Bytes that may not stand in a URI in a header: RFC 3986 2 leaves these out.
ILLEGAL = bytes(range(0x21)) + b'"#<>\\^`{|}' + bytes(range(0x7F, 0x100))


def encoded(query):
    return b"".join(b"%%%02X" % byte if byte in ILLEGAL else bytes([byte]) for byte in query)


class Queries(SceneCase):
    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 1, workers=2, first_address=15).start()
        cls.host = cls.fleet.hosts[0]
        cls.balancer = Balancer(cls.scene, cls.fleet, web=None, address="127.0.0.1").start()
        cls.echo = echo.Echo(cls.scene.path("echo.sock"))
        cls.addClassCleanup(cls.echo.close)

    def front(self, kind):
        """A web server with balance at /cgi-bin/mapserv and the echo at /cgi-bin/echo."""
        server = webservers.KINDS[kind](
            self.scene,
            f"front-{kind}",
            "127.0.0.1",
            processes.free_port(),
            {
                "/cgi-bin/mapserv": webservers.FastCgi(self.balancer.socket),
                "/cgi-bin/echo": webservers.FastCgi(self.echo.path),
            },
        )
        self.addCleanup(lambda: server.process and server.stop())
        return server.start()

    def arrived(self):
        """The URIs in the host's log since the last call: at least one, for which it waits."""

        def look():
            entries, self.at = self.host.web.entries(self.at)
            return [entry.uri for entry in entries]

        return processes.wait_until(look, 5, "the request in the host's log")

    def send_all(self, kind):
        """Sends every line; returns how many arrived, how many were changed by the server, and refused by it."""
        server = self.front(kind)
        wait_until_usable(self.balancer, 1)
        _, self.at = self.host.web.entries()
        count = {"same": 0, "changed": 0, "refused": 0, "relayed": 0}
        for line in world.queries():
            with self.subTest(server=kind, query=line):
                direct = client.ask(server.address, server.port, b"/cgi-bin/echo?" + line)
                answers = client.ask_and_follow(server.address, server.port, b"/cgi-bin/mapserv?" + line)
                if direct.status != 200:  # the server's own refusal
                    self.assertEqual((direct.status, answers[0].status), (400, 400))
                    count["refused"] += 1
                    continue
                handed_over = echo.given(direct)[b"QUERY_STRING"]
                count["relayed"] += answers[0].status != 302
                self.assertEqual(answers[0].header("X-Balance-Host"), self.host.name)
                self.assertEqual(self.arrived(), [b"/cgi-bin/mapserv?" + encoded(handed_over)])
                count["same" if handed_over == line else "changed"] += 1
        return count

    def test_nginx_changes_nothing(self):
        # A bare space ends the URI in a request line: three lines have one.
        count = self.send_all("nginx")
        self.assertEqual(count["changed"], 0)
        self.assertEqual(count["refused"], sum(b" " in line for line in world.queries()))

    def test_apache_changes_nothing(self):
        count = self.send_all("apache")
        self.assertEqual(count["changed"], 0)
        self.assertEqual(count["refused"], sum(b" " in line for line in world.queries()))

    def test_lighttpd_passes_on_what_it_hands_over(self):
        count = self.send_all("lighttpd")
        self.assertGreater(count["same"], 100)
        self.assertGreater(count["relayed"], 15)


if __name__ == "__main__":
    unittest.main()
