# SPDX-License-Identifier: MIT
"""What is for this machine stays on it: its own web server carries the redirect out."""

import os
import shutil
import time

from lib import client, fleet, processes, webservers, world
from lib.case import CAPABILITIES, MAP, PNG, SceneCase

PAGE = b"/cgi-bin/mapserv?map=WORLD&mode=browse&layers=countries"


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
