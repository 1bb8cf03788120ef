# SPDX-License-Identifier: MIT
"""Hosts are taken out and come back, by hand or by their own loadprobe, under constant load; what was set by hand
outlives everything. With real web servers, real MapServer, and clients that follow redirects."""

import contextlib
import http.client
import os
import shutil
import signal
import subprocess
import threading
import time
import unittest

from lib import client, fleet, processes
from lib.balancer import Balancer
from lib.case import MAP, SceneCase, wait_until_usable

LONG_MAP = b"/cgi-bin/mapserv?map=WORLD&mode=map&layers=all&mapsize=900+600"
TARGETS = (MAP, b"/cgi-bin/mapserv?map=WORLD&mode=browse&layers=all", LONG_MAP)


class Load:
    """Clients that never rest: what they got, and who served it."""

    def __init__(self, port, threads=3):
        self.port, self.failures, self.served, self.stopping = port, [], [], False
        self.threads = [threading.Thread(target=self._run, args=(number,)) for number in range(threads)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopping = True
        for thread in self.threads:
            thread.join()

    def _run(self, number):
        turn = number
        while not self.stopping:
            turn += 1
            target = TARGETS[0] if turn % 5 else TARGETS[1 + turn // 5 % 2]
            began = time.time()
            try:
                answers = client.ask_and_follow("127.0.0.1", self.port, target, timeout=30)
            except (OSError, http.client.HTTPException) as failure:
                self.failures.append((began, target, repr(failure)))
                continue
            if answers[-1].status != 200:
                self.failures.append((began, target, answers[-1].status, answers[-1].body[:300]))
            self.served.append((time.time(), answers[0].header("X-Balance-Host")))
            time.sleep(0.03)

    def hosts_since(self, instant):
        return {host for end, host in list(self.served) if end > instant}


class Maintained(SceneCase):
    lines = ""
    web = "nginx"
    first_address = 45

    @classmethod
    def build(cls):
        # Shares of their own: else every host would report the load of the whole machine.
        cls.fleet = fleet.Fleet(
            cls.scene, 3, cores=0.4, workers=2, web=cls.web, first_address=cls.first_address
        )
        if cls.fleet.shares is None:
            raise unittest.SkipTest(cls.fleet.no_shares)
        cls.fleet.start()
        cls.keep = cls.scene.path("kept")
        weights = {name: f"weight={weight}" for name, weight in zip(fleet.NAMES, (1, 1.1, 1.2))}
        cls.balancer = Balancer(
            cls.scene, cls.fleet, lines=f"keep-dir = {cls.keep}\n{cls.lines}", host_options=weights
        ).start()
        wait_until_usable(cls.balancer, 3)

    def tearDown(self):
        self.balancer.control("reset", *(host.name for host in self.fleet.hosts))

    def control(self, *words, seconds=100):
        command = [fleet.program("balancectl"), "--config", self.balancer.configuration, *words]
        return processes.run(command, seconds=seconds)

    def tell(self, *words):
        done = self.control(*words)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        return done

    def choose(self):
        answer = client.ask("127.0.0.1", self.balancer.port, MAP)
        with contextlib.suppress(OSError, http.client.HTTPException):
            if answer.status == 302:
                client.ask(*answer.location)
        return answer.header("X-Balance-Host")

    def chosen(self, times=30):
        return {self.choose() for _ in range(times)}

    def standing(self, host):
        return next(entry for entry in self.balancer.status()["hosts"] if entry["name"] == host.name)

    def restart(self, host):
        """What the administrator does meanwhile: web server and mapserv end and begin anew."""
        host.web.stop()
        for process in host.mapserver.processes:
            process.kill()
        host.mapserver.start()
        host.web.start()

    def roll(self):
        """Each host in turn, under load; nobody notices."""
        with Load(self.balancer.port) as load:
            time.sleep(1)
            for host in self.fleet.hosts:
                self.tell("drain", host.name, "--reason", "kernel update", "--wait", "--timeout", "60s")
                idle = time.time()
                self.restart(host)
                self.assertNotIn(host.name, load.hosts_since(idle - 1))
                self.tell("ready", host.name)
                ready = time.time()
                processes.wait_until(
                    lambda: host.name in load.hosts_since(ready), 30, f"a request served by {host.name} again"
                )
        self.assertEqual(load.failures, [])
        self.assertGreater(len(load.served), 50)


class RedirectMaintenance(Maintained):
    def test_rolling_maintenance_loses_no_request(self):
        self.roll()


class RelayMaintenance(Maintained):
    lines = "mode = relay\n"
    web = "apache"

    def test_rolling_maintenance_loses_no_request(self):
        self.roll()


class ByHand(Maintained):
    def test_a_drain_counts_with_the_next_request_and_is_shown_with_its_reason(self):
        host = self.fleet.hosts[1]
        self.tell("drain", host.name, "--reason", "kernel update", "--for", "2h")
        self.assertNotIn(host.name, self.chosen())
        shown = self.standing(host)
        self.assertEqual((shown["duty"], shown["duty_set_by"]), ("draining", "hand"))
        self.assertEqual(shown["reason"], "kernel update")
        self.assertTrue(7100 < shown["left_seconds"] <= 7201, shown)
        self.assertIn("kernel update", self.control("status").stdout)
        self.assertIn("kernel update", self.control("explain", "map=WORLD&mode=map").stdout)
        self.tell("ready", host.name)
        self.assertIn(host.name, self.chosen())

    def test_a_weight_counts_with_the_next_request_beside_the_configured_one(self):
        host = self.fleet.hosts[0]
        self.tell("weight", host.name, "1000")
        before = self.standing(host)["dispatches"]
        for _ in range(20):
            self.choose()
        self.assertGreaterEqual(self.standing(host)["dispatches"] - before, 15)
        shown = self.standing(host)
        self.assertEqual((shown["weight"], shown["configured_weight"]), (1000, 1))
        self.assertIn("1000 (1)", self.control("status").stdout)
        self.tell("reset", host.name)
        self.assertEqual(self.standing(host)["weight"], 1)

    def test_a_duty_ends_by_itself_though_poolwatch_hangs(self):
        host = self.fleet.hosts[2]
        self.balancer.watcher.signal(signal.SIGSTOP)
        try:
            self.tell("off", host.name, "--for", "3s")
            began = time.monotonic()
            self.assertNotIn(host.name, self.chosen(10))
            processes.wait_until(lambda: self.choose() == host.name, 10, f"{host.name} by itself")
            self.assertGreater(time.monotonic() - began, 2.5)
            self.assertEqual(self.standing(host)["duty"], "serving")
        finally:
            self.balancer.watcher.signal(signal.SIGCONT)

    def test_what_was_set_by_hand_outlives_a_reboot(self):
        drained, heavy = self.fleet.hosts[0], self.fleet.hosts[1]
        self.tell("drain", drained.name, "--reason", "disk")
        self.tell("weight", heavy.name, "7")
        # All that a reboot ends and empties.
        self.balancer.watcher.kill()
        self.balancer.balance.kill()
        for pid in processes.descendants(os.getpid()):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as line:
                if b"--on-demand" in line.read():
                    os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.balancer.state_dir)
        self.balancer.start_watcher()
        self.balancer.start_balance()
        wait_until_usable(self.balancer, 3)
        self.assertNotIn(drained.name, self.chosen())
        self.assertEqual(self.standing(drained)["reason"], "disk")
        self.assertEqual(self.standing(heavy)["weight"], 7)

    def test_a_balance_without_any_table_goes_by_the_file(self):
        first, second, third = self.fleet.hosts
        self.tell("drain", first.name)
        self.tell("weight", second.name, "0")
        with open(self.balancer.configuration, encoding="utf-8") as file:
            text = file.read().replace(f"state-dir = {self.balancer.state_dir}", "state-dir = /proc/nowhere")
        configuration = self.scene.write("without/balance.conf", text)
        environment = {
            "GATEWAY_INTERFACE": "CGI/1.1",
            "REQUEST_METHOD": "GET",
            "SCRIPT_NAME": "/cgi-bin/mapserv",
            "QUERY_STRING": "map=WORLD&mode=map",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": str(self.balancer.port),
            "REMOTE_ADDR": "127.0.0.1",
            "BALANCE_CONFIG": configuration,
        }
        for _ in range(20):
            answer = subprocess.run(
                [fleet.program("balance")], env=environment, capture_output=True, timeout=10, check=True
            ).stdout.decode()
            self.assertIn(f"X-Balance-Host: {third.name}\r\n", answer)

    def test_a_damaged_file_is_named_by_line_and_the_rest_counts(self):
        host = self.fleet.hosts[2]
        self.tell("drain", host.name)
        path = os.path.join(self.keep, "balance.conf.byhand")
        with open(path, "a", encoding="utf-8") as file:
            file.write(f"{self.fleet.hosts[0].name} weight=heavy\nnobody duty=off\n\x00\x1b]\n")
        shown = self.control("status").stdout
        self.assertRegex(shown, rf"{path}:\d+: weight is 'heavy'; wanted 0 to 1000")
        self.assertIn("nobody is no host of", shown)
        processes.wait_until(lambda: "'heavy'" in self.balancer.watcher.said(), 5, "the fault in poolwatch's log")
        self.assertNotIn(host.name, self.chosen())

    def test_an_unknown_host_is_named_with_the_nearest(self):
        done = self.control("drain", "pinchto")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no host 'pinchto'; the nearest is 'pinchot'", done.stderr)


class Waiting(Maintained):
    def test_an_interrupted_wait_says_what_goes_on_and_leaves_the_host_draining(self):
        host = self.fleet.hosts[0]
        worker = host.mapserver.processes[0]
        busy = self.scene.start(
            "busy", ["python3", "-c", "import ctypes\nctypes.CDLL(None).prctl(15, b'mapserv')\nwhile True: pass"],
            cgroup=host.cgroup,
        )
        try:
            done = self.control("drain", host.name, "--wait", "--timeout", "4s")
            self.assertEqual(done.returncode, 1)
            self.assertIn("1 map process is at work", done.stderr)
            self.assertEqual(self.standing(host)["duty"], "draining")
            waiting = subprocess.Popen(
                [fleet.program("balancectl"), "--config", self.balancer.configuration, "drain", host.name, "--wait"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            time.sleep(1)
            waiting.send_signal(signal.SIGINT)
            _, said = waiting.communicate(timeout=10)
            self.assertEqual(waiting.returncode, 1)
            self.assertIn("interrupted, draining stays", said)
        finally:
            busy.kill()
        self.assertTrue(worker.alive())
        self.assertNotIn(host.name, self.chosen())
        self.tell("drain", host.name, "--wait", "--timeout", "30s")

    def test_a_batch_job_does_not_hold_up_the_wait(self):
        host = self.fleet.hosts[1]
        host.start_batch_job(1)
        self.addCleanup(host.end_batch_job)
        self.tell("drain", host.name, "--wait", "--timeout", "30s")

    def test_without_a_report_the_wait_takes_drain_wait(self):
        host = self.fleet.hosts[2]
        self.balancer.lines += "drain-wait = 4s\n"
        self.balancer.configure()
        self.balancer.watcher.signal(signal.SIGHUP)
        wait_until_usable(self.balancer, 3)
        host.probe.signal(signal.SIGSTOP)
        try:
            processes.wait_until(lambda: self.standing(host)["tier"] in ("silent", "down"), 10, "its silence")
            began = time.monotonic()
            self.tell("drain", host.name, "--wait", "--timeout", "30s")
            self.assertGreater(time.monotonic() - began, 3.9)
        finally:
            host.probe.signal(signal.SIGCONT)


class OnTheHostItself(Maintained):
    """The maintenance script of a host needs no access to the balancer."""

    def tell_probe(self, host, *words):
        done = self.scene.start("drain", [fleet.program("loadprobe"), "--config", host.probe_configuration, *words])
        self.assertEqual(done.popen.wait(5), 0, done.said())

    def test_its_own_loadprobe_says_the_same_and_ready_by_hand_does_not_overrule_it(self):
        host = self.fleet.hosts[0]
        self.tell_probe(host, "--drain", "disk swap on Tuesday")
        processes.wait_until(lambda: self.standing(host)["duty"] == "draining", 3, "its own drain")
        shown = self.standing(host)
        self.assertEqual((shown["duty_set_by"], shown["reason"]), ("host", "disk swap on Tuesday"))
        self.assertNotIn(host.name, self.chosen())
        self.assertIn("its own loadprobe says so (disk swap on Tuesday)",
                      self.control("explain", "map=WORLD&mode=map").stdout)
        done = self.tell("ready", host.name)
        self.assertIn(f"{host.name} is still draining: its own loadprobe says so", done.stderr)
        self.tell_probe(host, "--ready")
        processes.wait_until(lambda: self.standing(host)["duty"] == "serving", 3, "its own ready")


if __name__ == "__main__":
    unittest.main()
