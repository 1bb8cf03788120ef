# SPDX-License-Identifier: MIT
"""Hosts, probes, poolwatch and the state folder break one after the other. Each time: redirects are as quick as those of
a pool beside it in which nothing breaks, no request goes to a host that is down for sure, balancectl names the cause.

Fault-free and faulty pool are asked in turns, so that whatever else this machine does meets both."""

import contextlib
import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
from dataclasses import dataclass

from lib import balancer, case, fleet, isolation, processes

HERE = os.path.dirname(os.path.abspath(__file__))
GOOD = ("127.0.1.1", "127.0.1.2", "127.0.1.3", "127.0.1.4")
ILL = "127.0.1.9"
PROBED = "127.0.1.8"  # by a real loadprobe
SLOWER, NOISE_SECONDS, WORST_SECONDS = 1.5, 0.005, 0.5
LONGER = float(os.environ.get("LONGER", "1"))  # 10 for figures: each pool is asked ten times as often


@dataclass
class FakeHost:
    name: str
    url: str


class FakePool:
    """What a Balancer wants to know of its hosts."""

    script = "/cgi-bin/mapserv"

    def __init__(self, hosts, probe_port):
        self.hosts, self.probe_port = hosts, probe_port


class Client:
    """One kept connection to a balancer's web server."""

    def __init__(self, to):
        self.to = to
        self.connect()

    def connect(self):
        self.connection = http.client.HTTPConnection(self.to.address, self.to.port, timeout=10)

    def ask(self):
        """(seconds, status, host named by the answer)."""
        began = time.monotonic()
        self.connection.request("GET", case.MAP.decode())
        answer = self.connection.getresponse()
        answer.read()
        return time.monotonic() - began, answer.status, answer.getheader("X-Balance-Host")


def percentile_99(values):
    return sorted(values)[int(0.99 * (len(values) - 1))]


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        case.require_programs("balance", "poolwatch", "loadprobe", "balancectl")
        with contextlib.suppress(OSError):  # what else runs on this machine is not what is measured
            os.setpriority(os.PRIO_PROCESS, 0, -10)
        try:
            isolation.enter()
        except isolation.Unavailable as why:
            raise unittest.SkipTest(str(why)) from None
        cls.scene = processes.Scene("faults")
        cls.addClassCleanup(cls.scene.close)
        cls.addClassCleanup(lambda: [isolation.unmount(mounted) for mounted in cls.mounted])
        cls.mounted = ["/etc/resolv.conf"]
        isolation.mount_file(cls.scene.write("resolv.conf", "nameserver 127.0.0.1\n"), "/etc/resolv.conf")
        cls.probe_port, cls.web_port = processes.free_port(), processes.free_port()
        cls.start_fakes()
        good = [cls.host(f"good{i}", address) for i, address in enumerate(GOOD)]
        ill = [cls.host("ill", ILL), cls.host("probed", PROBED)]
        names = [cls.host("lost", "lost.nowhere.test"), cls.host("hanging", "hanging.nowhere.test")]
        cls.start_probe()
        cls.calm = balancer.Balancer(cls.scene, FakePool(good, cls.probe_port), name="calm").start()
        cls.faulty = balancer.Balancer(
            cls.scene, FakePool(good + ill + names, cls.probe_port), name="faulty", address="127.0.0.2"
        ).start()
        case.wait_until_usable(cls.calm, len(good))
        case.wait_until_usable(cls.faulty, len(good + ill))
        cls.clients = Client(cls.calm), Client(cls.faulty)

    @classmethod
    def host(cls, name, authority):
        return FakeHost(name, f"http://{authority}:{cls.web_port}")

    @classmethod
    def start_fakes(cls):
        command = [sys.executable, "-B", os.path.join(HERE, "lib", "fakes.py"), str(cls.probe_port), str(cls.web_port)]
        cls.fakes = cls.scene.start("fakes", [*command, *GOOD, ILL, "names"], stdin=subprocess.PIPE)
        cls.fakes.wait_for(lambda: "ready" in cls.fakes.said(), 10, "the fake hosts")

    @classmethod
    def start_probe(cls):
        configuration = cls.scene.write(
            "probed/loadprobe.conf",
            f"listen = {PROBED}:{cls.probe_port}\ndrain-file = {cls.scene.path('probed', 'drain')}\n",
        )
        cls.probe = cls.scene.start("probed/loadprobe", [fleet.program("loadprobe"), "--config", configuration])
        # Its web port: anything that accepts.
        listen = f"import socket,time; s=socket.create_server(('{PROBED}', {cls.web_port})); time.sleep(1e6)"
        cls.scene.start("probed/web", [sys.executable, "-c", listen])

    def become(self, behaviour):
        """The ill host is so from now on."""
        order = f"{ILL} {behaviour}"
        before = self.fakes.said(1000).count(order)
        self.fakes.popen.stdin.write(f"{order}\n".encode())
        self.fakes.popen.stdin.flush()
        self.fakes.wait_for(lambda: self.fakes.said(1000).count(order) > before, 5, order)

    def state(self, name, of=None):
        return next(host for host in (of or self.faulty).status()["hosts"] if host["name"] == name)

    def await_state(self, name, holds, seconds=6):
        """Until balancectl shows the host so that `holds` it; returns what it shows."""
        shown = {}

        def look():
            shown.update(self.state(name))
            return holds(shown)

        try:
            processes.wait_until(look, seconds, f"{name} in another state")
        except processes.Failed as failed:
            raise processes.Failed(f"{failed}; it is {shown}") from None
        return shown

    def get_well(self):
        self.become("good")
        self.await_state("ill", lambda host: host["health"] == "up" and host["tier"] == "usable", 10)

    def ask_in_turns(self, seconds, clients=None):
        """[(calm, faulty), ...]"""
        calm, faulty = clients or self.clients
        end = time.monotonic() + LONGER * seconds
        answers = []
        while time.monotonic() < end:
            answers.append((calm.ask(), faulty.ask()))
        return answers

    def assert_unaffected(self, answers, clients=None):
        """A p99 of few answers may be a single one: where it is too long, more are asked for."""
        for more_seconds in (2, 4, 0):
            calm, faulty = ([pair[side][0] for pair in answers] for side in (0, 1))
            allowed = max(SLOWER * percentile_99(calm) + NOISE_SECONDS, max(calm))
            if percentile_99(faulty) <= allowed or not more_seconds:
                break
            answers = answers + self.ask_in_turns(more_seconds, clients)
        before, now = percentile_99(calm), percentile_99(faulty)
        print(
            f"p99 {1000 * now:.2f} ms, {now / before:.2f} times that of the fault-free pool; slowest "
            f"{1000 * max(faulty):.1f} and {1000 * max(calm):.1f} ms; {len(answers)} answers of each",
            flush=True,
        )
        self.assertGreater(len(answers), 20)
        self.assertEqual({pair[1][1] for pair in answers}, {302})
        self.assertLessEqual(percentile_99(faulty), allowed, "p99, and 1.5 times that of the fault-free pool")
        self.assertLess(max(faulty), max(WORST_SECONDS, SLOWER * max(calm)), "the slowest request")

    def assert_avoided(self, answers, *names):
        hosts = [pair[1][2] for pair in answers]
        for name in names:
            self.assertNotIn(name, hosts)

    def check(self, cause, *tiers):
        """The fault has just begun: requests while it is found out, its cause, requests after."""
        meanwhile = self.ask_in_turns(1)
        self.await_state("ill", lambda host: host["tier"] in tiers and cause in host["cause"])
        # Of one whose answer has no end now the length is the cause, now the time.
        self.assertRegex(self.faulty.control("status").stdout, rf"(?m)^ill .*{re.escape(cause)}")
        after = self.ask_in_turns(0.7)
        self.assert_unaffected(meanwhile + after)
        self.assert_avoided(after, "ill")
        return meanwhile

    def test_a_host_that_refuses(self):
        self.become("refuse")
        self.addCleanup(self.get_well)
        meanwhile = self.check("connection refused", "down")
        late = meanwhile[len(meanwhile) // 2 :]  # found out at the next probe, a quarter of a second
        self.assert_avoided(late, "ill")

    def test_a_host_that_resets(self):
        self.become("reset")
        self.addCleanup(self.get_well)
        self.check("reset", "down", "web only")  # a check of its web port may end before the reset

    def test_a_host_whose_packets_vanish(self):
        isolation.silence(ILL)
        self.addCleanup(self.await_state, "ill", lambda host: host["tier"] == "usable", 10)
        self.addCleanup(isolation.end_silence)
        self.check("no answer", "silent")

    def test_a_host_that_answers_a_byte_a_second(self):
        self.become("trickle")
        self.addCleanup(self.get_well)
        self.check("probe port", "silent")

    def test_a_host_whose_answer_has_no_end(self):
        self.become("endless")
        self.addCleanup(self.get_well)
        self.check("probe port", "silent")

    def test_a_host_that_speaks_no_http(self):
        self.become("garbage")
        self.addCleanup(self.get_well)
        self.check("probe port", "silent")

    def test_a_host_whose_answer_is_no_report(self):
        self.become("nonsense")
        self.addCleanup(self.get_well)
        self.check("probe port", "silent")

    def test_a_host_that_reports_what_cannot_be(self):
        self.become("absurd")
        self.addCleanup(self.get_well)
        self.check("probe port", "silent")

    def test_a_host_that_boasts_is_asked_more_and_nobody_waits(self):
        self.become("boast")
        self.addCleanup(self.get_well)
        self.await_state("ill", lambda host: host["cores"] == 1000)
        answers = self.ask_in_turns(1)
        self.assert_unaffected(answers)
        self.assertEqual(self.state("ill")["cores"], 1000)

    def test_names_that_do_not_resolve_and_a_resolver_that_hangs(self):
        for name in ("lost", "hanging"):
            self.await_state(name, lambda host: "name not" in host["cause"] and host["tier"] in ("silent", "down"), 10)
        answers = self.ask_in_turns(1)
        self.assert_unaffected(answers)
        self.assert_avoided(answers, "lost", "hanging")
        shown = self.faulty.control("status").stdout
        self.assertRegex(shown, "\nlost .*name not found")
        self.assertRegex(shown, "\nhanging .*name not looked up")

    def test_a_frozen_loadprobe(self):
        self.probe.signal(signal.SIGSTOP)
        self.addCleanup(self.await_state, "probed", lambda host: host["tier"] == "usable", 10)
        self.addCleanup(self.probe.signal, signal.SIGCONT)
        meanwhile = self.ask_in_turns(1)
        self.await_state("probed", lambda host: host["tier"] == "silent" and "no answer" in host["cause"])
        after = self.ask_in_turns(0.7)
        self.assert_unaffected(meanwhile + after)
        self.assert_avoided(after, "probed")

    def test_two_poolwatch_at_once(self):
        watcher = self.faulty.watcher
        second = self.scene.start(
            "second", [fleet.program("poolwatch"), "--config", self.faulty.configuration]
        )
        self.addCleanup(second.kill)
        second.wait_for(lambda: "waiting for the lease" in second.said(), 5, "waiting for the lease")
        self.assert_unaffected(self.ask_in_turns(1))
        self.assertEqual(self.faulty.status()["poolwatch"]["process"], watcher.pid)

    def test_a_killed_poolwatch_is_followed_by_one_that_balance_starts(self):
        watcher = self.faulty.watcher
        watcher.kill()
        self.addCleanup(self.watch_again)
        answers = []

        def taken_over():  # by one that a request brings about
            answers.extend(self.ask_in_turns(0.3))
            poolwatch = self.faulty.status()["poolwatch"]
            return poolwatch["alive"] and poolwatch["process"] not in (None, watcher.pid)

        processes.wait_until(taken_over, 6, "another poolwatch")
        answers += self.ask_in_turns(0.7)
        self.assert_unaffected(answers)

    def watch_again(self):
        """A poolwatch of ours in place of the one that balance started."""
        with contextlib.suppress(TypeError, ProcessLookupError):
            os.kill(self.faulty.status()["poolwatch"]["process"], signal.SIGKILL)
        self.faulty.start_watcher()
        processes.wait_until(
            lambda: self.faulty.status()["poolwatch"]["process"] == self.faulty.watcher.pid, 5, "our poolwatch"
        )
        self.await_state("ill", lambda host: host["tier"] == "usable", 10)

    def test_a_frozen_poolwatch_holds_nobody_up(self):
        self.faulty.watcher.signal(signal.SIGSTOP)
        self.addCleanup(self.await_state, "ill", lambda host: host["tier"] == "usable", 10)
        self.addCleanup(self.faulty.watcher.signal, signal.SIGCONT)
        answers = self.ask_in_turns(1)
        processes.wait_until(lambda: not self.faulty.status()["poolwatch"]["alive"], 6, "news of it")
        answers += self.ask_in_turns(0.7)
        self.assert_unaffected(answers)
        self.assertIn("HANGS", self.faulty.control("status").stdout)

    def other(self, name, state):
        """A balancer with this state folder, beside the calm one."""
        good = [self.host(f"good{i}", address) for i, address in enumerate(GOOD)]
        address = {"full": "127.0.0.3", "read-only": "127.0.0.4", "deleted": "127.0.0.5"}[name]
        made = balancer.Balancer(self.scene, FakePool(good, self.probe_port), name=name, address=address)
        made.state_dir = state
        made.configuration = made.configure()
        made.start()
        self.addCleanup(lambda: [process.kill() for process in made.processes()])
        return made, (self.clients[0], Client(made))

    def test_a_full_state_folder(self):
        folder = self.scene.path("full-state")
        isolation.mount_memory(folder, 8192)
        self.mounted.append(folder)
        with contextlib.suppress(OSError), open(f"{folder}/filler", "wb", buffering=0) as filler:
            filler.write(b"x" * 16384)
        full, clients = self.other("full", folder)
        processes.wait_until(lambda: "No space left on device" in full.watcher.said(), 5, "poolwatch's word on it")
        answers = self.ask_in_turns(1, clients)
        self.assert_unaffected(answers, clients)
        self.assertEqual({pair[1][2] for pair in answers}, {"good0", "good1", "good2", "good3"})
        self.assertRegex(full.control("status").stdout, "none: .*full-state")

    def test_a_read_only_state_folder(self):
        folder = self.scene.path("read-only-state")
        isolation.mount_memory(folder, 65536)
        self.mounted.append(folder)
        isolation.make_read_only(folder)
        read_only, clients = self.other("read-only", folder)
        answers = self.ask_in_turns(1, clients)
        self.assert_unaffected(answers, clients)
        self.assertEqual({pair[1][2] for pair in answers}, {"good0", "good1", "good2", "good3"})
        self.assertRegex(read_only.control("status").stdout, "none: .*read-only-state")

    def test_a_state_folder_that_is_deleted_comes_back(self):
        deleted, clients = self.other("deleted", self.scene.path("deleted-state"))
        case.wait_until_usable(deleted, 4)
        os.rename(deleted.state_dir, f"{deleted.state_dir}-away")  # or poolwatch writes while we delete
        shutil.rmtree(f"{deleted.state_dir}-away")
        answers = self.ask_in_turns(1, clients)
        self.assert_unaffected(answers, clients)
        case.wait_until_usable(deleted, 4)
        self.assert_unaffected(self.ask_in_turns(0.5, clients), clients)


if __name__ == "__main__":
    unittest.main()
