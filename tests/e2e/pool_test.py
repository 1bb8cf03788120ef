# SPDX-License-Identifier: MIT
"""Hosts die, return, drain; poolwatch is killed, the configuration changes: with real processes, seen by a client."""

import os
import signal
import time

from lib import client, fleet, processes
from lib.balancer import Balancer
from lib.case import MAP, SceneCase, stay, wait_until_usable

# The longest that a host may still be chosen after it has died: a probe each 0.25 s, a web check each second.
GONE_AFTER = 1.1


class Pool(SceneCase):
    watch = "permanent"

    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 3, workers=1, first_address=25).start()
        cls.balancer = Balancer(cls.scene, cls.fleet, watch=cls.watch).start()

    def setUp(self):
        """All three hosts are up, each test begins there."""
        self.choose()  # on demand poolwatch lives by requests
        wait_until_usable(self.balancer, 3)

    def choose(self):
        """One request: the name of the host that it was sent to."""
        answer = client.ask("127.0.0.1", self.balancer.port, MAP)
        self.assertEqual(answer.status, 302, answer.body)
        self.assertLess(answer.seconds, 1.0)
        return answer.header("X-Balance-Host")

    def chosen(self, seconds):
        """The names that requests were sent to in so many seconds."""
        return set(stay(seconds, self.choose))

    def others(self, host):
        return {other.name for other in self.fleet.hosts if other is not host}

    def wait_until_chosen(self, host, seconds):
        processes.wait_until(lambda: self.choose() == host.name, seconds, f"a request for {host.name}")

    def standing(self, host):
        return next(entry for entry in self.balancer.status()["hosts"] if entry["name"] == host.name)


class Hosts(Pool):
    def test_a_killed_host_is_left_out_and_chosen_again_when_it_returns(self):
        host = self.fleet.hosts[0]
        host.kill()
        self.chosen(GONE_AFTER)
        self.assertEqual(self.chosen(2), self.others(host))
        host.start()
        # An idle pool goes by turns: the host that returns is busier than its slow start says only for a while.
        self.wait_until_chosen(host, 12)

    def test_a_dead_web_server_beside_a_live_probe_is_a_dead_host(self):
        host = self.fleet.hosts[1]
        host.web.process.kill()
        self.chosen(GONE_AFTER)
        self.assertEqual(self.chosen(2), self.others(host))
        self.assertIn("web port", self.standing(host)["cause"])
        host.web.start()
        self.wait_until_chosen(host, 12)

    def test_a_dead_probe_beside_a_live_web_server_is_a_dead_host(self):
        host = self.fleet.hosts[2]
        host.probe.kill()
        self.chosen(GONE_AFTER)
        self.assertEqual(self.chosen(2), self.others(host))
        host.start_probe()
        self.wait_until_chosen(host, 12)

    def test_a_frozen_probe_is_left_out_once_it_has_been_silent_too_long(self):
        host = self.fleet.hosts[0]
        host.probe.signal(signal.SIGSTOP)
        try:
            self.chosen(2.5)
            self.assertEqual(self.chosen(2), self.others(host))
        finally:
            host.probe.signal(signal.SIGCONT)
        self.wait_until_chosen(host, 12)

    def test_a_drained_host_gets_nothing_new_until_it_is_ready(self):
        host = self.fleet.hosts[1]

        def tell(*words):
            done = self.scene.start(
                "drain", [fleet.program("loadprobe"), "--config", host.probe_configuration, *words]
            )
            self.assertEqual(done.popen.wait(5), 0, done.said())

        tell("--drain", "disk swap on Tuesday")
        self.chosen(0.8)
        self.assertEqual(self.chosen(2), self.others(host))
        self.assertIn("disk swap on Tuesday", self.balancer.control("status").stdout)
        tell("--ready")
        self.wait_until_chosen(host, 12)

    def test_each_transition_is_one_line_of_the_log(self):
        host = self.fleet.hosts[2]
        before = self.balancer.watcher.said(1000).count("host down")
        host.kill()
        self.chosen(2)
        lines = [line for line in self.balancer.watcher.said(1000).splitlines() if "host down" in line]
        host.start()
        self.assertEqual(len(lines), before + 1)
        self.assertIn(host.name, lines[-1])
        self.assertIn("refused", lines[-1])


class Configuration(Pool):
    def reload(self):
        self.balancer.watcher.signal(signal.SIGHUP)

    def tearDown(self):
        self.balancer.host_options, self.balancer.lines = {}, ""
        self.balancer.configure()
        self.reload()

    def test_a_host_that_is_drained_in_the_file_gets_nothing_new(self):
        host = self.fleet.hosts[0]
        self.balancer.host_options = {host.name: "weight=0"}
        self.balancer.configure()
        self.reload()
        processes.wait_until(lambda: self.chosen(0.5) == self.others(host), 5, f"{host.name} drained")

    def test_a_changed_file_is_seen_without_a_signal(self):
        host = self.fleet.hosts[1]
        self.balancer.host_options = {host.name: "weight=0"}
        self.balancer.configure()
        processes.wait_until(lambda: self.chosen(0.5) == self.others(host), 8, f"{host.name} drained")

    def test_a_faulty_file_keeps_the_old_one_and_says_why(self):
        self.balancer.lines = "wieght = 3\n"
        self.balancer.configure()
        self.reload()
        processes.wait_until(
            lambda: "balance.conf:" in self.balancer.watcher.said() and "'wieght'" in self.balancer.watcher.said(),
            3,
            "the fault in poolwatch's log",
        )
        self.assertEqual(self.chosen(2), {host.name for host in self.fleet.hosts})


class Watching(Pool):
    def test_a_killed_poolwatch_is_replaced_on_demand(self):
        self.balancer.watcher.kill()
        self.chosen(4)  # nobody waits meanwhile: choose() says so
        self.assertTrue(self.balancer.status()["poolwatch"]["alive"])
        # What replaced it watches: a host that dies now is left out.
        host = self.fleet.hosts[0]
        host.kill()
        self.chosen(GONE_AFTER)
        self.assertEqual(self.chosen(1), self.others(host))
        host.start()
        self.wait_until_chosen(host, 12)
        # The permanent one takes over again.
        self.balancer.start_watcher()
        processes.wait_until(lambda: len(watchers(self.balancer)) == 1, 10, "one poolwatch")
        self.assertTrue(self.balancer.watcher.alive())


class OnDemand(Pool):
    watch = "on-demand"

    def test_poolwatch_is_started_by_the_first_requests_and_only_once(self):
        self.chosen(1)
        self.assertEqual(len(watchers(self.balancer)), 1)

    def test_a_host_that_dies_is_left_out(self):
        host = self.fleet.hosts[1]
        host.kill()
        self.chosen(GONE_AFTER)
        self.assertEqual(self.chosen(1), self.others(host))
        host.start()
        self.wait_until_chosen(host, 12)


class Ending(SceneCase):
    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 1, workers=1, first_address=29).start()
        cls.balancer = Balancer(cls.scene, cls.fleet).start()

    def test_programs_end_on_sigterm_with_status_0(self):
        client.ask("127.0.0.1", self.balancer.port, MAP)
        host = self.fleet.hosts[0]
        for process in (self.balancer.balance, self.balancer.watcher, host.probe):
            began = time.monotonic()
            self.assertEqual(process.stop(), 0, f"{process.name}: {process.said()}")
            self.assertLess(time.monotonic() - began, 2.5, process.name)


def watchers(balancer):
    """The pids of the poolwatch processes that watch for this balancer."""
    found = []
    for pid in processes.descendants(os.getpid()):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as line:
                words = line.read().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"poolwatch") and balancer.configuration.encode() in words:
            found.append(pid)
    return found


if __name__ == "__main__":
    import unittest

    unittest.main()
