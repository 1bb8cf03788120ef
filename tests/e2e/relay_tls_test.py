# SPDX-License-Identifier: MIT
"""Relaying to hosts on https: whom the balancer believes."""

import re
import ssl
import threading
import unittest

from lib import badhost, certificates, client, processes
from lib.balancer import Balancer
from lib.case import SceneCase


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
