# SPDX-License-Identifier: MIT
"""What clients get by relay, behind real web servers and from real MapServer hosts, and from hosts that fail."""

import http.client
import re
import signal
import socket
import ssl
import threading
import time
import unittest
import urllib.parse

from lib import badhost, certificates, client, fleet, peers, processes, webservers
from lib.balancer import Balancer
from lib.case import MAP, SceneCase, wait_until_usable

CAPABILITIES = b"/cgi-bin/mapserv?map=WORLD&service=WMS&version=1.3.0&request=GetCapabilities"
FORM = ("Content-Type", "application/x-www-form-urlencoded")
XML = ("Content-Type", "text/xml")
FEATURES = (
    b'<wfs:GetFeature xmlns:wfs="http://www.opengis.net/wfs" service="WFS" version="1.1.0" maxFeatures="2">'
    b'<wfs:Query typeName="cities"/></wfs:GetFeature>'
)
PNG = b"\x89PNG\r\n\x1a\n"


def urls_in(document):
    """Scheme and authority of every URL in it that leads to a script."""
    return {match[1].decode() for match in re.finditer(rb"(https?://[^/\"'<>]+)/cgi-bin/mapserv", document)}


def every_gateway(scene, balancer, name, more_environment=None):
    """The balancer behind each web server, in each of the ways that the server has: {'nginx': a web server, ...}."""
    environment = {**balancer.environment, **(more_environment or {})}
    fast = webservers.FastCgi(balancer.socket)
    plain = webservers.Cgi(fleet.program("balance"), environment)
    spawned = webservers.Spawned(fleet.program("balance"), environment)
    return {
        server: webservers.KINDS[server.partition("-")[0]](
            scene, f"{name}-{server}", "127.0.0.1", processes.free_port(), {"/cgi-bin/mapserv": route}, **options
        ).start()
        for server, route, options in (
            ("nginx", fast, {}),
            ("nginx-keep", fast, {"keep_connections": 4}),
            ("apache-proxy", fast, {}),
            ("apache-fcgid", spawned, {}),
            ("apache-cgi", plain, {}),
            ("lighttpd", fast, {}),
            ("lighttpd-fcgi", spawned, {}),
            ("lighttpd-cgi", plain, {}),
        )
    }


class Relay(SceneCase):
    """Real hosts, nginx in front."""

    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 2, workers=2, first_address=31).start()
        cls.port = processes.free_port()
        cls.balancer = Balancer(
            cls.scene,
            cls.fleet,
            port=cls.port,
            keep_connections=8,
            lines="trusted-proxies = 127.0.0.1\nartifact-prefixes = /tmp/\n",
        )
        # A page's pictures are where the balancer is mapped, too.
        cls.balancer.web.routes["/tmp"] = webservers.FastCgi(cls.balancer.socket)
        cls.balancer.start()
        wait_until_usable(cls.balancer, 2)

    def ask(self, target=MAP, **how):
        return client.ask("127.0.0.1", self.port, target, **how)

    def test_a_map_is_still_redirected(self):
        self.assertEqual(self.ask().status, 302)

    def test_capabilities_name_nobody_but_the_balancer(self):
        for service, version in (("WMS", "1.1.1"), ("WMS", "1.3.0"), ("WFS", "1.0.0"), ("WFS", "1.1.0"), ("WFS", "2.0.0")):
            target = f"/cgi-bin/mapserv?map=WORLD&service={service}&version={version}&request=GetCapabilities"
            answer = self.ask(target)
            self.assertEqual(answer.status, 200)
            self.assertEqual(urls_in(answer.body), {f"http://127.0.0.1:{self.port}"}, target)

    def test_the_next_page_of_features_leads_to_the_balancer(self):
        target = "/cgi-bin/mapserv?map=WORLD&service=WFS&version=2.0.0&request=GetFeature&typenames=cities&count=2"
        for _ in range(3):
            answer = self.ask(target)
            self.assertEqual(answer.status, 200)
            following = re.search(rb'next="([^"]+)"', answer.body)[1].replace(b"&amp;", b"&")
            self.assertEqual(urls_in(b'"' + following + b'"'), {f"http://127.0.0.1:{self.port}"})
            target = urllib.parse.urlsplit(following.decode())
            target = f"{target.path}?{target.query}"

    def test_forms_and_documents_arrive_by_post(self):
        picture = self.ask("/cgi-bin/mapserv", method="POST", headers=[FORM], body=MAP.partition(b"?")[2])
        self.assertEqual((picture.status, picture.header("Content-Type")), (200, "image/png"))
        features = self.ask("/cgi-bin/mapserv?map=WORLD", method="POST", headers=[XML], body=FEATURES)
        self.assertEqual(features.status, 200)
        self.assertEqual(features.body.count(b"<gml:featureMember>"), 2)

    def test_a_filter_of_5000_bytes_arrives(self):
        for length in (3400, 5000, 7000):
            answer = self.ask(MAP + b"&filter=" + b"x" * length)
            self.assertIn(answer.status, (302, 200))
            if answer.status == 200:
                self.assertEqual(answer.header("Content-Type"), "image/png")

    def test_head_has_what_get_has_but_for_the_body(self):
        got, headed = self.ask(CAPABILITIES), self.ask(CAPABILITIES, method="HEAD")
        self.assertEqual((headed.status, headed.body), (200, b""))
        self.assertEqual(headed.header("Content-Type"), got.header("Content-Type"))

    def test_a_preflight_is_answered_here(self):
        answer = self.ask(method="OPTIONS", headers=[("Origin", "https://gis.example.org")])
        self.assertEqual(answer.status, 204)

    def test_credentials_stay_with_the_balancer(self):
        answer = self.ask(headers=[("Authorization", "Basic eA==")])
        self.assertEqual((answer.status, answer.header("Content-Type")), (200, "image/png"))

    def test_a_pages_picture_comes_from_the_host_that_drew_it(self):
        for _ in range(4):
            page = self.ask("/cgi-bin/mapserv", method="POST", headers=[FORM], body=b"map=WORLD&mode=browse&layers=all")
            self.assertEqual(page.status, 200)
            picture = self.ask(re.search(rb'name="img" src="(/tmp/[^"]+)"', page.body)[1])
            self.assertEqual(picture.status, 200)
            self.assertTrue(picture.body.startswith(PNG))
            self.assertEqual(picture.header("X-Balance-Host"), page.header("X-Balance-Host"))

    def test_what_follows_up_on_a_saved_query_goes_to_the_host_that_saved_it(self):
        relaying = Balancer(self.scene, self.fleet, name="relaying", keep_connections=8, lines="mode = relay\n").start()
        self.addCleanup(lambda: [process.stop() for process in relaying.processes()])
        wait_until_usable(relaying, 2)
        query = "map=WORLD&layers=cities&qlayer=cities&mode=nquery&mapxy=2+48&savequery=true"
        page = client.ask("127.0.0.1", relaying.port, f"/cgi-bin/mapserv?{query}")
        self.assertEqual((page.status, page.header("Content-Type")), (200, "text/html"))
        for follow_up in ("queryfile=/tmp/x.qy&mode=map", "id=1&mode=browse", "savequery=true&mode=nquery&mapxy=2+48"):
            for method, target, headers, body in (
                ("GET", f"/cgi-bin/mapserv?map=WORLD&{follow_up}", (), b""),
                ("POST", "/cgi-bin/mapserv", [FORM], f"map=WORLD&{follow_up}".encode()),
            ):
                for _ in range(3):
                    how = {"method": method, "headers": headers, "body": body}
                    answer = client.ask("127.0.0.1", relaying.port, target, **how)
                    self.assertEqual(answer.header("X-Balance-Host"), page.header("X-Balance-Host"), (follow_up, method))

    def test_a_part_of_a_picture_and_one_that_has_not_changed(self):
        page = self.ask("/cgi-bin/mapserv", method="POST", headers=[FORM], body=b"map=WORLD&mode=browse&layers=all")
        target = re.search(rb'name="img" src="(/tmp/[^"]+)"', page.body)[1]
        whole = self.ask(target)
        part = self.ask(target, headers=[("Range", "bytes=0-7")])
        self.assertEqual((part.status, part.body), (206, whole.body[:8]))
        self.assertEqual(part.header("Content-Range"), f"bytes 0-7/{len(whole.body)}")
        same = self.ask(target, headers=[("If-None-Match", whole.header("ETag"))])
        self.assertEqual((same.status, same.body), (304, b""))
        self.assertEqual(same.header("ETag"), whole.header("ETag"))

    def test_a_picture_is_found_without_knowing_who_drew_it(self):
        page = self.ask("/cgi-bin/mapserv", method="POST", headers=[FORM], body=b"map=WORLD&mode=browse&layers=all")
        target = re.search(rb'name="img" src="(/tmp/[^"]+)"', page.body)[1]
        for client_number in range(8):
            answer = self.ask(target, headers=[("X-Forwarded-For", f"192.0.2.{client_number}")])
            self.assertEqual(answer.status, 200)

    def test_a_picture_that_nobody_has_is_404(self):
        self.assertEqual(self.ask("/tmp/none.png").status, 404)


class PublicNames(SceneCase):
    """How the balancer is called from outside."""

    count = 0

    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 1, workers=2, first_address=33).start()

    def capabilities(self, public="", headers=(), address="127.0.0.1"):
        type(self).count += 1
        balancer = Balancer(
            self.scene, self.fleet, name=f"b{self.count}", address=address, lines="trusted-proxies = 127.0.0.1\n"
        )
        self.addCleanup(lambda: [process.stop() for process in balancer.processes()])
        balancer.public_url = public or None
        balancer.configure()
        balancer.start()
        wait_until_usable(balancer, 1)
        answer = client.ask(address, balancer.port, CAPABILITIES, headers=headers)
        self.assertEqual(answer.status, 200, answer.body[:300])
        return urls_in(answer.body), balancer.port

    def test_the_public_url_is_in_every_url(self):
        for public in ("https://maps.example.org", "http://maps.example.org:8080", "https://[2001:db8::7]:8443"):
            self.assertEqual(self.capabilities(public, [("Host", "elsewhere.example.org")])[0], {public})

    def test_without_one_it_is_what_a_trusted_proxy_says(self):
        found, _ = self.capabilities(
            "",
            [("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "gis.example.org"), ("X-Forwarded-Port", "443")],
        )
        self.assertEqual(found, {"https://gis.example.org"})

    def test_without_either_it_is_the_host_that_was_asked(self):
        found, port = self.capabilities()
        self.assertEqual(found, {f"http://127.0.0.1:{port}"})


@unittest.skipUnless(certificates.AVAILABLE, "no openssl to make a certificate with")
class Fronts(SceneCase):
    """http and https in front, over IPv4 and IPv6, named with a port and without: whatever a client called the balancer
    is what it finds in the answers, as long as no public-url says better."""

    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 2, workers=2, first_address=38).start()
        tls = certificates.self_signed(cls.scene)
        cls.balancers = {}
        for name, public in (
            ("own", ""),
            ("http", "http://maps.example.org"),
            ("https-port", "https://maps.example.org:8443"),
            ("ipv6", "https://[2001:db8::7]"),
        ):
            balancer = Balancer(cls.scene, cls.fleet, name=name, web=None)
            balancer.public_url = public or None
            balancer.configure()
            cls.balancers[public] = balancer.start()
        cls.fronts = []
        for public, balancer in cls.balancers.items():
            wait_until_usable(balancer, 2)
            for address in ("127.0.0.1", "::1"):
                for scheme in ("http", "https"):
                    front = webservers.Nginx(
                        cls.scene,
                        f"{balancer.name}-{scheme}-{address.replace(':', '_')}",
                        address,
                        processes.free_port(address),
                        {"/cgi-bin/mapserv": webservers.FastCgi(balancer.socket)},
                        tls=tls if scheme == "https" else None,
                    )
                    cls.fronts.append((public, scheme, front.start()))

    def each_name(self):
        """(front, its scheme, the Host that is sent, what every URL must begin with)"""
        for public, scheme, front in self.fronts:
            for host in (front.authority, "gis.example.org", "gis.example.org:8080"):
                with self.subTest(public=public, front=f"{scheme}://{front.authority}", host=host):
                    yield front, scheme, host, public or f"{scheme}://{host}"

    def ask(self, front, scheme, host, target):
        tls = certificates.trusting_all() if scheme == "https" else None
        answer = client.ask(front.address, front.port, target, headers=[("Host", host)], tls=tls)
        self.assertEqual(answer.status, 200, answer.body[:300])
        return answer.body

    def assert_leads_to(self, begin, document):
        self.assertEqual(urls_in(document), {begin})
        for host in self.fleet.hosts:
            self.assertNotIn(host.web.authority.encode(), document)

    def test_documents_name_the_balancer_as_the_client_knows_it(self):
        for front, scheme, host, begin in self.each_name():
            for query in (
                "service=WMS&version=1.1.1&request=GetCapabilities",
                "service=WMS&version=1.3.0&request=GetCapabilities",
                "service=WFS&version=1.1.0&request=GetCapabilities",
                "service=WFS&version=2.0.0&request=GetCapabilities",
                "service=WCS&version=2.0.1&request=GetCapabilities",
            ):
                self.assert_leads_to(begin, self.ask(front, scheme, host, f"/cgi-bin/mapserv?map=WORLD&{query}"))

    def test_the_next_page_of_features_leads_to_the_balancer(self):
        target = "/cgi-bin/mapserv?map=WORLD&service=WFS&version=2.0.0&request=GetFeature&typenames=cities&count=2"
        for front, scheme, host, begin in self.each_name():
            following = re.search(rb'next="([^"]+)"', self.ask(front, scheme, host, target))[1]
            self.assert_leads_to(begin, b'"' + following + b'"')
            self.assertIn(b"startindex=2", following.lower())


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


@unittest.skipUnless(certificates.AVAILABLE, "no openssl to make a certificate with")
class Tls(SceneCase):
    """Hosts on https, with a certificate that only relay.ca-file knows."""

    count = 0

    @classmethod
    def build(cls):
        cls.certificate, key = certificates.self_signed(cls.scene)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cls.certificate, key)
        cls.names = []
        context.sni_callback = lambda _socket, name, _context: cls.names.append(name)

        def behave(connection, _head, _body):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok")

        cls.host = badhost.BadHost(behave, tls=context)
        cls.addClassCleanup(cls.host.close)

    def balancer(self, sections, watch="on-demand"):
        type(self).count += 1
        made = Balancer(
            self.scene,
            badhost.BadFleet(self.host),
            name=f"tls{self.count}",
            watch=watch,
            host_options={self.host.name: "probe=none"},
            lines="mode = relay\n",
            sections=sections,
        )
        self.addCleanup(lambda: [process.stop() for process in made.processes()])
        return made.start()

    def ask(self, balancer):
        return client.ask("127.0.0.1", balancer.port, "/cgi-bin/mapserv?request=GetCapabilities", timeout=20)

    def test_a_certificate_that_nobody_vouches_for_is_no_host(self):
        self.assertEqual(self.ask(self.balancer("[relay]\n")).status, 502)

    def test_the_ca_file_vouches_for_it(self):
        balancer = self.balancer(f"[relay]\nca-file = {self.certificate}\n")
        self.names.clear()
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.ask(balancer))) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([(answer.status, answer.body) for answer in answers], [(200, b"ok")] * 16)
        self.assertEqual(set(self.names), {"localhost"})
        self.assertTrue(self.host.requests[-1][0].partition(b"Host: localhost:")[1])

    def test_verification_can_be_left_out(self):
        self.assertEqual(self.ask(self.balancer("[relay]\nverify = no\n")).status, 200)

    def test_a_changed_ca_file_counts_without_a_restart(self):
        balancer = self.balancer("[relay]\n", "permanent")
        self.assertEqual(self.ask(balancer).status, 502)
        balancer.sections = f"[relay]\nca-file = {self.certificate}\n"
        balancer.configure()
        processes.wait_until(lambda: self.ask(balancer).status == 200, 8, "the new ca-file in use")

    def test_a_program_that_cannot_relay_says_so_when_it_has_to(self):
        balancer = self.balancer("", "permanent")
        balancer.balance.stop()
        balancer.lines = "mode = redirect\n"
        balancer.configure()
        balancer.start_balance()
        balancer.lines = "mode = relay\n"
        balancer.configure()
        processes.wait_until(
            lambda: self.ask(balancer) and "relays now, which this program cannot: restart it" in balancer.balance.said(),
            8,
            "a line in balance's log",
        )

    def test_web_checks_believe_whom_relays_believe(self):
        for sections, health in (
            (f"[relay]\nca-file = {self.certificate}\n", "up"),
            ("[relay]\nverify = no\n", "up"),
            ("", "down"),
        ):
            with self.subTest(sections=sections):
                self.names.clear()
                balancer = self.balancer("web-path = /alive\nweb-interval = 100ms\nexpire = 600ms\n" + sections, "permanent")
                host = processes.wait_until(
                    lambda: [host for host in balancer.status().get("hosts", ()) if host["health"] == health], 8, health
                )[0]
                if health == "down":
                    self.assertEqual(host["cause"], "web port: its certificate cannot be verified")
                else:
                    self.assertIn("localhost", self.names)

    def test_the_systems_authorities_cost_no_bundle_a_connection(self):
        """48 connections at once: libcurl would read the bundle for each, and connecting would take too long."""
        balancer = self.balancer("")
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(self.ask(balancer))) for _ in range(48)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({answer.status for answer in answers}, {502})
        with open(f"/proc/{balancer.balance.pid}/status", encoding="ascii") as status:
            self.assertLess(int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]), 40 * 1024)


if __name__ == "__main__":
    unittest.main()
