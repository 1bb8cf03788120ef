#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`balance` starts a poolwatch where nobody runs one. BUILD names the build folder."""

import contextlib
import http.server
import os
import shutil
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib import fastcgi, processes  # noqa: E402
from lib.case import require_programs  # noqa: E402
from lib.gateway import ADDRESSES, CGI, NAMES, GatewayCase, can_connect  # noqa: E402


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
        process.wait_for(lambda: can_connect(where), 5, "a socket")
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
        process.wait_for(lambda: can_connect(where), 5, "a socket")
        with fastcgi.Connection(where) as connection:
            end = time.monotonic() + 1.5
            hosts = []
            while time.monotonic() < end:
                hosts.append(fastcgi.head(connection.ask())["X-Balance-Host"])
                time.sleep(0.01)
        self.assertEqual(set(hosts), set(NAMES))
        self.assertEqual(process.said(1000).count("nobody watches the hosts"), 1)


if __name__ == "__main__":
    unittest.main()
