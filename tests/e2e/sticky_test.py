# SPDX-License-Identifier: MIT
"""Clients stay with their hosts: by address, over two configurations, by cookie; redirected and relayed; and what is
for this machine stays on it. With real MapServer hosts and real web servers."""

import collections
import http.cookies
import os
import shutil
import threading
import time
import unittest

from lib import client, fleet, processes, webservers, world
from lib.balancer import Balancer
from lib.case import MAP, SceneCase, wait_until_usable

PAGE = b"/cgi-bin/mapserv?map=WORLD&mode=browse&layers=countries"
CAPABILITIES = b"/cgi-bin/mapserv?map=WORLD&service=WMS&version=1.3.0&request=GetCapabilities"
PNG = b"\x89PNG\r\n\x1a\n"
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


class LocalLighttpd(webservers.Lighttpd):
    def configuration(self):
        return super().configuration() + 'cgi.local-redir = "enable"\n'


class LocalHost(SceneCase):
    """Each web server has balance at /cgi-bin/mapserv and a real mapserv at /cgi-bin/mapserv.real."""

    @classmethod
    def build(cls):
        cls.state = cls.scene.path("state")
        os.makedirs(cls.state)
        os.chmod(cls.state, 0o777)
        # Found and started by the user that a web server becomes.
        for name in ("balance", "poolwatch", "balance-relay"):
            shutil.copy(fleet.program(name), cls.scene.path(name))
        environment = world.lay_out(cls.scene.path("data"))
        os.chmod(cls.scene.path("data", "tmp"), 0o777)
        os.makedirs(cls.scene.path("ms"))
        mapserver = fleet.MapServer(cls.scene, "ms", environment, 1, None)
        mapserver.start()
        cls.servers = {}
        for name, kind, how in (
            ("apache-cgid", webservers.Apache, "cgi"),
            ("lighttpd-cgi", LocalLighttpd, "cgi"),
            ("nginx", webservers.Nginx, "socket"),
            ("apache-proxy", webservers.Apache, "socket"),
            ("apache-fcgid", webservers.Apache, "spawned"),
            ("lighttpd-fastcgi", LocalLighttpd, "spawned"),
        ):
            cls.servers[name] = cls.serve(name, kind, how, webservers.FastCgi(mapserver.socket))

    @classmethod
    def configure(cls, name, port, path="/cgi-bin/mapserv.real"):
        return cls.scene.write(
            f"{name}.conf",
            f"state-dir = {cls.state}\nscript = /cgi-bin/mapserv.real\nlocal = pinchot {path}\n"
            f"host = pinchot http://127.0.0.1:{port} probe=none\n",
        )

    @classmethod
    def serve(cls, name, kind, how, mapserv, path="/cgi-bin/mapserv.real"):
        port = processes.free_port()
        environment = {"BALANCE_CONFIG": cls.configure(name, port, path)}
        program = cls.scene.path("balance")
        if how == "cgi":
            route = webservers.Cgi(program, environment)
        elif how == "spawned":
            route = webservers.Spawned(program, environment)
        else:
            socket_path = cls.scene.path(f"{name}.sock")
            balance = cls.scene.start(
                f"{name}.balance", [program, "--listen", f"unix:{socket_path}"], env=environment
            )
            balance.wait_for(lambda: os.path.exists(socket_path), 5, "balance's socket")
            os.chmod(socket_path, 0o666)
            route = webservers.FastCgi(socket_path)
        routes = {"/cgi-bin/mapserv.real": mapserv, "/cgi-bin/mapserv": route}
        return kind(cls.scene, name, "127.0.0.1", port, routes).start()

    def setUp(self):
        for name, server in self.servers.items():
            processes.wait_until(lambda port=server.port: self.is_served(port), 8, f"{name} serves")

    @staticmethod
    def is_served(port):
        """Its host is known to be up."""
        return client.ask("127.0.0.1", port, MAP).status in (200, 302)

    def ask(self, server, target=MAP, **how):
        return client.ask("127.0.0.1", server.port, target, **how)

    def test_cgi_programs_leave_the_request_to_their_web_server(self):
        for name in ("apache-cgid", "lighttpd-cgi"):
            with self.subTest(server=name):
                answer = self.ask(self.servers[name])
                self.assertEqual((answer.status, answer.header("Location"), answer.body[:8]), (200, None, PNG))
                head = self.ask(self.servers[name], method="HEAD")
                self.assertEqual((head.status, head.header("Content-Type"), head.body), (200, "image/png", b""))
                page = self.ask(self.servers[name], PAGE)
                self.assertEqual(page.status, 200)
                self.assertNotIn(b"MapServer Message", page.body)

    def test_a_query_arrives_as_the_client_wrote_it(self):
        text = b"/cgi-bin/mapserv?map=WORLD&mode=map&layers=countries&mapsize=60+30&x=%2B%26%25;y"
        for name in ("apache-cgid", "lighttpd-cgi"):
            with self.subTest(server=name):
                self.assertEqual(self.ask(self.servers[name], text).body[:8], PNG)

    def test_elsewhere_the_client_is_redirected_as_ever(self):
        for name in ("nginx", "apache-proxy", "apache-fcgid", "lighttpd-fastcgi"):
            with self.subTest(server=name):
                answers = client.ask_and_follow("127.0.0.1", self.servers[name].port, MAP)
                self.assertEqual(answers[0].status, 302)
                self.assertEqual(answers[0].header("X-Balance-Host"), "pinchot")
                self.assertEqual((answers[1].status, answers[1].body[:8]), (200, PNG))

    def test_a_body_is_never_lost_to_it(self):
        for name in ("apache-cgid", "lighttpd-cgi"):
            with self.subTest(server=name):
                answer = self.ask(
                    self.servers[name],
                    "/cgi-bin/mapserv",
                    method="POST",
                    headers=(("Content-Type", "application/x-www-form-urlencoded"),),
                    body=b"map=WORLD&mode=map&layers=countries&mapsize=60+30",
                )
                self.assertEqual((answer.status, answer.body[:8]), (200, PNG))  # relayed

    def test_what_names_its_server_is_relayed_still(self):
        answer = self.ask(self.servers["apache-cgid"], CAPABILITIES)
        self.assertEqual((answer.status, answer.header("X-Balance-Host")), (200, "pinchot"))

    def test_a_path_that_leads_back_here_ends(self):
        for name, kind in (("apache-loop", webservers.Apache), ("lighttpd-loop", LocalLighttpd)):
            with self.subTest(server=name):
                # lighttpd has one environment for all of its programs.
                own = {"BALANCE_CONFIG": self.scene.path(f"{name}.conf")} if kind is webservers.Apache else {}
                loop = webservers.Cgi(self.scene.path("balance"), own)
                server = self.serve(name, kind, "cgi", loop)
                began = time.monotonic()
                answer = self.ask(server)
                self.assertLess(time.monotonic() - began, 5)
                self.assertEqual(answer.status, 508, answer.body)


if __name__ == "__main__":
    unittest.main()
