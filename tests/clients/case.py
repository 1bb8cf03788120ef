# SPDX-License-Identifier: MIT
"""The frame of a line of the table: one client's session in each column, and what came of it."""

import collections
import os
import shutil
import subprocess
import unittest

from columns import COLUMNS, KINDS, MAP, SCRIPT, Watch
from lib import processes
from lib.case import require_programs

# What can come of a session: the right answers and every request by way of the balancer; the right answers, but some
# requests went to a host past it; no right answer.
WORKS, LEAVES = "works", "leaves"


def fails(words):
    """No right answer, and the client says so with these words."""
    return f"fails: {words}"


LINES = []  # of the table: (client, {column: outcome})


class ClientCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_programs("balance", "balance-relay", "poolwatch", "loadprobe", "balancectl")

    def line(self, client, session, wanted, *, reference=None, balancer=None):
        """`session(url)` uses the map at this URL, several requests long, and returns what the client made of the
        answers; Failed where it got none. That must be what it makes of the reference's. `wanted`: the outcome by
        column. `balancer` stands in for the columns' own."""
        right = (reference or session)(COLUMNS.reference.url)
        outcomes = {}
        for name, outcome in wanted.items():
            with self.subTest(client=client, column=name):
                asked = balancer or COLUMNS.column(name).balancer
                found, why = self.outcome(session, asked, right)
                if not matches(found, why, outcome):
                    # A busy machine may have let a deadline pass; what comes twice is so.
                    print(f"{client}, {name}: {found} {why}; once more", flush=True)
                    found, why = self.outcome(session, asked, right)
                outcomes[name] = found
                self.assertTrue(matches(found, why, outcome), f"{found} {why}; wanted {outcome}")
        LINES.append((client, outcomes))

    def outcome(self, session, balancer, right):
        watch = Watch(balancer)
        try:
            made = session(f"{balancer.url}{SCRIPT}?{MAP}")
        except processes.Failed as failure:
            return "fails", str(failure)
        if made != right:
            return "fails", f"made {made!r:.300} of it; wanted {right!r:.300}"
        past = watch.bypassed()
        self.mode_is_kept(balancer, watch)
        if past:
            return LEAVES, f"past the balancer: {past[:3]}"
        if sum(map(len, watch.at_hosts())) < 2:
            return "fails", "the hosts saw less than two requests"
        return WORKS, ""

    def mode_is_kept(self, balancer, watch):
        statuses = collections.Counter(entry.status for entry in watch.at_balancer() if entry.method != "OPTIONS")
        if "mode = relay" in balancer.lines:
            self.assertLessEqual(set(statuses), {200}, "relay alone")
        elif "mode = redirect" in balancer.lines:
            self.assertLessEqual(set(statuses), {302, 307}, "redirects alone")


def matches(found, why, wanted):
    kind, _, words = wanted.partition(": ")
    return found == kind and words in why


def run(command, *, text=None, seconds=60, env=None):
    """What a program printed, as bytes; Failed with what it said where it fails."""
    home = COLUMNS.scene.path("home")
    os.makedirs(home, exist_ok=True)
    done = subprocess.run(
        command,
        input=text,
        capture_output=True,
        timeout=seconds,
        check=False,
        cwd=home,
        env={"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8", **(env or {})},
    )
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace")[-500:]
        raise processes.Failed(f"{command[0]} ended with {done.returncode}: {said}")
    return done.stdout


def fresh_folder(name):
    folder = COLUMNS.scene.path(name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    return folder


def everywhere(outcome=WORKS, **others):
    """The same in every column but the named ones."""
    return {**dict.fromkeys(KINDS, outcome), **others}
