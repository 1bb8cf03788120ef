# SPDX-License-Identifier: MIT
"""The columns of the table of clients: a mode of the balancer and what its hosts set, each a balancer over two real
MapServer hosts of its own; and one host without a balancer, whose answers are the right ones."""

import atexit
import collections
import functools
import time
from dataclasses import dataclass

from lib import fleet, processes, webservers
from lib.balancer import Balancer
from lib.case import wait_until_usable

SCRIPT = "/cgi-bin/mapserv"
MAP = "map=WORLD"


@dataclass(frozen=True)
class Kind:
    title: str
    lines: str
    hosts_are_set: bool = False


# What hosts set, where they do: the balancer's URL as ows_onlineresource, and etc/*/mapserv-cors.conf.
KINDS = {
    "auto": Kind("auto", "mode = auto"),
    "relay": Kind("relay", "mode = relay"),
    "redirect": Kind("redirect", "mode = redirect"),
    "redirect_set": Kind("redirect, hosts set", "mode = redirect", True),
    "auto_set": Kind("auto, hosts set", "mode = auto\nonlineresource = set\nanswer.cors = redirect", True),
}


class Column:
    """`url` is what its clients are given."""

    def __init__(self, name, number):
        self.name, self.kind = name, KINDS[name]
        self.scene = COLUMNS.scene.part(name)
        self.port = processes.free_port()
        origin = f"http://127.0.0.1:{self.port}"
        self.url = f"{origin}{SCRIPT}?{MAP}"
        prepared = self.kind.hosts_are_set
        self.fleet = fleet.Fleet(
            self.scene,
            2,
            workers=1,
            first_address=100 + 2 * number,
            web=("nginx", "apache") if prepared else "nginx",
            forms_lead_to=origin,
            with_cors=prepared,
            onlineresource=origin + SCRIPT if prepared else "",
        )
        self.balancer = Balancer(
            self.scene,
            self.fleet,
            port=self.port,
            lines=f"{self.kind.lines}\nartifact-prefixes = /tmp/\n",
            files={"/page/": page_folder(), "/npm/": npm_folder()},
        )
        # In mode = relay a page's pictures are asked of the balancer.
        self.balancer.web.routes["/tmp"] = webservers.FastCgi(self.balancer.socket)

    def start(self):
        self.fleet.start()
        self.balancer.start()
        wait_until_usable(self.balancer, 2)
        return self


class Watch:
    """What arrived at a balancer and at its hosts since it was made."""

    def __init__(self, balancer):
        self.webs = [balancer.web, *(host.web for host in balancer.fleet.hosts)]
        self.starts = [web.entries()[1] for web in self.webs]

    def _entries(self):
        return [web.entries(start)[0] for web, start in zip(self.webs, self.starts)]

    def at_balancer(self):
        return [entry for entry in self._entries()[0] if entry.uri.startswith(SCRIPT.encode())]

    def at_hosts(self):
        """The requests for mapserv, by host."""
        return [
            [entry for entry in entries if entry.uri.startswith(SCRIPT.encode()) and entry.method != "OPTIONS"]
            for entries in self._entries()[1:]
        ]

    def bypassed(self, seconds=0.4):
        """The URIs that came to a host but not to the balancer first. Logs are a moment late."""
        end = time.monotonic() + seconds
        while True:
            seen = collections.Counter(entry.uri for entry in self.at_balancer() if entry.method != "OPTIONS")
            came = collections.Counter(entry.uri for entries in self.at_hosts() for entry in entries)
            past = came - seen
            if not past or time.monotonic() > end:
                return sorted(past)
            time.sleep(0.02)


class Reference:
    """One host and no balancer; the pages that ask it are of another origin."""

    def __init__(self):
        self.fleet = fleet.Fleet(COLUMNS.scene.part("reference"), 1, workers=2, first_address=98).start()
        self.url = f"{self.fleet.hosts[0].url}{SCRIPT}?{MAP}"


def page_folder():
    return f"{fleet.world.ROOT}/tests/clients/page"


def npm_folder():
    return f"{fleet.PROGRAMS}/../clients/node_modules"


class Columns:
    """Made as they are asked for, in one scene, which ends with this process: the tests stand in several modules, and what
    unittest cleans up after a module may be needed by the next."""

    @functools.lru_cache(maxsize=None)
    def column(self, name):
        return Column(name, list(KINDS).index(name)).start()

    @functools.cached_property
    def reference(self):
        return Reference()

    @functools.cached_property
    def scene(self):
        processes.exit_on_sigterm()
        scene = processes.Scene("clients")
        atexit.register(scene.close)
        return scene

    def urls(self):
        return {"reference": self.reference.url, **{name: self.column(name).url for name in KINDS}}


COLUMNS = Columns()
