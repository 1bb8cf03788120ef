# SPDX-License-Identifier: MIT
"""Hosts die, return, drain; poolwatch is killed, the configuration changes: with real processes, seen by a client."""

import contextlib
import http.client
import os
import signal
import time
import unittest

from lib import client, fleet, processes
from lib.balancer import Balancer
from lib.case import MAP, SceneCase, stay, wait_until_usable

# The longest that a host may still be chosen after it has died: a probe each 0.25 s, a web check each second.
GONE_AFTER = 1.1


# Unlike weights, so that an idle pool goes by turns alone: with equal ones a host that is believed to be a little
# slower, as one that has just started its programs may be, gets nothing as long as the others have nothing to do.
WEIGHTS = {fleet.NAMES[0]: "weight=1.1"}


class Pool(SceneCase):
    watch = "permanent"

    @classmethod
    def build(cls):
        # Shares of their own: hosts that all told the load of the whole machine would seem to differ by chance.
        cls.fleet = fleet.Fleet(cls.scene, 3, cores=0.2, workers=1, first_address=25)
        if cls.fleet.shares is None:
            raise unittest.SkipTest(cls.fleet.no_shares)
        cls.fleet.start()
        cls.balancer = Balancer(cls.scene, cls.fleet, watch=cls.watch, host_options=WEIGHTS).start()

    def setUp(self):
        """All three hosts are up, each test begins there."""
        self.choose()  # on demand poolwatch lives by requests
        wait_until_usable(self.balancer, 3)

    def choose(self):
        """One request, followed: the name of the host that it was sent to."""
        answer = client.ask("127.0.0.1", self.balancer.port, MAP)
        self.assertEqual(answer.status, 302, answer.body)
        self.assertLess(answer.seconds, 1.0)
        # Dispatches that no host ever sees would teach the pool that maps cost nothing. A host may just have died.
        with contextlib.suppress(OSError, http.client.HTTPException):
            client.ask(*answer.location)
        return answer.header("X-Balance-Host")

    def chosen(self, seconds):
        """The names that requests were sent to in so many seconds."""
        return set(stay(seconds, self.choose))

    def assert_left_out(self, host, after, seconds=2):
        """No request goes to the host, beginning so many seconds from now."""
        self.chosen(after)
        chosen = self.chosen(seconds)
        self.assertTrue(chosen)
        self.assertNotIn(host.name, chosen)

    def assert_chosen_again(self, host):
        """Within 15 s: where nobody has much to do, a host that has returned waits for the end of its slow start."""
        processes.wait_until(lambda: self.choose() == host.name, 15, f"a request for {host.name}")

    def kill(self, host):
        """Kills all of a host; the end of the test brings it back if the test did not."""
        host.kill()
        self.addCleanup(lambda: host.web.process.alive() or host.start())

    def standing(self, host):
        return next(entry for entry in self.balancer.status()["hosts"] if entry["name"] == host.name)


class Hosts(Pool):
    def test_a_killed_host_is_left_out_and_chosen_again_when_it_returns(self):
        host = self.fleet.hosts[0]
        self.kill(host)
        self.assert_left_out(host, after=GONE_AFTER)
        host.start()
        self.assert_chosen_again(host)

    def test_a_dead_web_server_beside_a_live_probe_is_a_dead_host(self):
        host = self.fleet.hosts[1]
        host.web.process.kill()
        self.addCleanup(lambda: host.web.process.alive() or host.web.start())
        self.assert_left_out(host, after=GONE_AFTER)
        self.assertIn("web port", self.standing(host)["cause"])
        host.web.start()
        self.assert_chosen_again(host)

    def test_a_dead_probe_beside_a_live_web_server_is_a_dead_host(self):
        host = self.fleet.hosts[2]
        host.probe.kill()
        self.addCleanup(lambda: host.probe.alive() or host.start_probe())
        self.assert_left_out(host, after=GONE_AFTER)
        host.start_probe()
        self.assert_chosen_again(host)

    def test_a_frozen_probe_is_left_out_once_it_has_been_silent_too_long(self):
        host = self.fleet.hosts[0]
        host.probe.signal(signal.SIGSTOP)
        try:
            self.assert_left_out(host, after=2.5)
        finally:
            host.probe.signal(signal.SIGCONT)
        self.assert_chosen_again(host)

    def test_a_drained_host_gets_nothing_new_until_it_is_ready(self):
        host = self.fleet.hosts[1]

        def tell(*words):
            done = self.scene.start(
                "drain", [fleet.program("loadprobe"), "--config", host.probe_configuration, *words]
            )
            self.assertEqual(done.popen.wait(5), 0, done.said())

        tell("--drain", "disk swap on Tuesday")
        self.assert_left_out(host, after=0.8)
        self.assertIn("disk swap on Tuesday", self.balancer.control("status").stdout)
        tell("--ready")
        self.assert_chosen_again(host)

    def test_each_transition_is_one_line_of_the_log(self):
        host = self.fleet.hosts[2]
        before = self.balancer.watcher.said(1000).count("host down")
        self.kill(host)
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
        self.balancer.host_options, self.balancer.lines = WEIGHTS, ""
        self.balancer.configure()
        self.reload()

    def test_a_host_that_is_drained_in_the_file_gets_nothing_new(self):
        host = self.fleet.hosts[0]
        self.balancer.host_options = {**WEIGHTS, host.name: "weight=0"}
        self.balancer.configure()
        self.reload()
        processes.wait_until(lambda: host.name not in self.chosen(1), 5, f"{host.name} drained")
        self.assert_left_out(host, after=0)

    def test_a_changed_file_is_seen_without_a_signal(self):
        host = self.fleet.hosts[1]
        self.balancer.host_options = {**WEIGHTS, host.name: "weight=0"}
        self.balancer.configure()
        processes.wait_until(lambda: host.name not in self.chosen(1), 8, f"{host.name} drained")
        self.assert_left_out(host, after=0)

    def test_a_faulty_file_keeps_the_old_one_and_says_why(self):
        self.balancer.lines = "wieght = 3\n"
        self.balancer.configure()
        self.reload()
        processes.wait_until(
            lambda: "balance.conf:" in self.balancer.watcher.said() and "'wieght'" in self.balancer.watcher.said(),
            3,
            "the fault in poolwatch's log",
        )
        self.chosen(1)
        self.assertTrue(self.balancer.balance.alive() and self.balancer.watcher.alive())


class Watching(Pool):
    def test_a_killed_poolwatch_is_replaced_on_demand(self):
        self.balancer.watcher.kill()
        self.chosen(4)  # nobody waits meanwhile: choose() says so
        self.assertTrue(self.balancer.status()["poolwatch"]["alive"])
        # What replaced it watches: a host that dies now is left out.
        host = self.fleet.hosts[0]
        self.kill(host)
        self.assert_left_out(host, after=GONE_AFTER, seconds=1)
        host.start()
        self.assert_chosen_again(host)
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
        self.kill(host)
        self.assert_left_out(host, after=GONE_AFTER, seconds=1)
        host.start()
        self.assert_chosen_again(host)


class WebPortsAlone(SceneCase):
    """Every probe port refuses (a firewall was changed, the probe is upgraded everywhere), every web server lives."""

    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 3, workers=1, first_address=45).start()
        cls.balancer = Balancer(
            cls.scene, cls.fleet, host_options={cls.fleet.hosts[0].name: "weight=2"}, lines="private-cookies = SESSION\n"
        ).start()
        wait_until_usable(cls.balancer, 3)

    def ask(self):
        return client.ask("127.0.0.1", self.balancer.port, MAP)

    def test_service_goes_on_by_weight_until_the_probes_are_back(self):
        for host in self.fleet.hosts:
            host.probe.kill()
        answers = stay(3, self.ask)  # none meets a 503, the first ones neither
        self.assertEqual({answer.status for answer in answers}, {302})
        status = processes.wait_until(lambda: self.balancer.status()["web_only"] and self.balancer.status(), 3, "the flag")
        self.assertEqual({host["tier"] for host in status["hosts"]}, {"web only"})
        self.assertIn("NO HOST REPORTS", self.balancer.control("status").stdout)
        self.assertIn("web only", self.balancer.control("explain", "map=WORLD&mode=map").stdout)
        self.assertEqual(self.balancer.watcher.said(1000).count("web ports alone cause"), 1)
        sent = [self.ask().header("X-Balance-Host") for _ in range(80)]
        self.assertEqual(
            [sent.count(host.name) for host in self.fleet.hosts], [40, 20, 20], "weights 2, 1 and 1"
        )
        # A relayed request is served as well.
        relayed = client.ask("127.0.0.1", self.balancer.port, MAP, headers=[("Cookie", "SESSION=1")])
        self.assertEqual((relayed.status, relayed.header("Content-Type")), (200, "image/png"))
        # A web port that refuses, too, is out; so is all the rest once one host reports again.
        self.fleet.hosts[0].web.process.kill()
        stay(GONE_AFTER, self.ask)
        self.assertNotIn(self.fleet.hosts[0].name, {self.ask().header("X-Balance-Host") for _ in range(20)})
        self.fleet.hosts[2].start_probe()
        wait_until_usable(self.balancer, 1)
        self.assertEqual({self.ask().header("X-Balance-Host") for _ in range(20)}, {self.fleet.hosts[2].name})
        processes.wait_until(lambda: not self.balancer.status()["web_only"], 3, "the flag's end")
        self.assertIn("web ports alone over", self.balancer.watcher.said(1000))


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
    unittest.main()
