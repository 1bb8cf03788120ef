#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`balance` behind nginx, lighttpd and Apache, in every way that each of them knows. BUILD names the build folder."""

import os
import sys
import threading
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib import client, processes, webservers  # noqa: E402
from lib.gateway import MAP, NAMES, GatewayCase  # noqa: E402


class BehindWebServers(GatewayCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        socket_path = cls.scene.path("front.sock")
        cls.balance = cls.scene.start(
            "front",
            [cls.program, "--listen", f"unix:{socket_path}"],
            env={"BALANCE_CONFIG": cls.configuration},
        )
        cls.balance.wait_for(lambda: os.path.exists(socket_path), 5, "balance's socket")
        os.chmod(socket_path, 0o666)
        environment = {"BALANCE_CONFIG": cls.configuration}
        shared = webservers.FastCgi(socket_path)
        cls.servers = {}
        for name, kind, route, how in (
            ("nginx", webservers.Nginx, shared, {}),
            ("nginx-keep", webservers.Nginx, shared, {"keep_connections": 32}),
            ("lighttpd", webservers.Lighttpd, shared, {}),
            ("lighttpd-spawned", webservers.Lighttpd, webservers.Spawned(cls.program, environment), {}),
            ("lighttpd-cgi", webservers.Lighttpd, webservers.Cgi(cls.program, environment), {}),
            ("apache-proxy", webservers.Apache, shared, {}),
            ("apache-fcgid", webservers.Apache, webservers.Spawned(cls.program, environment), {}),
            ("apache-cgid", webservers.Apache, webservers.Cgi(cls.program, environment), {}),
        ):
            port = processes.free_port()
            server = kind(cls.scene, name, "127.0.0.1", port, {"/cgi-bin/mapserv": route}, **how)
            cls.servers[name] = server.start()

    def each(self, check):
        """Calls check(name, server) for all of them; one that fails does not keep the others from being tried."""
        for name, server in self.servers.items():
            with self.subTest(server=name):
                check(name, server)

    def ask(self, server, target, **how):
        return client.ask("127.0.0.1", server.port, target, **how)

    def test_the_web_servers_that_start_balance_themselves_keep_it(self):
        for name in ("lighttpd-spawned", "apache-fcgid"):
            with self.subTest(server=name):
                self.assertEqual(self.ask(self.servers[name], f"/cgi-bin/mapserv?{MAP}").status, 302)
                running = [
                    os.readlink(f"/proc/{pid}/exe") for pid in processes.descendants(self.servers[name].process.pid)
                ]
                self.assertIn(self.program, running)

    def test_get_and_head(self):
        def check(_, server):
            for method in ("GET", "HEAD"):
                answer = self.ask(server, f"/cgi-bin/mapserv?{MAP}", method=method)
                self.assertEqual(answer.status, 302)
                self.assertEqual(self.leads_to_a_host(answer.header("Location")), f"/cgi-bin/mapserv?{MAP}")
                self.assertEqual(answer.header("Cache-Control"), "no-store")
                self.assertIn(answer.header("X-Balance-Host"), NAMES)
                self.assertEqual(answer.body == b"", method == "HEAD")

        self.each(check)

    def test_options_is_answered_here(self):
        def check(_, server):
            answer = self.ask(
                server,
                f"/cgi-bin/mapserv?{MAP}",
                method="OPTIONS",
                headers=(("Origin", "http://elsewhere.example"), ("Access-Control-Request-Method", "POST")),
            )
            self.assertEqual(answer.status, 204)
            self.assertIn("POST", answer.header("Access-Control-Allow-Methods"))

        self.each(check)

    def test_post_is_redirected_with_its_method(self):
        def check(_, server):
            for kind, body in (
                ("application/x-www-form-urlencoded", b"map=WORLD&mode=map"),
                ("text/xml", b"<GetFeature/>"),
                ("text/xml", b"<GetFeature>" + b" " * 100000 + b"</GetFeature>"),
            ):
                answer = self.ask(
                    server, "/cgi-bin/mapserv?map=WORLD", method="POST", headers=(("Content-Type", kind),), body=body
                )
                self.assertEqual(answer.status, 307)
                self.assertEqual(self.leads_to_a_host(answer.header("Location")), "/cgi-bin/mapserv?map=WORLD")

        self.each(check)

    def test_a_path_below_the_script_stays_as_it_was_written(self):
        def check(_, server):
            for path in ("/WORLD/ogcapi/collections", "/WORLD/ogcapi/a%20b"):
                answer = self.ask(server, f"/cgi-bin/mapserv{path}?f=json")
                self.assertEqual(answer.status, 302)
                self.assertEqual(self.leads_to_a_host(answer.header("Location")), f"/cgi-bin/mapserv{path}?f=json")

        self.each(check)

    def test_an_encoded_slash_stays_encoded_where_the_web_server_lets_it_in(self):
        def check(name, server):
            answer = self.ask(server, "/cgi-bin/mapserv/WORLD/a%2Fb?f=json")
            if name.startswith("apache"):
                self.assertEqual(answer.status, 404)  # AllowEncodedSlashes is off unless set
                return
            self.assertEqual(answer.status, 302)
            self.assertEqual(self.leads_to_a_host(answer.header("Location")), "/cgi-bin/mapserv/WORLD/a%2Fb?f=json")

        self.each(check)

    def test_a_query_comes_through_byte_for_byte(self):
        def check(_, server):
            for query in ("LAYERS=a%2Bb+c%26d&x=%2520", "map=A;service=WMS&q=a;b", "a=b?c=d&e", "a=%C3%A9&b=~x-._"):
                answer = self.ask(server, f"/cgi-bin/mapserv?{query}")
                self.assertEqual(self.leads_to_a_host(answer.header("Location")), f"/cgi-bin/mapserv?{query}")

        self.each(check)

    def test_long_queries_up_to_what_the_web_server_takes(self):
        def check(name, server):
            size = 7000 if name.startswith(("apache", "lighttpd")) else 3300
            query = f"map=WORLD&mode=map&x={'y' * size}"
            answer = self.ask(server, f"/cgi-bin/mapserv?{query}")
            self.assertEqual(answer.status, 302)
            self.assertEqual(self.leads_to_a_host(answer.header("Location")), f"/cgi-bin/mapserv?{query}")

        self.each(check)

    def test_a_method_that_is_none_is_refused_by_somebody(self):
        def check(_, server):
            self.assertIn(self.ask(server, f"/cgi-bin/mapserv?{MAP}", method="B@D").status, (400, 405, 501))

        self.each(check)

    def test_many_clients_at_once_are_all_served(self):
        def check(name, server):
            clients, requests = (12, 2) if name.endswith("-cgi") or "apache" in name else (40, 5)
            outcomes = []

            def client_of_its_own(server=server, requests=requests, outcomes=outcomes):
                for _ in range(requests):
                    outcomes.append(self.ask(server, f"/cgi-bin/mapserv?{MAP}", timeout=20).status)

            threads = [threading.Thread(target=client_of_its_own) for _ in range(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
            self.assertEqual(outcomes, [302] * (clients * requests))

        self.each(check)

    def test_a_web_server_gets_an_answer_from_a_balance_started_again(self):
        for name in ("nginx", "nginx-keep"):
            with self.subTest(server=name):
                server = self.servers[name]
                self.assertEqual(self.ask(server, f"/cgi-bin/mapserv?{MAP}").status, 302)
        self.assertEqual(self.balance.stop(), 0)
        type(self).balance = self.scene.start(
            "front",
            [self.program, "--listen", f"unix:{self.scene.path('front.sock')}"],
            env={"BALANCE_CONFIG": self.configuration},
        )
        self.balance.wait_for(lambda: os.path.exists(self.scene.path("front.sock")), 5, "balance's socket")
        os.chmod(self.scene.path("front.sock"), 0o666)
        for name in ("nginx", "nginx-keep"):
            with self.subTest(server=name):
                self.assertEqual(self.ask(self.servers[name], f"/cgi-bin/mapserv?{MAP}").status, 302)


if __name__ == "__main__":
    unittest.main()
