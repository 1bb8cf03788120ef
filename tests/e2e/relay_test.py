# SPDX-License-Identifier: MIT
"""What clients get by relay, behind real web servers and from real MapServer hosts, and whom documents name."""

import re
import unittest
import urllib.parse

from lib import certificates, client, fleet, processes, webservers
from lib.balancer import Balancer
from lib.case import CAPABILITIES, FORM, MAP, PNG, XML, SceneCase, wait_until_usable

FEATURES = (
    b'<wfs:GetFeature xmlns:wfs="http://www.opengis.net/wfs" service="WFS" version="1.1.0" maxFeatures="2">'
    b'<wfs:Query typeName="cities"/></wfs:GetFeature>'
)


def urls_in(document):
    """Scheme and authority of every URL in it that leads to a script."""
    return {match[1].decode() for match in re.finditer(rb"(https?://[^/\"'<>]+)/cgi-bin/mapserv", document)}


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
