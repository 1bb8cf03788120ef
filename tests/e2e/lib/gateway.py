# SPDX-License-Identifier: MIT
"""`balance` before hosts that are sockets that accept, since a redirect needs no more of them."""

import contextlib
import os
import re
import shutil
import socket
import threading
import unittest

from . import fastcgi, fleet, processes
from .case import require_programs

NAMES = ("pinchot", "leopold", "darwin")
ADDRESSES = ("127.0.0.17", "127.0.0.18", "127.0.0.19")
MAP = "map=WORLD&mode=map&layers=countries"
CGI = {
    "GATEWAY_INTERFACE": "CGI/1.1",
    "REQUEST_METHOD": "GET",
    "QUERY_STRING": MAP,
    "SCRIPT_NAME": "/cgi-bin/mapserv",
    "SERVER_NAME": "maps.example.org",
    "SERVER_PORT": "80",
    "REMOTE_ADDR": "192.0.2.7",
}


class WebPorts:
    """Three addresses whose port accepts and says nothing: hosts for whoever only checks that they are there."""

    def __init__(self):
        self.port = processes.free_port(*ADDRESSES)
        self.listeners = []
        for address in ADDRESSES:
            listener = socket.create_server((address, self.port), backlog=64)
            self.listeners.append(listener)
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    @staticmethod
    def _accept(listener):
        while True:
            try:
                listener.accept()[0].close()
            except OSError:
                return

    def close(self):
        for listener in self.listeners:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def configuration(self, more=""):
        hosts = "".join(
            f"host = {name} http://{address}:{self.port} probe=none\n" for name, address in zip(NAMES, ADDRESSES)
        )
        return f"{more}\n{hosts}"


def can_connect(where):
    """Whether somebody takes FastCGI connections there."""
    with contextlib.suppress(OSError), fastcgi.Connection(where):
        return True
    return False


class GatewayCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_programs("balance")
        cls.ports = WebPorts()
        cls.addClassCleanup(cls.ports.close)
        cls.scene = processes.Scene(cls.__name__.lower())
        cls.addClassCleanup(cls.scene.close)
        # A web server may run its programs as another user, who must find them and write the shared state.
        cls.state = cls.scene.path("state")
        os.makedirs(cls.state)
        os.chmod(cls.state, 0o777)
        cls.program = cls.scene.path("balance")
        shutil.copy(fleet.program("balance"), cls.program)
        if os.access(fleet.program("poolwatch"), os.X_OK):
            shutil.copy(fleet.program("poolwatch"), cls.scene.path("poolwatch"))
        cls.configuration = cls.configure("balance.conf")

    @classmethod
    def configure(cls, name, more="", state=None):
        return cls.scene.write(name, cls.ports.configuration(f"state-dir = {state or cls.state}\n{more}"))

    def leads_to_a_host(self, location):
        """What follows the authority of one of the hosts."""
        match = re.fullmatch(r"http://(127\.0\.0\.1[789]):(\d+)(.*)", location or "", re.S)
        self.assertTrue(match, f"Location is {location!r}")
        self.assertEqual(int(match[2]), self.ports.port)
        return match[3]
