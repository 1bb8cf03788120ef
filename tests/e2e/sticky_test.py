# SPDX-License-Identifier: MIT
"""Clients stay with their hosts: by address, over two configurations, by cookie; redirected and relayed. With real MapServer
hosts."""

import collections
import http.cookies
import os
import threading
import time

from lib import client, fleet, processes
from lib.balancer import Balancer
from lib.case import MAP, PNG, SceneCase, wait_until_usable

PAGE = b"/cgi-bin/mapserv?map=WORLD&mode=browse&layers=countries"
# Unlike weights, so that an idle pool goes by turns alone and every host gets some of a few clients.
WEIGHTS = {fleet.NAMES[0]: "weight=1.1"}
CLIENTS = tuple(f"127.0.2.{number}" for number in range(1, 31))


def cookie_of(answer):
    """The value of the balancer's cookie in an answer, or None."""
    text = answer.header("Set-Cookie")
    if text is None:
        return None
    return http.cookies.SimpleCookie(text)["BALANCE_HOST"].value


class Sticky(SceneCase):
    """Three hosts and one balancer."""

    lines = "sticky = client\n"
    first_address = 101

    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 3, workers=1, first_address=cls.first_address).start()
        cls.balancer = Balancer(cls.scene, cls.fleet, lines=cls.lines, host_options=WEIGHTS).start()

    other = None  # a second balancer over the same hosts

    def setUp(self):
        """Each test begins where all hosts are usable to all balancers, whose processes have looked at their files."""
        for balancer in filter(None, (self.balancer, self.other)):
            processes.wait_until(
                lambda at=balancer: [host["tier"] for host in at.status()["hosts"]] == ["usable"] * 3, 15, "all hosts"
            )
            self.look(balancer)

    def look(self, balancer):
        """Processes look at their files once a second, when requests come."""
        time.sleep(1.1)
        self.ask(balancer=balancer)
        time.sleep(0.2)

    def ask(self, source=None, target=MAP, balancer=None, **how):
        balancer = balancer or self.balancer
        answer = client.ask("127.0.0.1", balancer.port, target, source=source, **how)
        self.assertIn(answer.status, (200, 302), answer.body)
        return answer

    def host_of(self, *who, **how):
        return self.ask(*who, **how).header("X-Balance-Host")

    def hosts_of(self, clients, balancer=None):
        """Whose each client is: two requests of each at once say the same."""
        found = collections.defaultdict(set)

        def work():
            for source in clients:
                found[source].add(self.host_of(source, balancer=balancer))

        workers = [threading.Thread(target=work) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        for source, names in found.items():
            self.assertEqual(len(names), 1, f"{source} got {names}")
        return {source: next(iter(names)) for source, names in found.items()}

    def kill(self, host):
        host.kill()
        self.addCleanup(lambda: host.web.process.alive() or host.start())
        processes.wait_until(lambda: self.tier(host) == "down", 5, f"{host.name} down")

    def tier(self, host):
        return next(entry["tier"] for entry in self.balancer.status()["hosts"] if entry["name"] == host.name)

    def check_death_and_return(self):
        before = self.hosts_of(CLIENTS)
        popular = collections.Counter(before.values()).most_common(1)[0][0]
        host = next(host for host in self.fleet.hosts if host.name == popular)
        self.kill(host)
        without = self.hosts_of(CLIENTS)
        for source, name in before.items():
            if name == host.name:
                self.assertNotEqual(without[source], host.name)
            else:
                self.assertEqual(without[source], name)
        host.start()
        processes.wait_until(lambda: self.tier(host) == "usable", 8, f"{host.name} back")
        self.assertEqual(self.hosts_of(CLIENTS), without)


class ByAddress(Sticky):
    def test_a_host_that_dies_loses_its_own_clients_and_nobody_moves_when_it_returns(self):
        self.check_death_and_return()

    def test_explain_and_status_tell_with_whom_a_client_stays(self):
        name = self.host_of("127.0.2.77")
        said = self.balancer.control("explain", "--client", "127.0.2.77", "map=WORLD&mode=map").stdout
        self.assertRegex(said, rf"(?m)^sticky     {name}, (60|59|5[0-9])(\.[0-9])?s left$")
        self.assertIn(f"choice     {name}: this client stays with it", said)
        other = self.balancer.control("explain", "--client", "127.0.2.78", "map=WORLD&mode=map").stdout
        self.assertIn("sticky     nothing is known of this client", other)
        self.assertRegex(self.balancer.control("status").stdout, r"(?m)^sticky     client, for 1m .*; \d+ clients?: ")
        self.assertGreaterEqual(sum(host["clients"] for host in self.balancer.status()["hosts"]), 1)

    def test_a_drained_host_keeps_its_clients_and_gets_no_others(self):
        clients = [f"127.0.3.{number}" for number in range(1, 20)]
        before = self.hosts_of(clients)
        popular = collections.Counter(before.values()).most_common(1)[0][0]
        host = next(host for host in self.fleet.hosts if host.name == popular)

        def tell(*words):
            done = self.scene.start(
                "drain", [fleet.program("loadprobe"), "--config", host.probe_configuration, *words]
            )
            self.assertEqual(done.popen.wait(5), 0, done.said())

        tell("--drain", "new disk")
        self.addCleanup(tell, "--ready")
        processes.wait_until(lambda: self.tier(host) == "draining", 5, f"{host.name} drained")
        self.assertEqual(self.hosts_of(clients), before)
        strangers = self.hosts_of([f"127.0.4.{number}" for number in range(1, 20)])
        self.assertNotIn(host.name, strangers.values())

    def test_pages_and_their_follow_ups_stay_together(self):
        name = self.host_of("127.0.2.79", PAGE)
        self.assertEqual(self.host_of("127.0.2.79", PAGE + b"&id=12345"), name)
        self.assertEqual(self.host_of("127.0.2.79"), name)


class AfterItsTime(Sticky):
    lines = "sticky = client\nsticky-timeout = 1s\n"

    def test_a_client_that_was_away_is_free_again(self):
        def said():
            return self.balancer.control("explain", "--client", "127.0.2.1", "map=WORLD&mode=map").stdout

        name = self.host_of("127.0.2.1")
        self.assertRegex(said(), rf"(?m)^sticky     {name}, \S+ left$")
        time.sleep(1.2)
        self.assertIn("sticky     nothing is known of this client", said())
        # Each of these comes back in time, and so keeps its host for longer than that.
        names = {self.host_of("127.0.2.2") for _ in range(12) if time.sleep(0.2) is None}
        self.assertEqual(len(names), 1)


class Relayed(Sticky):
    lines = "sticky = client\nmode = relay\n"

    def test_relayed_clients_stay_too(self):
        answer = self.ask("127.0.2.1")
        self.assertEqual((answer.status, answer.body[:8]), (200, PNG))
        self.check_death_and_return()

    def test_a_host_that_fails_a_request_loses_its_client(self):
        name = self.host_of("127.0.2.90")
        host = next(host for host in self.fleet.hosts if host.name == name)
        host.web.process.kill()
        self.addCleanup(lambda: host.web.process.alive() or host.web.start())
        answer = self.ask("127.0.2.90")  # before anybody has noticed
        self.assertEqual((answer.status, answer.body[:8]), (200, PNG))
        other = answer.header("X-Balance-Host")
        self.assertNotEqual(other, name)
        host.web.start()
        processes.wait_until(lambda: self.tier(host) == "usable", 15, f"{name} back")
        for _ in range(5):
            self.assertEqual(self.host_of("127.0.2.90"), other)


class OverConfigurations(Sticky):
    lines = "sticky = client-wild\n"

    @classmethod
    def build(cls):
        super().build()
        cls.other = Balancer(cls.scene, cls.fleet, name="other", lines=cls.lines, host_options=WEIGHTS)
        cls.other.state_dir = cls.balancer.state_dir
        cls.other.fleet = type("Turned", (), {**vars(cls.fleet), "hosts": cls.fleet.hosts[::-1]})
        cls.other.configuration = cls.scene.write("other/other.conf", open(cls.other.configure()).read())
        cls.other.start()

    def test_a_client_has_one_host_over_both(self):
        processes.wait_until(
            lambda: any(name.endswith(".clients") for name in os.listdir(self.balancer.state_dir)), 5, "the file"
        )
        self.look(self.balancer)
        self.look(self.other)
        first = self.hosts_of(CLIENTS)
        self.assertEqual(self.hosts_of(CLIENTS, self.other), first)
        strangers = [f"127.0.5.{number}" for number in range(1, 20)]
        self.assertEqual(self.hosts_of(strangers, self.other), self.hosts_of(strangers))
        name = first[CLIENTS[0]]
        said = self.other.control("explain", "--client", CLIENTS[0], "map=WORLD&mode=map").stdout
        self.assertIn(f"choice     {name}: this client stays with it", said)

    def test_a_file_that_is_spoilt_under_both_is_made_anew(self):
        path = next(
            os.path.join(self.balancer.state_dir, name)
            for name in os.listdir(self.balancer.state_dir)
            if name.endswith(".clients")
        )
        os.truncate(path, 0)
        for _ in range(5):
            self.host_of("127.0.2.1")
            self.host_of("127.0.2.1", balancer=self.other)
        processes.wait_until(lambda: os.path.getsize(path) > 0, 5, "another file")
        self.look(self.balancer)
        self.look(self.other)
        first = self.hosts_of(CLIENTS)
        self.assertEqual(self.hosts_of(CLIENTS, self.other), first)


class ByCookie(Sticky):
    lines = "sticky = cookie\n"

    @classmethod
    def build(cls):
        super().build()
        cls.other = Balancer(cls.scene, cls.fleet, name="other", lines="sticky = cookie\npeers = 2\nmode = relay\n")
        cls.other.start()
        wait_until_usable(cls.other, 3)

    def test_the_cookie_brings_a_client_back_at_every_balancer(self):
        for balancer in (self.balancer, self.other):
            answer = self.ask(balancer=balancer)
            name, cookie = answer.header("X-Balance-Host"), cookie_of(answer)
            self.assertRegex(cookie, r"^[0-9a-f]{16}$")
            for there in (self.balancer, self.other) * 6:
                again = self.ask(balancer=there, headers=(("Cookie", f"a=b; BALANCE_HOST={cookie}"),))
                self.assertEqual(again.header("X-Balance-Host"), name)
                self.assertEqual(cookie_of(again), cookie)

    def test_it_is_kept_from_scripts_and_shared_caches(self):
        for balancer in (self.balancer, self.other):
            answer = self.ask(balancer=balancer)
            text = answer.header("Set-Cookie")
            for word in ("Max-Age=60", "Path=/cgi-bin/mapserv", "HttpOnly", "SameSite=Lax"):
                self.assertIn(word, text)
            self.assertRegex(answer.header("Cache-Control"), "no-store|private")

    def test_what_is_no_cookie_of_ours_is_as_none(self):
        for value in ("0123456789abcdef", "", "pinchot", "%00", "x" * 2000):
            answer = self.ask(headers=(("Cookie", f"BALANCE_HOST={value}"),))
            self.assertRegex(cookie_of(answer), r"^[0-9a-f]{16}$")
            self.assertNotEqual(cookie_of(answer), value)
            said = self.balancer.control("explain", "--cookie", f"BALANCE_HOST={value}", "mode=map").stdout
            self.assertIn("sticky     its cookie names no host of ours", said)

    def test_a_dead_hosts_client_gets_another_for_good(self):
        answer = self.ask()
        host = next(host for host in self.fleet.hosts if host.name == answer.header("X-Balance-Host"))
        old = ("Cookie", f"BALANCE_HOST={cookie_of(answer)}")
        self.kill(host)
        answer = self.ask(headers=(old,))
        other = answer.header("X-Balance-Host")
        self.assertNotEqual(other, host.name)
        new = ("Cookie", f"BALANCE_HOST={cookie_of(answer)}")
        host.start()
        processes.wait_until(lambda: self.tier(host) == "usable", 8, f"{host.name} back")
        for _ in range(6):
            self.assertEqual(self.host_of(headers=(new,)), other)


    def test_a_relayed_request_that_a_host_fails_brings_the_cookie_of_another(self):
        answer = self.ask(balancer=self.other)
        host = next(host for host in self.fleet.hosts if host.name == answer.header("X-Balance-Host"))
        old = cookie_of(answer)
        host.web.process.kill()
        self.addCleanup(lambda: host.web.process.alive() or host.web.start())
        answer = self.ask(balancer=self.other, headers=(("Cookie", f"BALANCE_HOST={old}"),))  # nobody has noticed yet
        self.assertEqual((answer.status, answer.body[:8]), (200, PNG))
        self.assertNotEqual(answer.header("X-Balance-Host"), host.name)
        self.assertNotIn(cookie_of(answer), (None, old))
