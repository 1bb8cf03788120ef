# SPDX-License-Identifier: MIT
"""FastCGI hosts with as many mapserv as cores: what waits for one is told, as ss(8) shows it, and the choice follows."""

import re
import signal
import socket
import subprocess
import threading
import time
import unittest

from lib import balancer, case, client, fleet, processes


def waiting_by_ss(path):
    """The connections in the listen queue of a UNIX socket."""
    shown = subprocess.run(["ss", "-lxH"], capture_output=True, text=True, check=True).stdout
    return sum(int(line.split()[2]) for line in shown.splitlines() if line.split()[4] == path)


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()[0]


def reported(host):
    """What loadprobe says of waiting requests, None if it says nothing."""
    page = client.ask(host.address, host.fleet.probe_port, "/metrics").body.decode()
    found = re.search(r"^loadprobe_requests_waiting (\S+)$", page, re.M)
    return float(found.group(1)) if found else None


class Queues(case.SceneCase):
    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 2, cores=0.5, workers=1).start()
        cls.balancer = balancer.Balancer(cls.scene, cls.fleet).start()
        case.wait_until_usable(cls.balancer, 2)

    def hold(self, host, count):
        """Stops the host's mapserv and sends it so many requests, which wait until the end of the test."""
        for worker in host.mapserver.processes:
            worker.signal(signal.SIGSTOP)
            self.addCleanup(worker.signal, signal.SIGCONT)
            # One that has not stopped yet would still accept a connection.
            processes.wait_until(lambda pid=worker.pid: state_of(pid) == "T", 5, "a mapserv that stands still")
        for _ in range(count):
            connection = socket.create_connection((host.address, self.fleet.port), timeout=5)
            connection.sendall(b"GET " + case.MAP + b" HTTP/1.0\r\n\r\n")
            self.addCleanup(connection.close)

    def test_waiting_requests_are_reported_as_ss_shows_them_and_the_choice_goes_elsewhere(self):
        busy, idle = self.fleet.hosts
        self.hold(busy, 12)
        processes.wait_until(lambda: waiting_by_ss(busy.mapserver.socket) == 12, 5, "12 connections in the queue")
        processes.wait_until(lambda: reported(busy) == 12, 2, "a report of 12 waiting requests")
        self.assertEqual(reported(idle), 0)

        def believed():
            hosts = {one["name"]: one for one in self.balancer.status()["hosts"]}
            return hosts[busy.name]["waiting"] == 12

        processes.wait_until(believed, 3, "12 waiting requests in the table")
        targets = [
            client.ask(self.balancer.address, self.balancer.port, case.MAP).location[0] for _ in range(8)
        ]
        self.assertEqual(targets, [idle.address] * 8)

    def test_under_overload_reports_lie_between_what_ss_shows_before_and_after(self):
        busy = self.fleet.hosts[0]
        end = threading.Event()

        def draw():
            while not end.is_set():
                client.ask(busy.address, self.fleet.port, case.MAP.replace(b"60+30", b"900+450"), timeout=30)

        clients = [threading.Thread(target=draw) for _ in range(10)]
        for one in clients:
            one.start()
        try:
            queued = lambda: waiting_by_ss(busy.mapserver.socket)  # noqa: E731
            processes.wait_until(lambda: queued() >= 6, 10, "a queue")
            processes.wait_until(lambda: reported(busy) >= 6, 1, "a sample that was taken since")
            seen = []
            for _ in range(15):
                before, told, after = queued(), reported(busy), queued()
                seen.append((before, told, after))
                time.sleep(0.05)
        finally:
            end.set()
            for one in clients:
                one.join()
        # A sample is up to 0.1 s old, in which a request or two may come or go.
        fitting = [min(b, a) - 2 <= told <= max(b, a) + 2 for b, told, a in seen]
        self.assertTrue(all(fitting), seen)
        self.assertGreater(sum(told for _, told, _ in seen) / len(seen), 4, seen)

    def test_a_host_whose_mapserv_has_gone_reports_no_zero(self):
        host = self.fleet.hosts[1]
        for worker in host.mapserver.processes:
            worker.kill()
        try:
            processes.wait_until(lambda: reported(host) is None, 2, "a report without waiting requests")
            self.assertIn(f"file=unix:{host.mapserver.socket}", host.probe.said())
            self.assertEqual(host.probe.said().count("nobody listens there"), 1)
        finally:
            host.mapserver.start()
        processes.wait_until(lambda: reported(host) == 0, 2, "an empty queue")


if __name__ == "__main__":
    unittest.main()
