#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The gateway: `balance` as CGI and FastCGI, by hand, over raw FastCGI, and behind real web servers. The hosts are
sockets that accept, since a redirect needs no more of them. BUILD names the build folder."""

import contextlib
import fcntl
import http.server
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib import client, fastcgi, fleet, processes, webservers, world  # noqa: E402
from lib.case import require_programs  # noqa: E402

NAMES = ("pinchot", "leopold", "darwin")
ADDRESSES = ("127.0.0.17", "127.0.0.18", "127.0.0.19")
MAP = "map=WORLD&mode=map&layers=countries"
CGI = {
    "GATEWAY_INTERFACE": "CGI/1.1",
    "REQUEST_METHOD": "GET",
    "QUERY_STRING": MAP,
    "SCRIPT_NAME": "/cgi-bin/mapserv",
    "SERVER_NAME": "maps.example.org",
    "SERVER_PORT": "80",
    "REMOTE_ADDR": "192.0.2.7",
}


class WebPorts:
    """Three addresses whose port accepts and says nothing: hosts for whoever only checks that they are there."""

    def __init__(self):
        self.port = processes.free_port(*ADDRESSES)
        self.listeners = []
        for address in ADDRESSES:
            listener = socket.create_server((address, self.port), backlog=64)
            self.listeners.append(listener)
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    @staticmethod
    def _accept(listener):
        while True:
            try:
                listener.accept()[0].close()
            except OSError:
                return

    def close(self):
        for listener in self.listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def configuration(self, more=""):
        hosts = "".join(
            f"host = {name} http://{address}:{self.port} probe=none\n" for name, address in zip(NAMES, ADDRESSES)
        )
        return f"{more}\n{hosts}"


class GatewayCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_programs("balance")
        cls.ports = WebPorts()
        cls.addClassCleanup(cls.ports.close)
        cls.scene = processes.Scene(cls.__name__.lower())
        cls.addClassCleanup(cls.scene.close)
        # A web server may run its programs as another user, who must find them and write the shared state.
        cls.state = cls.scene.path("state")
        os.makedirs(cls.state)
        os.chmod(cls.state, 0o777)
        cls.program = cls.scene.path("balance")
        shutil.copy(fleet.program("balance"), cls.program)
        if os.access(fleet.program("poolwatch"), os.X_OK):
            shutil.copy(fleet.program("poolwatch"), cls.scene.path("poolwatch"))
        cls.configuration = cls.configure("balance.conf")

    @classmethod
    def configure(cls, name, more="", state=None):
        return cls.scene.write(name, cls.ports.configuration(f"state-dir = {state or cls.state}\n{more}"))

    def leads_to_a_host(self, location):
        """What follows the authority of one of the hosts."""
        match = re.fullmatch(r"http://(127\.0\.0\.1[789]):(\d+)(.*)", location or "", re.S)
        self.assertTrue(match, f"Location is {location!r}")
        self.assertEqual(int(match[2]), self.ports.port)
        return match[3]


class Cgi(GatewayCase):
    def run_it(self, *arguments, env=None, **how):
        environment = {"BALANCE_CONFIG": self.configuration, **CGI} if env is None else env
        how.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(
            [self.program, *arguments], env=environment, capture_output=True, timeout=10, check=False, **how
        )

    def test_answers_one_request(self):
        done = self.run_it()
        self.assertEqual(done.returncode, 0, done.stderr)
        head = fastcgi.head(done.stdout)
        self.assertEqual(head["Status"], "302 Found")
        self.assertEqual(self.leads_to_a_host(head["Location"]), f"/cgi-bin/mapserv?{MAP}")
        self.assertIn(head["X-Balance-Host"], NAMES)

    def test_a_query_without_equals_sign_that_comes_as_argument_means_nothing(self):
        for arguments in (["--help"], ["--listen", "unix:/nowhere/socket"], ["--check"], ["layers", "+x"]):
            env = {"BALANCE_CONFIG": self.configuration, **CGI, "QUERY_STRING": "+".join(arguments)}
            done = self.run_it(*arguments, env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith(b"Status: 302 Found\r\n"), done.stdout)

    def test_the_method_alone_makes_it_cgi(self):
        env = {"BALANCE_CONFIG": self.configuration, "REQUEST_METHOD": "GET", "QUERY_STRING": MAP}
        self.assertEqual(fastcgi.head(self.run_it("--help", env=env).stdout)["Status"], "302 Found")

    def test_head_has_no_body(self):
        done = self.run_it(env={"BALANCE_CONFIG": self.configuration, **CGI, "REQUEST_METHOD": "HEAD"})
        self.assertTrue(done.stdout.endswith(b"\r\n\r\n"))
        self.assertEqual(fastcgi.head(done.stdout)["Status"], "302 Found")

    def test_a_body_is_taken_though_nobody_needs_it(self):
        # Apache's mod_cgid: one socket is both standard input and output. Closed with bytes unread it loses the answer.
        for size in (1, 300000):
            ours, theirs = socket.socketpair()
            env = {
                "BALANCE_CONFIG": self.configuration,
                **CGI,
                "REQUEST_METHOD": "POST",
                "CONTENT_TYPE": "text/xml",
                "CONTENT_LENGTH": str(size),
            }
            with ours, theirs, subprocess.Popen([self.program], env=env, stdin=theirs, stdout=theirs) as process:
                theirs.close()
                ours.settimeout(10)
                ours.sendall(b"x" * size)
                self.assertEqual(process.wait(10), 0)
                answer = b""
                while piece := ours.recv(4096):
                    answer += piece
            self.assertEqual(fastcgi.head(answer)["Status"], "307 Temporary Redirect")

    def test_works_with_standard_input_closed(self):
        done = self.run_it(stdin=None, preexec_fn=lambda: os.close(0))
        self.assertEqual(fastcgi.head(done.stdout)["Status"], "302 Found")

    def test_a_connected_socket_as_standard_input_is_cgi(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self.assertEqual(fastcgi.head(self.run_it(stdin=theirs).stdout)["Status"], "302 Found")

    def test_a_faulty_configuration_is_a_page_and_a_word_to_the_error_log(self):
        faulty = self.scene.write("faulty.conf", "host = pinchot ftp://pinchot.example.org\nmoed = relay\n")
        done = self.run_it(env={"BALANCE_CONFIG": faulty, **CGI})
        self.assertEqual(done.returncode, 2)
        self.assertEqual(fastcgi.head(done.stdout)["Status"], "503 Service Unavailable")
        self.assertIn(b"configuration", done.stdout)
        self.assertIn(f"{faulty}:1:", done.stderr.decode())
        self.assertIn(f"{faulty}:2:", done.stderr.decode())
        self.assertNotIn(b"moed", done.stdout)

    def test_a_half_edited_configuration_leaves_the_one_that_is_in_use(self):
        state = self.scene.path("state-of-editing")
        configuration = self.configure("edited.conf", state=state)
        env = {"BALANCE_CONFIG": configuration, **CGI}
        copy = os.path.join(state, "edited.conf.used")
        processes.wait_until(lambda: self.run_it(env=env) and os.path.exists(copy), 8, "the copy")
        self.configure("edited.conf", "moed = relay\nhost = du", state=state)
        told = 0
        for _ in range(5):
            done = self.run_it(env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.leads_to_a_host(fastcgi.head(done.stdout)["Location"])
            told += done.stderr.count(f"{configuration}:2:".encode())
            self.assertEqual(f"{configuration}:2:".encode() in done.stderr, f"{configuration}:3:".encode() in done.stderr)
        self.assertEqual(told, 1)
        # poolwatch has left meanwhile, or died: who is started now goes by the copy too.
        with open(os.path.join(state, "edited.conf.lease"), encoding="utf-8") as lease:
            os.kill(int(lease.read().split()[0]), signal.SIGKILL)
        log = os.path.join(state, "edited.conf.log")

        def goes_on():
            self.assertEqual(self.run_it(env=env).returncode, 0)
            with open(log, encoding="utf-8") as lines:
                return "the old one stays" in (text := lines.read()) and text.count("watching hosts") == 2

        processes.wait_until(goes_on, 8, "another poolwatch")
        shown = self.run_control(configuration, "status")
        self.assertEqual(shown.returncode, 2)
        self.assertIn(f"{configuration}:2:", shown.stderr)
        self.assertRegex(shown.stdout, r"(?m)^config +HAS 2 FAULTS, .*\ntable +" + re.escape(state))
        for name in NAMES:
            self.assertRegex(shown.stdout, rf"(?m)^{name} ")
        self.assertEqual(len(json.loads(self.run_control(configuration, "status", "--json").stdout)["faults"]), 2)
        self.assertEqual(self.run_control(configuration, "explain", MAP).returncode, 2)
        checked = self.run_control(configuration, "check")
        self.assertEqual((checked.returncode, checked.stdout), (2, ""))
        # Set right, the new one counts with the next request.
        self.configure("edited.conf", "host-header = no\n", state=state)
        head = fastcgi.head(self.run_it(env=env).stdout)
        self.assertTrue("Location" in head and "X-Balance-Host" not in head, head)

    @staticmethod
    def run_control(configuration, *arguments):
        return subprocess.run(
            [fleet.program("balancectl"), "--config", configuration, *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )

    def test_a_missing_configuration_is_named(self):
        done = self.run_it(env={"BALANCE_CONFIG": self.scene.path("nothing.conf"), **CGI})
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"nothing.conf", done.stderr)

    def test_sigterm_ends_it(self):
        process = subprocess.Popen(
            [self.program],
            env={"BALANCE_CONFIG": self.configuration, **CGI},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]),
        )
        with process:
            self.assertTrue(process.stdout.read())  # a blocked signal is no reason to hang
            self.assertEqual(process.wait(5), 0)


class ByHand(GatewayCase):
    def run_it(self, *arguments, configuration=None):
        return subprocess.run(
            [self.program, *arguments],
            env={"BALANCE_CONFIG": configuration or self.configuration},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )

    def test_help_and_version(self):
        done = self.run_it("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("--listen", done.stdout)
        self.assertRegex(self.run_it("--version").stdout, r"^balance \d+\.\d+\n$")

    def test_check(self):
        done = self.run_it("--check")
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.configuration}: fine, 3 hosts\n"))
        faulty = self.scene.write("check.conf", "host = pinchot http://pinchot.example.org wieght=2\nmode = no\n")
        done = self.run_it("--check", configuration=faulty)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(f"{faulty}:1:", done.stderr)
        self.assertIn(f"{faulty}:2:", done.stderr)

    def test_anything_else_is_bad_usage(self):
        for arguments in ([], ["--port"], ["--listen"], ["--check", "x"], ["--listen", "localhost:9000"]):
            done = self.run_it(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
            self.assertTrue(done.stderr)


class Served(GatewayCase):
    """`balance --listen` on a socket of its own, one a test."""

    def serve(self, *, configuration=None, where=None, shell=None, env=None):
        self.number = getattr(self, "number", 0) + 1
        name = f"{self.id().rpartition('.')[2]}-{self.number}"
        where = where or f"unix:{self.scene.path(name[-40:] + '.sock')}"
        command = [self.program, "--listen", where]
        if shell:
            command = ["sh", "-c", f'{shell}; exec "$0" "$@"', *command]
        process = self.scene.start(
            name, command, env={"BALANCE_CONFIG": configuration or self.configuration, **(env or {})}
        )
        self.addCleanup(process.kill)
        process.wait_for(lambda: self.can_connect(where), 5, f"a socket at {where}")
        return process, where

    @staticmethod
    def can_connect(where):
        with contextlib.suppress(OSError), fastcgi.Connection(where):
            return True
        return False

    def assert_redirected(self, answer):
        self.assertEqual(fastcgi.head(answer)["Status"], "302 Found")
        return self.leads_to_a_host(fastcgi.head(answer)["Location"])

    def test_many_kept_connections_are_all_served(self):
        _, where = self.serve()
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(fastcgi.Connection(where)) for _ in range(200)]
            for _ in range(3):
                for connection in connections:
                    self.assert_redirected(connection.ask())

    def test_more_kept_connections_than_threads_are_all_served(self):
        _, where = self.serve(configuration=self.configure("few.conf", "max-connections = 4\n"))
        served = []

        def client_of_its_own(number):
            connection = fastcgi.Connection(where, timeout=10)
            for _ in range(5):
                try:
                    answer = connection.ask()
                except ConnectionError:  # closed while it was idle, which a web server answers by a new one
                    connection.close()
                    connection = fastcgi.Connection(where, timeout=10)
                    answer = connection.ask()
                self.assert_redirected(answer)
            served.append(number)
            time.sleep(0.5)  # and keeps its last connection
            connection.close()

        threads = [threading.Thread(target=client_of_its_own, args=(number,)) for number in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        self.assertEqual(sorted(served), list(range(24)))

    def test_a_connection_that_is_not_to_be_kept_is_closed(self):
        _, where = self.serve()
        with fastcgi.Connection(where) as connection:
            self.assert_redirected(connection.ask(keep=False))
            self.assertTrue(connection.ends())

    def test_a_body_is_no_part_of_the_next_request(self):
        _, where = self.serve()
        for size in (1, 100, 8192, 300000):
            with fastcgi.Connection(where) as connection:
                connection.send(fastcgi.request(method="POST", body=b"x" * size))
                self.assertEqual(fastcgi.head(connection.answer())["Status"], "307 Temporary Redirect")
                self.assert_redirected(connection.ask(query=MAP))

    def test_a_body_that_holds_a_foreign_record_ends_the_connection(self):
        _, where = self.serve()
        head = fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, fastcgi.pairs(fastcgi.variables(method="POST")))
        values = fastcgi.record(fastcgi.GET_VALUES, fastcgi.pairs({b"FCGI_MPXS_CONNS": b""}) * 50, request=0)
        for foreign in (values, fastcgi.record(fastcgi.STDIN, b"x", request=2), fastcgi.record(fastcgi.PARAMS, b"x")):
            with fastcgi.Connection(where) as connection:
                connection.send(head + fastcgi.record(fastcgi.STDIN, b"x" * 100) + foreign)
                self.assertTrue(connection.ends())
        with fastcgi.Connection(where) as connection:
            self.assert_redirected(connection.ask(query=MAP))

    def test_a_request_may_come_in_pieces(self):
        _, where = self.serve()
        whole = fastcgi.request(query=MAP)
        with fastcgi.Connection(where) as connection:
            for at in range(0, len(whole), 7):
                connection.send(whole[at : at + 7])
            self.assert_redirected(connection.answer())
            for size in (8, 24, len(whole) - 8):  # as mod_proxy_fcgi sends it: record by record
                connection.send(whole[:size])
                time.sleep(0.02)
                connection.send(whole[size:])
                self.assert_redirected(connection.answer())

    def test_a_request_that_comes_byte_by_byte_does_not_stall(self):
        _, where = self.serve()
        for address in (where, self.serve(where=f"127.0.0.1:{processes.free_port()}")[1]):
            for size in (10, 5000):
                query = f"map=WORLD&mode=map&x={'y' * size}"
                with fastcgi.Connection(address) as connection:
                    for byte in fastcgi.request(query=query):
                        connection.send(bytes([byte]))
                    self.assertEqual(self.assert_redirected(connection.answer()), f"/cgi-bin/mapserv?{query}")

    def test_unfinished_uploads_do_not_keep_others_out(self):
        _, where = self.serve(configuration=self.configure("eight.conf", "max-connections = 8\n"))
        head = fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, fastcgi.pairs(fastcgi.variables(method="POST")))
        begun = {
            "a body of which a byte came": head + fastcgi.record(fastcgi.STDIN, b"x" * 1000)[:9],
            "a body of which nothing came": head,
            "a head in pieces": head[:30],
            "nothing": b"",
        }
        for what, data in begun.items():
            with self.subTest(what), contextlib.ExitStack() as stack:
                for _ in range(24):
                    stack.enter_context(fastcgi.Connection(where)).send(data)
                asked = time.monotonic()
                with fastcgi.Connection(where, timeout=20) as connection:
                    self.assert_redirected(connection.ask(query=MAP))
                self.assertLess(time.monotonic() - asked, 10)

    def test_padding_behind_the_end_of_the_input_is_no_part_of_the_next_request(self):
        _, where = self.serve()
        head = fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, fastcgi.pairs(fastcgi.variables(query=MAP)))
        padded = head + fastcgi.record(fastcgi.STDIN, padding=200)
        with fastcgi.Connection(where) as connection:
            for pieces in ([padded], [padded[:-100], padded[-100:]], [head, padded[len(head) :]], [padded + padded]):
                for piece in pieces:
                    connection.send(piece)
                    time.sleep(0.02)
                for _ in range(len(b"".join(pieces)) // len(padded)):
                    self.assert_redirected(connection.answer())

    def test_requests_sent_without_waiting_for_answers_are_all_answered(self):
        _, where = self.serve()
        asked = [{"query": MAP}, {"method": "POST", "body": b"x" * 300}, {"query": MAP}, {"query": MAP}]
        with fastcgi.Connection(where) as connection:
            connection.send(b"".join(fastcgi.request(**how) for how in asked))
            answers = [fastcgi.head(connection.answer())["Status"] for _ in asked]
        self.assertEqual(answers, ["302 Found", "307 Temporary Redirect", "302 Found", "302 Found"])

    def test_a_peer_that_takes_no_answers_holds_nobody_up(self):
        _, where = self.serve()
        whole = fastcgi.request(query=MAP)

        def is_read(connection, seconds=1.0):
            end = time.monotonic() + seconds
            while struct.unpack("i", fcntl.ioctl(connection.socket, termios.TIOCOUTQ, bytes(4)))[0] > 0:
                if time.monotonic() > end:
                    return False
                time.sleep(0.0005)
            return True

        for one_at_a_time in (True, False):
            with self.subTest(one_at_a_time=one_at_a_time), fastcgi.Connection(where, timeout=1) as deaf:
                sent = 0
                with contextlib.suppress(TimeoutError):
                    while sent < 2000 and (not one_at_a_time or is_read(deaf)):
                        deaf.send(whole)
                        sent += 1
                self.assertLess(sent, 2000)
                asked = time.monotonic()
                with fastcgi.Connection(where) as connection:
                    self.assert_redirected(connection.ask(query=MAP))
                self.assertLess(time.monotonic() - asked, 0.5)

    def test_a_long_query_passes(self):
        _, where = self.serve()
        for address in (where, self.serve(where=f"127.0.0.1:{processes.free_port()}")[1]):
            with fastcgi.Connection(address) as connection:
                for size in (3000, 4096, 30000, 60000):
                    query = f"map=WORLD&mode=map&x={'y' * size}"
                    self.assertEqual(self.assert_redirected(connection.ask(query=query)), f"/cgi-bin/mapserv?{query}")

    def test_odd_bytes_never_leave_the_location_line(self):
        _, where = self.serve()
        with fastcgi.Connection(where) as connection:
            for given, wanted in (
                (b"a=b\r\nSet-Cookie: x=y", "a=b%0D%0ASet-Cookie:%20x=y"),
                (b'a="<x>"', "a=%22%3Cx%3E%22"),
                (b"a=\xc3\xa9\xff", "a=%C3%A9%FF"),
                (b"a=%0d%0aSet-Cookie:x", "a=%0d%0aSet-Cookie:x"),
                (b"a=b;c=%2B+%2520[1]~", "a=b;c=%2B+%2520[1]~"),
            ):
                answer = connection.ask(query="", QUERY_STRING=given, REQUEST_URI=b"/cgi-bin/mapserv?" + given)
                self.assertEqual(self.assert_redirected(answer), f"/cgi-bin/mapserv?{wanted}")
                self.assertEqual(answer.lower().count(b"\r\nlocation:"), 1)
                self.assertNotIn(b"\r\nSet-Cookie", answer)

    def test_hostile_records_end_their_connection_and_nothing_else(self):
        process, where = self.serve()
        four = fastcgi.struct.Struct(">I").pack
        lies = [
            fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, four(a) + four(b) + b"abc")
            for a in (0xFFFFFFFF, 0xFFFFFFFE, 0xBFFFFFFF, 0x80000100)
            for b in (0xFFFFFFFF, 0xFFFFFFFE, 0x80000001)
        ]
        asked = fastcgi.pairs({b"FCGI_MAX_CONNS": b""})
        others = [
            fastcgi.record(fastcgi.GET_VALUES, asked * 300, request=0),
            fastcgi.begin() + fastcgi.record(fastcgi.GET_VALUES, asked * 300, request=0),
            fastcgi.begin() + fastcgi.begin(),
            fastcgi.begin() + fastcgi.record(fastcgi.STDIN, b"abc"),
            fastcgi.begin() + fastcgi.record(fastcgi.PARAMS, b"abc", request=2),
            fastcgi.begin(role=77) + fastcgi.stream(fastcgi.PARAMS, b""),
            fastcgi.record(fastcgi.BEGIN, bytes(8), version=9),
            b"GET / HTTP/1.0\r\n\r\n",
            bytes(range(256)) * 16,
            fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, bytes(60000)),
            fastcgi.begin() + fastcgi.record(fastcgi.PARAMS, b"x" * 60000) * 40,
        ]
        for data in lies + others:
            with fastcgi.Connection(where, timeout=5) as connection:
                with contextlib.suppress(ConnectionError):
                    connection.send(data)
                    connection.socket.shutdown(socket.SHUT_WR)
                self.assertTrue(connection.ends(), data[:40])
        with fastcgi.Connection(where) as connection:
            self.assert_redirected(connection.ask())
        self.assertTrue(process.alive(), process.said())
        self.assertEqual(process.said(1000).count("no FastCGI request"), 1)

    def test_a_peer_that_goes_away_early_harms_nobody(self):
        process, where = self.serve()
        whole = fastcgi.request(query=MAP)
        for size in range(0, len(whole) + 1, 5):
            with fastcgi.Connection(where) as connection:
                connection.send(whole[:size])
        with fastcgi.Connection(where) as connection:
            self.assert_redirected(connection.ask())
        self.assertTrue(process.alive())

    def test_a_configuration_named_by_a_request_is_ignored_and_told_once(self):
        process, where = self.serve()
        with fastcgi.Connection(where) as connection:
            for _ in range(3):
                self.assert_redirected(connection.ask(BALANCE_CONFIG="/nowhere/other\n.conf"))
        told = [line for line in process.said(1000).splitlines() if "BALANCE_CONFIG" in line]
        self.assertEqual(len(told), 1, process.said())
        self.assertIn("other\\x0A.conf", told[0])

    def test_ends_at_once_when_idle(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            process, where = self.serve()
            with fastcgi.Connection(where) as kept:
                self.assert_redirected(kept.ask())
                began = time.monotonic()
                os.kill(process.pid, number)
                self.assertEqual(process.popen.wait(5), 0)
                self.assertLess(time.monotonic() - began, 0.5)
                self.assertTrue(kept.ends())
            self.assertFalse(os.path.exists(where[5:]))

    def test_finishes_a_request_that_has_begun(self):
        process, where = self.serve()
        whole = fastcgi.request(query=MAP)
        with fastcgi.Connection(where) as connection, fastcgi.Connection(where) as kept:
            self.assert_redirected(kept.ask())
            connection.send(whole[:40])
            kept.ask()
            os.kill(process.pid, signal.SIGTERM)
            self.assertTrue(kept.ends())
            self.assertTrue(process.alive())
            connection.send(whole[40:])
            self.assert_redirected(connection.answer())
            self.assertEqual(process.popen.wait(5), 0)

    def test_does_not_wait_for_ever_to_finish(self):
        process, where = self.serve()
        with fastcgi.Connection(where) as connection:
            connection.send(fastcgi.request()[:40])
            with fastcgi.Connection(where) as other:
                other.ask()
            began = time.monotonic()
            os.kill(process.pid, signal.SIGTERM)
            self.assertEqual(process.popen.wait(10), 0)
            self.assertLess(time.monotonic() - began, 7)
        self.assertIn("requests cut off", process.said())

    def test_sigpipe_and_sighup_do_not_end_it(self):
        process, where = self.serve()
        for number in (signal.SIGPIPE, signal.SIGHUP):
            os.kill(process.pid, number)
            with fastcgi.Connection(where) as connection:
                self.assert_redirected(connection.ask())
        self.assertTrue(process.alive())

    def test_the_socket_is_for_owner_and_group_and_a_stale_one_is_replaced(self):
        process, where = self.serve()
        self.assertEqual(os.stat(where[5:]).st_mode & 0o777, 0o660)
        second = subprocess.run(
            [self.program, "--listen", where],
            env={"BALANCE_CONFIG": self.configuration},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
        self.assertEqual(second.returncode, 1)
        self.assertIn("somebody listens on", second.stderr)
        process.kill()
        self.assertTrue(os.path.exists(where[5:]))
        with fastcgi.Connection(self.serve(where=where)[1]) as connection:
            self.assert_redirected(connection.ask())

    def test_an_address_that_others_reach_is_warned_of(self):
        process, where = self.serve(where=f"0.0.0.0:{processes.free_port()}")
        with fastcgi.Connection(where.replace("0.0.0.0", "127.0.0.1")) as connection:
            self.assert_redirected(connection.ask())
        self.assertIn("warning", process.said())
        process, _ = self.serve(where=f"127.0.0.1:{processes.free_port()}")
        self.assertNotIn("others can reach", process.said())

    def test_only_the_web_servers_that_the_environment_names_may_connect(self):
        for named, may in (("127.0.0.1", True), ("192.0.2.1, 127.0.0.1", True), ("192.0.2.1,2001:db8::1", False)):
            where = f"127.0.0.1:{processes.free_port()}"
            self.serve(where=where, env={"FCGI_WEB_SERVER_ADDRS": named})
            with fastcgi.Connection(where) as connection:
                if may:
                    self.assert_redirected(connection.ask())
                else:
                    self.assertTrue(connection.ends())
        with fastcgi.Connection(self.serve(env={"FCGI_WEB_SERVER_ADDRS": "192.0.2.1"})[1]) as connection:
            self.assert_redirected(connection.ask())  # a UNIX socket has its file mode

    def test_a_faulty_configuration_at_start_is_told_whole(self):
        faulty = self.scene.write("start.conf", "host = pinchot nonsense\nmoed = relay\n")
        done = subprocess.run(
            [self.program, "--listen", f"unix:{self.scene.path('start.sock')}"],
            env={"BALANCE_CONFIG": faulty},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{faulty}:1:", done.stderr)
        self.assertIn(f"{faulty}:2:", done.stderr)
        self.assertFalse(os.path.exists(self.scene.path("start.sock")))

    def test_says_at_its_start_what_it_serves_and_where(self):
        process, where = self.serve()
        said = (
            f"balance: info: serving listen={where} config={self.configuration} hosts=3 mode=auto relays=no "
            "max-connections=512"
        )
        process.wait_for(lambda: said in process.said(1000), 2, said)

    def test_what_balance_became_speaks_as_balance(self):
        folder = self.scene.path("both")
        os.makedirs(folder)
        for name in ("balance", "balance-relay", "poolwatch"):
            shutil.copy(fleet.program(name), folder)
        os.symlink(os.path.join(folder, "balance"), os.path.join(folder, "mapserv"))
        for name, speaks_as in (("balance", "balance"), ("mapserv", "balance"), ("balance-relay", "balance-relay")):
            where = f"unix:{self.scene.path(f'{name}.sock')}"
            process = self.scene.start(
                name, [os.path.join(folder, name), "--listen", where], env={"BALANCE_CONFIG": self.configuration}
            )
            self.addCleanup(process.stop)
            process.wait_for(lambda p=process: " serving " in p.said(1000), 5, "its first line")
            self.assertIn(f"listen={where} config={self.configuration} hosts=3 mode=auto relays=yes ", process.said(1000))
            self.assertTrue(all(line.startswith(f"{speaks_as}: ") for line in process.said(1000).splitlines()))
            again = subprocess.run(
                [os.path.join(folder, name), "--listen", where],
                env={"BALANCE_CONFIG": self.configuration},
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
            )
            self.assertRegex(again.stderr, rf"\A{speaks_as}: somebody listens on ")

    def test_a_changed_configuration_is_taken_and_a_faulty_one_is_not(self):
        state = self.scene.path("state-of-changing")
        configuration = self.configure("changing.conf", state=state)
        process, where = self.serve(configuration=configuration)
        with fastcgi.Connection(where) as connection:
            self.assertIn("X-Balance-Host", fastcgi.head(connection.ask()))
            self.configure("changing.conf", "host-header = no\n", state=state)
            processes.wait_until(
                lambda: "X-Balance-Host" not in fastcgi.head(connection.ask()), 4, "the new configuration"
            )
            self.scene.write("changing.conf", "moed = relay\n")
            processes.wait_until(
                lambda: connection.ask() and "the old one stays" in process.said(), 4, "a word about the faulty one"
            )
            self.assert_redirected(connection.ask())
            for fault in ("unknown key 'moed'", "found no host"):  # a line each, and once
                self.assertEqual(process.said(1000).count(fault), 1)
            self.assertIn(f"{configuration}:1:", process.said())

    def test_sighup_reads_the_configuration_now(self):
        configuration = self.configure("hup.conf", state=self.scene.path("state-of-hup"))
        process, where = self.serve(configuration=configuration)
        self.scene.write("hup.conf", "moed = relay\n")
        os.kill(process.pid, signal.SIGHUP)
        processes.wait_until(lambda: "the old one stays" in process.said(), 0.9, "a word about the faulty one")
        with fastcgi.Connection(where) as connection:
            self.assert_redirected(connection.ask())

    def test_one_that_a_web_server_starts_meanwhile_goes_by_the_one_in_use(self):
        state = self.scene.path("state-of-respawning")
        configuration = self.configure("respawned.conf", state=state)
        self.serve(configuration=configuration)  # and with it poolwatch
        processes.wait_until(lambda: os.path.exists(os.path.join(state, "respawned.conf.used")), 8, "the copy")
        self.configure("respawned.conf", "moed = relay\n", state=state)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            where = f"127.0.0.1:{listener.getsockname()[1]}"
            process = self.scene.start(
                "respawned", [self.program], env={"BALANCE_CONFIG": configuration}, stdin=listener
            )
            self.addCleanup(process.stop)
        with fastcgi.Connection(where) as connection:
            self.assert_redirected(connection.ask())
            self.assertIn(f"{configuration}:2: unknown key 'moed'", process.said(1000))
            self.configure("respawned.conf", "host-header = no\n", state=state)
            processes.wait_until(
                lambda: "X-Balance-Host" not in fastcgi.head(connection.ask()), 6, "the new configuration"
            )
        done = subprocess.run(  # by hand it says what is wrong, and ends
            [self.program, "--listen", f"unix:{self.scene.path('respawned.sock')}"],
            env={"BALANCE_CONFIG": self.configure("respawned.conf", "moed = relay\n", state=state)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5,
            check=False,
        )
        self.assertEqual(done.returncode, 2)

    def test_more_than_a_thousand_descriptors(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        wanted = 1100
        if hard < 2 * wanted + 200:
            self.skipTest(f"at most {hard} descriptors here")
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        _, where = self.serve(
            configuration=self.configure("thousand.conf", "max-connections = 1500\n"), shell="ulimit -Sn 256"
        )
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(fastcgi.Connection(where)) for _ in range(wanted)]
            for connection in connections:
                self.assert_redirected(connection.ask())
            self.assert_redirected(connections[0].ask())
            self.assert_redirected(connections[-1].ask(keep=False))

    def test_serves_on_descriptor_0(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            where = f"127.0.0.1:{listener.getsockname()[1]}"
            process = self.scene.start(
                "descriptor",
                [self.program, "--help"],  # means nothing to a FastCGI program
                env={"BALANCE_CONFIG": self.configuration},
                stdin=listener,
            )
            with fastcgi.Connection(where) as connection:
                self.assert_redirected(connection.ask())
            self.assertEqual(process.stop(), 0)
            self.assertTrue(self.can_connect(where))  # the socket is not ours to close


class Probe(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        page = b"node_load1 0.1\nnode_procs_running 1\nloadprobe_cores 2\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


class OnDemand(GatewayCase):
    """Nobody runs poolwatch: `balance` starts one. Two hosts live, the third refuses."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        require_programs("poolwatch")
        cls.probe_port = processes.free_port(*ADDRESSES)
        for address in ADDRESSES[:2]:
            server = http.server.ThreadingHTTPServer((address, cls.probe_port), Probe)
            cls.addClassCleanup(server.server_close)
            cls.addClassCleanup(server.shutdown)
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def with_probes(self, name):
        state = self.scene.path(f"state-{name}")
        hosts = "".join(f"host = {n} http://{a}:{self.ports.port}\n" for n, a in zip(NAMES, ADDRESSES))
        return self.scene.write(f"{name}.conf", f"state-dir = {state}\n{hosts}[probe]\nport = {self.probe_port}\n")

    def watchers(self, configuration):
        found = []
        for pid in processes.descendants(os.getpid()):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
                if words[0].endswith(b"poolwatch") and configuration.encode() in words:
                    found.append(pid)
        return found

    def test_the_first_cgi_request_waits_for_the_first_reports_and_the_next_do_not(self):
        configuration = self.with_probes("first")
        seconds, hosts = [], []
        for _ in range(12):
            began = time.monotonic()
            done = subprocess.run(
                [self.program],
                env={"BALANCE_CONFIG": configuration, **CGI},
                stdin=subprocess.DEVNULL,
                capture_output=True,  # returns only when no process holds the pipe any more: poolwatch must not
                timeout=10,
                check=False,
            )
            seconds.append(time.monotonic() - began)
            hosts.append(fastcgi.head(done.stdout)["X-Balance-Host"])
        self.assertLess(seconds[0], 1.0)
        self.assertLess(sorted(seconds[1:])[5], 0.2)
        self.assertEqual(set(hosts), set(NAMES[:2]))
        self.assertEqual(len(self.watchers(configuration)), 1)

    def test_requests_that_come_together_start_one_poolwatch(self):
        configuration = self.with_probes("together")
        processes_ = [
            subprocess.Popen(
                [self.program],
                env={"BALANCE_CONFIG": configuration, **CGI},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
            )
            for _ in range(16)
        ]
        for process in processes_:
            self.assertEqual(fastcgi.head(process.communicate(timeout=10)[0])["Status"], "302 Found")
        self.assertEqual(len(self.watchers(configuration)), 1)

    def test_a_fastcgi_balance_keeps_nobody_waiting_and_soon_knows(self):
        configuration = self.with_probes("fastcgi")
        where = f"unix:{self.scene.path('ondemand.sock')}"
        process = self.scene.start(
            "ondemand", [self.program, "--listen", where], env={"BALANCE_CONFIG": configuration}
        )
        process.wait_for(lambda: Served.can_connect(where), 5, "a socket")
        with fastcgi.Connection(where) as connection:
            end = time.monotonic() + 2
            answers = []
            while time.monotonic() < end:
                began = time.monotonic()
                host = fastcgi.head(connection.ask())["X-Balance-Host"]
                answers.append((began, time.monotonic() - began, host))
                time.sleep(0.01)
        self.assertLess(max(seconds for _, seconds, _ in answers), 0.4)
        late = [host for began, _, host in answers if began > end - 1]
        self.assertEqual(set(late), set(NAMES[:2]))
        self.assertEqual(process.stop(), 0)

    def test_without_a_poolwatch_to_start_it_spreads_and_says_so_once(self):
        alone = self.scene.path("alone")
        os.makedirs(alone)
        shutil.copy(self.program, alone)
        process = self.scene.start(
            "alone",
            [os.path.join(alone, "balance"), "--listen", f"unix:{alone}/sock"],
            env={"BALANCE_CONFIG": self.with_probes("alone")},
        )
        where = f"unix:{alone}/sock"
        process.wait_for(lambda: Served.can_connect(where), 5, "a socket")
        with fastcgi.Connection(where) as connection:
            end = time.monotonic() + 1.5
            hosts = []
            while time.monotonic() < end:
                hosts.append(fastcgi.head(connection.ask())["X-Balance-Host"])
                time.sleep(0.01)
        self.assertEqual(set(hosts), set(NAMES))
        self.assertEqual(process.said(1000).count("nobody watches the hosts"), 1)


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
