# SPDX-License-Identifier: MIT
"""Real MapServer hosts on loopback addresses: each with its web server, several FastCGI mapserv, its loadprobe and,
where it can be had, its own share of the CPU."""

import os
import shutil
import signal
import socket
import time

from . import cgroups, processes, webservers, world

NAMES = ("pinchot", "leopold", "darwin", "capra", "audubon", "carson")
PROGRAMS = os.path.join(world.ROOT, os.environ.get("BUILD", "build"), "bin")


def program(name):
    return os.path.join(PROGRAMS, name)


# Their parent, as spawn-fcgi's would be: its id stands in a file ($0), and $1 workers descend from it.
FAMILY = 'echo $$ >"$0"; exec 3<&0; i=0; while [ $i -lt "$1" ]; do mapserv <&3 3<&- & i=$((i + 1)); done; wait'


def program_for_all(scene, name):
    """A copy of a program, and of those that it starts, for users who cannot go where the build is."""
    folder = scene.path("bin")
    if not os.path.exists(folder):
        shutil.copytree(PROGRAMS, folder)
    return os.path.join(folder, name)


class MapServer:
    """Several FastCGI mapserv on one UNIX socket. mapserv 8.0 ignores SIGTERM while idle, so they are killed. With a
    `pid_file` they descend from one process, whose id stands there; `processes` is that one then."""

    def __init__(self, scene, name, environment, workers, cgroup, pid_file=None):
        self.scene, self.name, self.environment = scene, name, environment
        self.workers, self.cgroup, self.pid_file = workers, cgroup, pid_file
        self.socket = scene.path(name, "mapserv.sock")
        self.processes = []

    def start(self):
        if os.path.exists(self.socket):
            os.unlink(self.socket)
        # Only the workers may hold the socket: a listener that outlived them would leave clients waiting.
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(self.socket)
            os.chmod(self.socket, 0o666)
            listener.listen(128)
            how = {"env": self.environment, "cgroup": self.cgroup, "stdin": listener}
            if not self.pid_file:
                self.processes = [
                    self.scene.start(f"{self.name}/mapserv", ["mapserv"], **how) for _ in range(self.workers)
                ]
                return
            family = ["sh", "-c", FAMILY, self.pid_file, str(self.workers)]
            self.processes = [self.scene.start(f"{self.name}/mapserv", family, **how)]
        self.processes[0].wait_for(
            lambda: len(processes.children(self.processes[0].pid)) == self.workers, 5, f"{self.name}'s mapserv"
        )


class Host:
    """One host. Each part can be ended and started alone; kill() and start() are the whole machine."""

    def __init__(self, fleet, name, address):
        self.fleet, self.name, self.address = fleet, name, address
        scene = fleet.scene
        self.cgroup = fleet.shares.group(name, fleet.cores) if fleet.shares else None
        self.folder = scene.path(name)
        environment = world.lay_out(scene.path(name, "data"), fleet.forms_lead_to, fleet.onlineresource)
        # Without a share of its own a host's load can still be told from that of the others beside it.
        pid_file = scene.path(name, "mapserv.pid") if fleet.no_shares else None
        self.mapserver = MapServer(scene, name, environment, fleet.workers, self.cgroup, pid_file)
        routes = {fleet.script: webservers.FastCgi(self.mapserver.socket)}
        if fleet.script != "/cgi-bin/mapserv":
            routes["/cgi-bin/mapserv"] = webservers.FastCgi(scene.path(name, "balance.sock"))
        kind = fleet.web_kind_of(name)
        # As an administrator has it whose pages read maps: the file that comes with us.
        cors = [os.path.join(world.ROOT, "etc", kind, "mapserv-cors.conf")] if fleet.with_cors else []
        self.web = webservers.KINDS[kind](
            scene,
            f"{name}/web",
            address,
            fleet.port,
            routes,
            files={"/tmp/": scene.path(name, "data", "tmp")},
            front_page="/cgi-bin/mapserv?map=WORLD&mode=browse&layers=all",
            cgroup=self.cgroup,
            included=cors,
        )
        self.drain_file = scene.path(name, "drain")
        scope = f"scope = cgroup:{self.cgroup.path}\n" if self.cgroup else ""
        if pid_file:
            scope = f"scope = tree:{pid_file}\n"
        self.probe_configuration = scene.write(
            f"{name}/loadprobe.conf",
            f"listen = {address}:{fleet.probe_port}\nallow = 127.0.0.0/8\ndrain-file = {self.drain_file}\n"
            f"queue = unix:{self.mapserver.socket}\n{scope}",
        )
        self.probe = None
        self.batch_job = []

    @property
    def url(self):
        return f"http://{self.web.authority}"

    def start(self, before_web=lambda: None):
        """`before_web` starts what else belongs to the host."""
        self.mapserver.start()
        self.start_probe()
        before_web()
        self.web.start()

    def start_probe(self):
        if not self.fleet.with_probes:
            return
        self.probe = self.fleet.scene.start(
            f"{self.name}/loadprobe",
            [program("loadprobe"), "--config", self.probe_configuration],
            cgroup=self.cgroup,
        )
        self.probe.wait_for(
            lambda: processes.answers(self.address, self.fleet.probe_port), 5, f"{self.name}'s report"
        )

    def _processes(self):
        parts = [self.web.process, *self.mapserver.processes, self.probe, *self.batch_job]
        return [process for process in parts if process]

    def kill(self, *others):
        """SIGKILL to all of the host at once (and to other processes on it). Returns the instant of its death: when
        the last of them had gone, in seconds since 1970."""
        dying = [*self._processes(), *others]
        for process in dying:
            process.signal(signal.SIGKILL)
        for process in dying:
            process.wait_for_death()
        self.batch_job = []
        return time.time()

    def start_batch_job(self, tasks=4):
        """Busy loops inside the host's share."""
        self.batch_job = [
            self.fleet.scene.start(
                f"{self.name}/batch", ["/bin/sh", "-c", "while :; do :; done"], cgroup=self.cgroup
            )
            for _ in range(tasks)
        ]

    def end_batch_job(self):
        for process in self.batch_job:
            process.signal(signal.SIGKILL)
        for process in self.batch_job:
            process.wait_for_death()
        self.batch_job = []


class Fleet:
    """`count` hosts on 127.0.0.11 and following, all on one port. `cores` is each one's share of the CPU; without
    control groups `shares` is None and `no_shares` says why. `script` is where mapserv is: another one than
    /cgi-bin/mapserv leaves that to a balancer on each host (its socket: <host>/balance.sock). `web` may be several
    kinds, taken in turn. Without `with_cors` no page of another origin may read what a host answers. `onlineresource`:
    the maps' ows_onlineresource; '' leaves it out."""

    def __init__(
        self,
        scene,
        count=3,
        *,
        cores=None,
        workers=2,
        with_probes=True,
        web="nginx",
        script="/cgi-bin/mapserv",
        forms_lead_to="",
        first_address=11,
        with_cors=True,
        onlineresource="",
    ):
        self.scene, self.cores, self.workers, self.with_probes = scene, cores, workers, with_probes
        self.script, self.forms_lead_to = script, forms_lead_to
        self.with_cors, self.onlineresource = with_cors, onlineresource
        self.web_kinds = (web,) if isinstance(web, str) else web
        addresses = [f"127.0.0.{first_address + i}" for i in range(count)]
        self.port = processes.free_port(*addresses)
        self.probe_port = processes.free_port(*addresses)
        self.shares, self.no_shares = None, ""
        if cores is not None:
            try:
                self.shares = cgroups.shares()
                scene.at_end(self.shares.remove)
            except cgroups.Unavailable as why:
                self.no_shares = str(why)
        self.hosts = [Host(self, NAMES[i], address) for i, address in enumerate(addresses)]

    def web_kind_of(self, name):
        return self.web_kinds[NAMES.index(name) % len(self.web_kinds)]

    def start(self):
        for host in self.hosts:
            host.start()
        return self

    def by_authority(self, authority):
        """The host at 'address:port', or None."""
        return next((host for host in self.hosts if host.web.authority == authority), None)
