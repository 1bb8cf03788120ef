#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`balance` as a CGI program, and by hand. BUILD names the build folder."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib import fastcgi, fleet, processes  # noqa: E402
from lib.gateway import CGI, MAP, NAMES, GatewayCase  # noqa: E402


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
        return processes.run([fleet.program("balancectl"), "--config", configuration, *arguments])

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
        return processes.run([self.program, *arguments], env={"BALANCE_CONFIG": configuration or self.configuration})

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


if __name__ == "__main__":
    unittest.main()
