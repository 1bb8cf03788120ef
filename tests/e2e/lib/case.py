# SPDX-License-Identifier: MIT
"""The frame of the end-to-end tests: one scene for all tests of a class, cleaned up whatever happens."""

import os
import time
import unittest

from . import fleet, processes, world


def require_programs(*names):
    """Skips nothing: a program that was not built is an error that says so."""
    for name in names:
        if not os.access(fleet.program(name), os.X_OK):
            raise processes.Failed(f"{fleet.program(name)} is not there; build first: make all")


class SceneCase(unittest.TestCase):
    """Has `scene`; a subclass builds on it in build()."""

    @classmethod
    def setUpClass(cls):
        require_programs("balance", "balance-relay", "poolwatch", "loadprobe", "balancectl")
        cls.scene = processes.Scene(cls.__name__.lower())
        cls.addClassCleanup(cls.scene.close)
        cls.build()

    @classmethod
    def build(cls):
        raise NotImplementedError


def wait_until_usable(balancer, count, seconds=8.0):
    """Until balancectl says of so many hosts that they are up."""
    return processes.wait_until(
        lambda: sum(host["health"] == "up" for host in balancer.status().get("hosts", ())) >= count,
        seconds,
        f"{count} hosts up",
    )


def stay(seconds, step, every=0.05):
    """Calls `step` over and over for so many seconds; returns what it returned, in order."""
    end = time.monotonic() + seconds
    results = []
    while time.monotonic() < end:
        results.append(step())
        time.sleep(every)
    return results


MAP = b"/cgi-bin/mapserv?map=WORLD&mode=map&layers=countries&mapsize=60+30"
DATA = world.DATA
CAPABILITIES = b"/cgi-bin/mapserv?map=WORLD&service=WMS&version=1.3.0&request=GetCapabilities"
# What a body is.
FORM = ("Content-Type", "application/x-www-form-urlencoded")
XML = ("Content-Type", "text/xml")
# How a picture begins.
PNG = b"\x89PNG\r\n\x1a\n"
