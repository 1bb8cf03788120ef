# SPDX-License-Identifier: MIT
"""The life of poolwatch: one at a time, its files taken away, its configuration broken, its end."""

import os
import shutil
import signal
import socket
import time
import unittest

from lib import processes
from lib.fleet import program

BEGUN = "watching hosts="


class Life(unittest.TestCase):
    def setUp(self):
        self.scene = processes.Scene("poolwatch")
        self.addCleanup(self.scene.close)
        self.state = self.scene.path("state")
        # Nobody listens there: what becomes of the hosts does not matter here.
        self.port = processes.free_port()
        self.config = self.configure()

    def configure(self, line=""):
        return self.scene.write(
            "balance.conf",
            f"state-dir = {self.state}\n{line}\n"
            f"host = pinchot http://127.0.0.1:{self.port}\n[probe]\nport = {self.port}\n",
        )

    def start(self, name, *options, env=None):
        watcher = self.scene.start(name, [program("poolwatch"), "--config", self.config, *options], env=env)
        self.addCleanup(watcher.stop)
        return watcher

    def begin(self, name="first", *options, env=None):
        """Starts a poolwatch that gets the lease."""
        watcher = self.start(name, *options, env=env)
        watcher.wait_for(lambda: BEGUN in watcher.said(), 5, BEGUN)
        return watcher

    def await_words(self, watcher, words, seconds=4, times=1):
        watcher.wait_for(lambda: watcher.said(200).count(words) >= times, seconds, words)

    def file(self, ending):
        return f"{self.state}/balance.conf.{ending}"

    def test_sigterm_ends_it_within_a_second_with_status_0(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            watcher = self.begin(f"ends-by-{number}")
            began = time.monotonic()
            os.kill(watcher.pid, number)
            self.assertEqual(watcher.popen.wait(5), 0)
            self.assertLess(time.monotonic() - began, 1)
            self.assertTrue(os.path.exists(self.file("table")))

    def test_on_demand_leaves_at_once_where_another_watches(self):
        self.begin()
        second = processes.run([program("poolwatch"), "--config", self.config, "--on-demand"])
        self.assertEqual(second.returncode, 0)
        self.assertIn("the lease is held by process", second.stderr)

    def test_on_demand_leaves_in_favour_of_a_permanent_one(self):
        first = self.begin("on-demand", "--on-demand")
        self.begin("permanent")
        self.assertEqual(first.popen.wait(5), 0)
        self.assertIn("a permanent poolwatch waits", first.said())

    def test_a_permanent_one_takes_over_from_one_that_was_killed(self):
        first = self.begin()
        second = self.start("second")
        self.await_words(second, "waiting for the lease")
        self.assertNotIn(BEGUN, second.said())
        first.kill()
        self.await_words(second, BEGUN)

    def test_a_deleted_table_is_made_anew(self):
        watcher = self.begin()
        os.unlink(self.file("table"))
        self.await_words(watcher, "table made anew")
        self.assertTrue(os.path.exists(self.file("table")))

    def test_a_truncated_table_is_made_anew(self):
        watcher = self.begin()
        before = os.path.getsize(self.file("table"))
        os.truncate(self.file("table"), 0)
        self.await_words(watcher, "was damaged")
        self.assertEqual(os.path.getsize(self.file("table")), before)

    def test_a_deleted_folder_is_made_anew_and_the_lease_taken_again(self):
        watcher = self.begin()
        shutil.rmtree(self.state)
        self.await_words(watcher, "lease taken again")
        self.await_words(watcher, "table made anew")
        second = processes.run([program("poolwatch"), "--config", self.config, "--on-demand"])
        self.assertIn("the lease is held", second.stderr)

    def control(self, *arguments):
        return processes.run([program("balancectl"), "--config", self.config, *arguments])

    def test_the_log_tells_why_a_host_was_taken_out_by_hand(self):
        watcher = self.begin()
        self.assertEqual(self.control("drain", "pinchot", "--reason", "new kernel").returncode, 0)
        self.await_words(watcher, 'host draining host=pinchot cause="set by hand: new kernel"')
        self.assertEqual(self.control("off", "pinchot", "--for", "2h", "--reason", "disk").returncode, 0)
        self.await_words(watcher, 'host off host=pinchot cause="set by hand, until 2')
        self.await_words(watcher, 'Z: disk"')
        self.assertEqual(self.control("ready", "pinchot", "--reason", "new disk").returncode, 0)
        self.await_words(watcher, 'host ready host=pinchot cause="set by hand: new disk"')
        self.assertEqual(self.control("off", "pinchot", "--for", "1s").returncode, 0)
        self.await_words(watcher, 'host ready host=pinchot cause="its time is over"')

    def test_a_copy_of_what_is_in_use_lies_beside_the_table(self):
        self.begin()
        with open(self.config, encoding="utf-8") as config:
            text = config.read()

        def copied():
            with open(self.file("used"), encoding="utf-8") as copy:
                return copy.read().partition("\n")[2]

        self.assertEqual(copied(), text)
        self.configure("moed = relay")
        os.unlink(self.file("used"))
        processes.wait_until(lambda: os.path.exists(self.file("used")), 3, "another copy")
        self.assertEqual(copied(), text)
        with open(self.configure("panic = 40%"), encoding="utf-8") as config:
            text = config.read()
        processes.wait_until(lambda: copied() == text, 5, "the copy of the new one")
        # Without --on-demand whoever starts it is there to read what is wrong.
        self.configure("moed = relay")
        done = processes.run([program("poolwatch"), "--config", self.config], seconds=5)
        self.assertEqual(done.returncode, 2)
        self.assertIn("balance.conf:2: unknown key 'moed'", done.stderr)

    def test_a_faulty_configuration_is_refused_by_line_and_the_old_one_stays(self):
        watcher = self.begin()
        self.configure("wieght = 3")
        os.kill(watcher.pid, signal.SIGHUP)
        self.await_words(watcher, "balance.conf:2: unknown key 'wieght'")
        self.assertTrue(watcher.alive())
        self.configure("peers = 2")
        os.kill(watcher.pid, signal.SIGHUP)
        self.await_words(watcher, "configuration changed")

    def test_a_changed_configuration_is_found_without_a_signal(self):
        watcher = self.begin()
        self.configure("peers = 2")
        self.await_words(watcher, "configuration changed")

    def test_moves_with_the_state_directory(self):
        watcher = self.begin()
        self.state = self.scene.path("elsewhere")
        self.configure()
        self.await_words(watcher, BEGUN, times=2)
        self.assertTrue(os.path.exists(self.file("table")))

    def test_no_place_for_the_table_is_status_1(self):
        self.state = "/proc/nowhere"
        self.configure()
        ended = processes.run([program("poolwatch"), "--config", self.config])
        self.assertEqual(ended.returncode, 1)
        self.assertIn("/proc/nowhere", ended.stderr)

    def test_check_lists_the_faults_with_status_2(self):
        self.configure("wieght = 3")
        ended = processes.run([program("poolwatch"), "--check", "--config", self.config])
        self.assertEqual(ended.returncode, 2)
        self.assertIn("balance.conf:2: unknown key 'wieght'", ended.stderr)

    def test_a_refused_host_is_told_once_with_its_cause(self):
        watcher = self.begin()
        self.await_words(watcher, "connection refused")
        time.sleep(1.5)  # several probes and a web check more
        self.assertEqual(watcher.said(200).count("host down host=pinchot"), 1)

    def test_tells_its_supervisor_when_it_watches_and_when_it_ends(self):
        path = self.scene.path("notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
            supervisor.bind(path)
            supervisor.settimeout(5)
            watcher = self.begin(env={"NOTIFY_SOCKET": path})
            self.assertIn(b"READY=1", supervisor.recv(200))
            os.kill(watcher.pid, signal.SIGTERM)
            self.assertEqual(supervisor.recv(200), b"STOPPING=1")


if __name__ == "__main__":
    unittest.main()
