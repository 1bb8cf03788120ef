# SPDX-License-Identifier: MIT
"""What clients get from the balancer behind a real web server, and where it leads them: cases that were reported from
the field by people who do this job."""

import contextlib
import re
import signal
import socket
import unittest

from lib import client, fleet, processes
from lib.balancer import Balancer
from lib.case import MAP, SceneCase, stay, wait_until_usable

HTTPS = ("X-Forwarded-Proto", "https")
ORIGIN = ("Origin", "https://gis.example.org")


def has_ipv6():
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as s:
        s.bind(("::1", 0))
        return True
    return False


class Redirect(SceneCase):
    @classmethod
    def build(cls):
        port = processes.free_port()
        cls.fleet = fleet.Fleet(
            cls.scene, 2, workers=1, first_address=17, forms_lead_to=f"http://127.0.0.1:{port}"
        ).start()
        cls.balancer = Balancer(cls.scene, cls.fleet, port=port).start()
        cls.targets = {host.web.authority: host.name for host in cls.fleet.hosts}
        wait_until_usable(cls.balancer, 2)

    def ask(self, target=MAP, **how):
        return client.ask("127.0.0.1", self.balancer.port, target, **how)

    def follow(self, target=MAP, **how):
        return client.ask_and_follow("127.0.0.1", self.balancer.port, target, **how)

    def leads_to_a_host(self, answer):
        """The target of a redirect to one of the hosts."""
        address, port, target = answer.location
        self.assertIn(f"{address}:{port}", self.targets)
        self.assertEqual(answer.header("X-Balance-Host"), self.targets[f"{address}:{port}"])
        return target

    def test_a_map_is_redirected_for_now_and_never_kept(self):
        answer = self.ask()
        self.assertEqual(answer.status, 302)
        self.assertEqual(answer.header("Cache-Control"), "no-store")
        self.assertEqual(self.leads_to_a_host(answer), MAP)

    def test_a_map_arrives(self):
        _, picture = self.follow()
        self.assertEqual((picture.status, picture.header("Content-Type")), (200, "image/png"))

    def test_escapes_are_neither_undone_nor_doubled(self):
        for query in (b"LAYERS=a%2Bb+c%26d&x=%2520", b"map=A;service=WMS&q=a;b", b"x=%0d%0aSet-Cookie:x", b"a=b?c=d&e"):
            target = b"/cgi-bin/mapserv?" + query
            self.assertEqual(self.leads_to_a_host(self.ask(target)), target)

    def test_bytes_that_may_not_stand_in_a_header_are_escaped_and_kept(self):
        target = self.leads_to_a_host(self.ask(b'/cgi-bin/mapserv?q="<\x80\xff\xe6\x9d\xb1'))
        self.assertEqual(target, b"/cgi-bin/mapserv?q=%22%3C%80%FF%E6%9D%B1")

    def test_an_empty_query_is_passed_on_without_one(self):
        self.assertIn(self.leads_to_a_host(self.ask(b"/cgi-bin/mapserv")), (b"/cgi-bin/mapserv", b"/cgi-bin/mapserv?"))

    def test_a_path_behind_the_script_is_kept_undecoded(self):
        target = b"/cgi-bin/mapserv/WORLD?mode=map&x=a%2Fb%20c"
        self.assertEqual(self.leads_to_a_host(self.ask(target)), target)

    def test_the_clients_word_for_our_name_leads_nowhere(self):
        for headers in (
            [("Host", "evil.example.com")],
            [("X-Forwarded-Host", "evil.example.com")],
            [("Host", "evil.example.com:80"), ("Forwarded", "host=evil.example.com")],
        ):
            answer = self.ask(headers=headers)
            self.leads_to_a_host(answer)
            self.assertNotIn("evil", str(answer.headers) + str(answer.body))

    def test_an_absolute_form_in_the_request_line_leads_nowhere_else(self):
        answer = self.ask(b"http://evil.example.com/cgi-bin/mapserv?map=WORLD")
        self.leads_to_a_host(answer)
        self.assertNotIn("evil", str(answer.headers))

    def test_a_head_request_is_redirected_without_a_body(self):
        answer = self.ask(method="HEAD")
        self.assertEqual((answer.status, answer.body), (302, b""))
        self.leads_to_a_host(answer)

    def test_a_preflight_is_answered_here(self):
        answer = self.ask(
            method="OPTIONS",
            headers=[
                ("Origin", "https://gis.example.org"),
                ("Access-Control-Request-Method", "POST"),
                ("Access-Control-Request-Headers", "content-type"),
            ],
        )
        self.assertEqual((answer.status, answer.body), (204, b""))
        self.assertIsNone(answer.header("Location"))
        self.assertIn("POST", answer.header("Access-Control-Allow-Methods"))
        self.assertIn("content-type", answer.header("Access-Control-Allow-Headers").lower())

    def test_a_style_of_3000_bytes_arrives(self):
        target = MAP + b"&SLD_BODY=" + b"x" * 3000
        redirect, picture = self.follow(target)
        self.assertEqual((self.leads_to_a_host(redirect), picture.status), (target, 200))

    def test_a_pages_picture_is_on_its_host_and_its_form_leads_to_the_balancer(self):
        redirect, page = self.follow("/cgi-bin/mapserv?map=WORLD&mode=browse&layers=all")
        address, port, _ = redirect.location
        picture = re.search(rb'name="img" src="(/tmp/[^"]+)"', page.body)[1]
        self.assertTrue(client.ask(address, port, picture).body.startswith(b"\x89PNG"))
        self.assertIn(f'action="{self.balancer.url}/cgi-bin/mapserv"'.encode(), page.body)

    def test_an_untrusted_peer_is_not_believed_to_be_on_https(self):
        self.assertEqual(self.ask(headers=[HTTPS]).status, 302)


class Configurations(SceneCase):
    """Balancers that differ in a line of their configuration, over the same hosts."""

    count = 0

    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 2, workers=1, first_address=21).start()

    def balancer(self, **how):
        type(self).count += 1
        made = Balancer(self.scene, self.fleet, name=f"balancer{self.count}", **how)
        self.addCleanup(lambda: [process.stop() for process in made.processes()])
        return made

    def ask(self, balancer, target=MAP, **how):
        return client.ask(balancer.address, balancer.port, target, **how)

    def test_an_https_client_is_not_sent_to_http(self):
        balancer = self.balancer(lines="mode = redirect\ntrusted-proxies = 127.0.0.1\n").start()
        answer = self.ask(balancer, headers=[HTTPS])
        self.assertEqual(answer.status, 503)
        self.assertIn(b"allow-downgrade", answer.body)
        self.assertEqual(self.ask(balancer).status, 302)

    def test_an_https_client_gets_its_map_by_relay(self):
        balancer = self.balancer(lines="trusted-proxies = 127.0.0.1\n").start()
        answer = self.ask(balancer, headers=[HTTPS])
        self.assertEqual((answer.status, answer.header("Content-Type")), (200, "image/png"))

    def test_a_form_by_post_is_redirected_with_its_body_where_that_is_configured(self):
        balancer = self.balancer(lines="answer.body = 307\n").start()
        body = MAP.partition(b"?")[2]
        first, picture = client.ask_and_follow(
            balancer.address,
            balancer.port,
            b"/cgi-bin/mapserv",
            method="POST",
            body=body,
            headers=[("Content-Type", "application/x-www-form-urlencoded")],
        )
        self.assertEqual(first.status, 307)
        self.assertEqual((picture.status, picture.header("Content-Type")), (200, "image/png"))

    def test_an_https_client_is_sent_to_http_where_that_is_allowed(self):
        balancer = self.balancer(lines="trusted-proxies = 127.0.0.1\nallow-downgrade = yes\n").start()
        self.assertEqual(self.ask(balancer, headers=[HTTPS]).status, 302)

    def test_what_a_script_is_to_read_is_relayed_whatever_the_hosts_allow(self):
        balancer = self.balancer().start()
        for headers in ([ORIGIN], [("Sec-Fetch-Mode", "cors")]):
            answer = self.ask(balancer, headers=headers)
            self.assertEqual((answer.status, answer.header("Content-Type")), (200, "image/png"))
            self.assertEqual(answer.header("Access-Control-Allow-Origin"), "*")
        self.assertEqual(self.ask(balancer, headers=[("Sec-Fetch-Mode", "no-cors")]).status, 302)

    def test_what_a_script_is_to_read_is_redirected_where_that_is_configured(self):
        for line in ("answer.cors = redirect\n", "mode = redirect\n"):
            answer = self.ask(self.balancer(lines=line).start(), headers=[ORIGIN])
            self.assertEqual((answer.status, answer.header("Access-Control-Allow-Origin")), (302, "*"))

    def test_cross_origin_headers_can_be_left_out(self):
        balancer = self.balancer(lines="cors-origin = none\nanswer.cors = redirect\n").start()
        none = self.ask(balancer, headers=[ORIGIN])
        self.assertEqual((none.status, none.header("Access-Control-Allow-Origin")), (302, None))

    def test_weights_are_kept_and_0_drains(self):
        first, second = self.fleet.hosts
        balancer = self.balancer(host_options={first.name: "weight=2"}).start()
        wait_until_usable(balancer, 2)
        names = [self.ask(balancer).header("X-Balance-Host") for _ in range(60)]
        self.assertAlmostEqual(names.count(first.name), 40, delta=8)
        balancer.host_options = {first.name: "weight=0"}
        balancer.configure()
        balancer.watcher.signal(signal.SIGHUP)
        processes.wait_until(
            lambda: {self.ask(balancer).header("X-Balance-Host") for _ in range(6)} == {second.name},
            5,
            "the drained host out",
        )

    def test_an_idle_pool_is_used_in_turn(self):
        balancer = self.balancer().start()
        wait_until_usable(balancer, 2)
        names = [self.ask(balancer).header("X-Balance-Host") for _ in range(40)]
        for host in self.fleet.hosts:
            self.assertGreaterEqual(names.count(host.name), 10)

    def test_a_host_without_a_probe_is_used(self):
        balancer = self.balancer(host_options={host.name: "probe=none" for host in self.fleet.hosts}).start()
        names = {self.ask(balancer).header("X-Balance-Host") for _ in range(10)}
        self.assertEqual(names, {host.name for host in self.fleet.hosts})

    def test_a_balancer_that_is_its_own_host_is_refused_at_start(self):
        balancer = self.balancer(web=None)
        balancer.public_url = self.fleet.hosts[0].url
        balancer.configure()
        command = [fleet.program("balance"), "--listen", f"unix:{balancer.socket}"]
        program = self.scene.start("loop/balance", command, env=balancer.environment)
        self.assertEqual(program.popen.wait(5), 2)
        self.assertIn("loop", program.said())
        self.assertIn("balance.conf:", program.said())

    def test_a_loop_seen_at_run_time_is_508(self):
        # Every host line names the balancer itself, under an address that the configuration alone cannot know.
        balancer = self.balancer(host_options={"self": "probe=none"})
        balancer.fleet = OneHost(self.fleet, balancer.url)
        balancer.public_url = None
        balancer.configure()
        balancer.start()
        answer = self.ask(balancer)
        self.assertEqual((answer.status, answer.header("Location")), (508, None))

    def test_all_faults_of_a_configuration_are_named_with_their_lines(self):
        file = self.scene.write(
            "faulty/balance.conf",
            "host = a http://127.0.0.1:1\nhost = a http://127.0.0.1:2\nhost = b ftp://127.0.0.1\n"
            "host = c http://127.0.0.1:99999\nwieght = 3\nhost = d http://[fe80::1%25eth0]:80\n",
        )
        program = self.scene.start("faulty/poolwatch", [fleet.program("poolwatch"), "--config", file])
        self.assertEqual(program.popen.wait(5), 2)
        said = program.said()
        for line in (2, 3, 4, 5, 6):
            self.assertIn(f"balance.conf:{line}: ", said)
        self.assertIn("'wieght'", said)

    @unittest.skipUnless(has_ipv6(), "no IPv6 on this machine")
    def test_an_ipv6_host_is_reached_by_a_bracketed_literal(self):
        host = self.fleet.hosts[0]
        server = type(host.web)(
            self.scene, "six", "::1", processes.free_port("::1"), host.web.routes, front_page=None
        ).start()
        self.addCleanup(server.stop)
        balancer = self.balancer(host_options={h.name: "weight=0" for h in self.fleet.hosts})
        balancer.lines = f"host = six http://[::1]:{server.port} probe=none\n"
        balancer.configure()
        balancer.start()
        redirect, picture = client.ask_and_follow(balancer.address, balancer.port, MAP)
        self.assertEqual(redirect.header("Location"), f"http://[::1]:{server.port}{MAP.decode()}")
        self.assertEqual(picture.header("Content-Type"), "image/png")


class OneHost:
    """A fleet for balance.conf of a single host at `url`."""

    def __init__(self, real, url):
        self.script, self.probe_port = real.script, real.probe_port
        self.hosts = [type("Named", (), {"name": "self", "url": url})]


class NobodyLeft(SceneCase):
    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 2, workers=1, first_address=23).start()
        cls.balancer = Balancer(cls.scene, cls.fleet).start()
        wait_until_usable(cls.balancer, 2)

    def test_503_at_once_when_all_hosts_are_down(self):
        for host in self.fleet.hosts:
            host.kill()
        answers = stay(3, lambda: client.ask("127.0.0.1", self.balancer.port, MAP))
        self.assertLess(max(answer.seconds for answer in answers), 1.0)
        self.assertEqual(answers[-1].status, 503)
        self.assertGreater(int(answers[-1].header("Retry-After")), 0)
        self.assertEqual(answers[-1].header("Cache-Control"), "no-store")


if __name__ == "__main__":
    unittest.main()
