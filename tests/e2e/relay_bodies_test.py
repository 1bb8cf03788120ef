# SPDX-License-Identifier: MIT
"""Long queries, bodies and answers by relay: what they cost, and what each web server does to them."""

import http.client
import re
import socket

from lib import badhost, client, fleet
from lib.balancer import Balancer, every_gateway
from lib.case import MAP, XML, SceneCase, wait_until_usable


class LongQueries(SceneCase):
    """Locations of any length, behind each web server in its default settings."""

    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 1, workers=2, first_address=37).start()
        cls.balancer = Balancer(cls.scene, cls.fleet, web=None).start()
        wait_until_usable(cls.balancer, 1)
        cls.fronts = every_gateway(cls.scene, cls.balancer, "long")

    def test_no_length_is_an_error_of_ours(self):
        for name, front in self.fronts.items():
            for length in (3000, 3400, 3500, 3600, 5000, 7000, 9000):
                with self.subTest(server=name, length=length):
                    target = MAP + b"&SLD_BODY=" + b"x" * (length - len(MAP))
                    answers = client.ask_and_follow("127.0.0.1", front.port, target)
                    if name.startswith("apache") and length > 8190 - 50:
                        self.assertEqual(answers[0].status, 414)  # LimitRequestLine
                        continue
                    self.assertLess(answers[0].status, 500)
                    if length < 8000:  # nginx of the host takes 8 kB
                        self.assertEqual(answers[-1].status, 200)


class Streams(SceneCase):
    """What is long or slow must not fill the memory."""

    @classmethod
    def build(cls):
        cls.size = 1 << 30

        def behave(connection, head, body):
            if head.startswith(b"POST"):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\n%9d" % len(body))
                return
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % cls.size)
            piece = b"x" * (1 << 20)
            for _ in range(cls.size >> 20):
                connection.sendall(piece)

        host = badhost.BadHost(behave)
        cls.addClassCleanup(host.close)
        cls.balancer = Balancer(
            cls.scene,
            badhost.BadFleet(host),
            watch="on-demand",
            keep_connections=64,
            temporary_files=False,  # else nginx takes from us all that its clients do not
            host_options={host.name: "probe=none"},
            lines="mode = relay\n",
        ).start()

    def resident_kb(self):
        with open(f"/proc/{self.balancer.balance.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1])

    def test_a_gigabyte_and_64_slow_clients_fit_into_64_megabytes(self):
        slow = []
        try:
            for _ in range(64):
                connection = socket.create_connection(("127.0.0.1", self.balancer.port))
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.sendall(b"GET /cgi-bin/mapserv?request=GetFeature HTTP/1.0\r\nHost: x\r\n\r\n")
                slow.append(connection)
            took = 0
            with socket.create_connection(("127.0.0.1", self.balancer.port), timeout=20) as fast:
                fast.sendall(b"GET /cgi-bin/mapserv?request=GetFeature HTTP/1.0\r\nHost: x\r\n\r\n")
                while piece := fast.recv(1 << 20):
                    took += len(piece)
            self.assertGreater(took, self.size)
            self.assertLess(self.resident_kb(), 64 * 1024)
        finally:
            for connection in slow:
                connection.close()

    def test_a_long_body_goes_by_way_of_the_disk(self):
        how = {"method": "POST", "headers": [XML], "body": b"<x>" * 15_000_000, "timeout": 60}
        answer = client.ask("127.0.0.1", self.balancer.port, "/cgi-bin/mapserv", **how)
        self.assertEqual((answer.status, answer.body), (200, b"%9d" % 45_000_000))
        self.assertLess(self.resident_kb(), 64 * 1024)


class Bodies(SceneCase):
    """A body behind each web server and gateway: as CGI it is still unread when balance becomes balance-relay. Proxies
    that the environment names, the administrator's or a client's by its Proxy header, are nobody's."""

    # Nobody listens there.
    PROXIES = {name: "http://127.0.0.1:9" for name in ("http_proxy", "HTTPS_PROXY", "ALL_PROXY")}

    @classmethod
    def build(cls):
        def behave(connection, _head, body):
            answer = b"%d %d" % (len(body), sum(body) % 1_000_003)
            head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(answer)
            connection.sendall(head + answer)

        cls.host = badhost.BadHost(behave)
        cls.addClassCleanup(cls.host.close)
        balancer = Balancer(
            cls.scene,
            badhost.BadFleet(cls.host),
            web=None,
            watch="on-demand",
            host_options={cls.host.name: "probe=none"},
        ).start()
        cls.fronts = every_gateway(cls.scene, balancer, "body", cls.PROXIES)

    def test_bodies_of_all_sizes_arrive(self):
        for name, front in self.fronts.items():
            for size in (0, 1, 8192, 100_000, 3_000_000):
                if name == "apache-fcgid" and size > 131_072:
                    continue  # FcgidMaxRequestLen
                with self.subTest(server=name, size=size):
                    body = bytes(i * 7 % 251 for i in range(size))
                    headers = [XML] if size else [XML, ("Content-Length", "0")]
                    answer = client.ask(
                        "127.0.0.1", front.port, "/cgi-bin/mapserv", method="POST", headers=headers, body=body
                    )
                    wanted = b"%d %d" % (size, sum(body) % 1_000_003)
                    self.assertEqual((answer.status, answer.body), (200, wanted))


    def test_a_proxy_header_leads_nowhere(self):
        for name, front in self.fronts.items():
            with self.subTest(server=name):
                headers = [XML, ("Proxy", "http://127.0.0.1:9")]
                answer = client.ask("127.0.0.1", front.port, "/cgi-bin/mapserv", method="POST", headers=headers, body=b"<x/>")
                self.assertEqual(answer.status, 200)
                self.assertNotIn(b"\r\nproxy:", self.host.requests[-1][0].lower())

    def test_a_body_in_chunks_arrives(self):
        """Whether its web server tells its length or not."""
        body = bytes(i * 7 % 251 for i in range(100_000))
        pieces = [body[at : at + 4000] for at in range(0, len(body), 4000)]
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
        for name, front in self.fronts.items():
            with self.subTest(server=name):
                with socket.create_connection(("127.0.0.1", front.port), timeout=10) as connection:
                    head = "POST /cgi-bin/mapserv HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nConnection: close\r\n"
                    connection.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
                    response = http.client.HTTPResponse(connection)
                    response.begin()
                    came = (response.status, response.read())
                self.assertEqual(came, (200, b"%d %d" % (len(body), sum(body) % 1_000_003)))

    def test_what_mod_fcgid_refuses_is_named_in_its_log(self):
        """FcgidMaxRequestLen, 128 kB unless set, which balance-relay(8) names."""
        front = self.fronts["apache-fcgid"]
        answer = client.ask("127.0.0.1", front.port, "/cgi-bin/mapserv", method="POST", headers=[XML], body=b"x" * 200_000)
        self.assertIn(answer.status, (413, 500))
        with open(f"{front.folder}/error.log", encoding="utf-8", errors="replace") as log:
            self.assertIn("exceeds MaxRequestLen (131072)", log.read())
