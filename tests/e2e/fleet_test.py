# SPDX-License-Identifier: MIT
"""The ground of the other tests and the demo: real hosts that draw, log, die, return and leave nothing behind."""

import os
import re
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock

from lib import cgroups, client, fleet, processes
from lib.case import MAP, require_programs

HERE = os.path.dirname(os.path.abspath(__file__))


class Fleet(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scene = processes.Scene("fleet")
        cls.addClassCleanup(cls.scene.close)
        cls.fleet = fleet.Fleet(cls.scene, 2, cores=0.3, with_probes=False, forms_lead_to="http://127.0.0.1:9").start()

    def test_each_host_draws_the_map(self):
        for host in self.fleet.hosts:
            answer = client.ask(host.address, self.fleet.port, MAP)
            self.assertEqual((answer.status, answer.header("Content-Type")), (200, "image/png"))
            self.assertTrue(answer.body.startswith(b"\x89PNG"))

    def test_the_access_log_has_the_bytes_that_came(self):
        host = self.fleet.hosts[0]
        _, start = host.web.entries()
        target = b'/cgi-bin/mapserv?map=NONE&q=%2520;a+b"<\xe6\x9d\xb1\x80'
        client.ask(host.address, self.fleet.port, target)
        entries = processes.wait_until(lambda: host.web.entries(start)[0], 2, "the request in the log")
        self.assertEqual([entry.uri for entry in entries], [target])

    def test_the_form_of_a_page_leads_to_the_balancer(self):
        answer = client.ask(self.fleet.hosts[0].address, self.fleet.port, "/cgi-bin/mapserv?map=WORLD&mode=browse")
        self.assertIn(b'<form method="get" action="http://127.0.0.1:9/cgi-bin/mapserv"', answer.body)

    def test_a_killed_host_refuses_and_draws_again_when_started(self):
        host = self.fleet.hosts[1]
        host.kill()
        with self.assertRaises(ConnectionRefusedError):
            client.ask(host.address, self.fleet.port, MAP)
        host.start()
        self.assertEqual(client.ask(host.address, self.fleet.port, MAP).status, 200)

    def test_a_batch_job_uses_the_share_of_its_host_alone(self):
        if self.fleet.shares is None:
            self.skipTest(self.fleet.no_shares)
        busy, idle = self.fleet.hosts
        for host in [busy, idle] * 4:  # every mapserv has started by then
            client.ask(host.address, self.fleet.port, MAP)
        before = busy.cgroup.cpu_seconds(), idle.cgroup.cpu_seconds()
        busy.start_batch_job(2)
        time.sleep(1)
        busy.end_batch_job()
        used = busy.cgroup.cpu_seconds() - before[0]
        # 0.3 of a core is the quota; a machine that is busy otherwise may give less.
        self.assertTrue(0.05 < used < 0.45, used)
        self.assertLess(idle.cgroup.cpu_seconds() - before[1], used / 4)


STORY = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from lib import fleet, processes
processes.exit_on_sigterm()
with processes.Scene("left") as scene:
    two = fleet.Fleet(scene, 2, cores=0.3, with_probes=False, first_address=31).start()
    # A daemon that its parent has left to init.
    daemon = scene.start("daemon", ["/bin/sh", "-c", "setsid sleep 1000 & exit 0"])
    daemon.popen.wait()
    print(scene.folder, two.hosts[0].cgroup and two.hosts[0].cgroup.folders[0], flush=True)
    print(*processes.descendants(os.getpid()), flush=True)
    if sys.argv[2] == "raise":
        raise RuntimeError("something went wrong")
    time.sleep(60)
"""


class WithoutControlGroups(unittest.TestCase):
    """As in a container that may make none."""

    def test_each_host_tells_the_load_of_its_own_mapserv(self):
        require_programs("loadprobe")
        with processes.Scene("tree") as scene:
            with unittest.mock.patch.object(cgroups, "shares", side_effect=cgroups.Unavailable("none here")):
                hosts = fleet.Fleet(scene, 2, cores=0.3).start().hosts
            for host in hosts:  # every mapserv has started by then
                self.assertEqual(client.ask(host.address, host.fleet.port, MAP).status, 200)
            used = {host: mapserv_seconds(host) for host in hosts}
            busy, idle = hosts
            for _ in range(20):
                client.ask(busy.address, busy.fleet.port, MAP)
            self.assertGreater(mapserv_seconds(busy) - used[busy], 0.02)
            self.assertEqual(mapserv_seconds(idle), used[idle])
            busy.kill()
            busy.start()
            self.assertEqual(client.ask(busy.address, busy.fleet.port, MAP).status, 200)


def mapserv_seconds(host):
    """CPU seconds that the host's loadprobe tells of, once its sample is younger than all that was asked before."""
    time.sleep(0.15)
    report = client.ask(host.address, host.fleet.probe_port, "/metrics").body.decode()
    return float(re.search(r'^node_cpu_seconds_total\{cpu="all",mode="busy"\} (\S+)$', report, re.M)[1])


class NothingIsLeft(unittest.TestCase):
    def left_after(self, end, how="wait"):
        """Starts hosts in a program of its own, ends it by end(program): its folder, group and pids that are left."""
        with subprocess.Popen(
            [sys.executable, "-B", "-c", STORY, HERE, how], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as program:
            folder, group = program.stdout.readline().split()
            pids = program.stdout.readline().split()
            self.assertGreaterEqual(len(pids), 7)  # two nginx of two processes each, four mapserv, a sleep
            end(program)
            program.wait(10)
        paths = [folder, group, *(f"/proc/{pid}" for pid in pids)]
        return [path for path in paths if os.path.exists(path)]

    def test_after_sigterm(self):
        self.assertEqual(self.left_after(lambda program: program.send_signal(signal.SIGTERM)), [])

    def test_after_ctrl_c(self):
        self.assertEqual(self.left_after(lambda program: program.send_signal(signal.SIGINT)), [])

    def test_after_an_exception(self):
        self.assertEqual(self.left_after(lambda program: None, how="raise"), [])


if __name__ == "__main__":
    unittest.main()
