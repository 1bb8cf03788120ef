# SPDX-License-Identifier: MIT
"""A balancer: a web server, `balance` behind it as FastCGI, and poolwatch beside them."""

import contextlib
import json
import os

from . import processes, webservers
from .fleet import program, program_for_all

PAGE = "/cgi-bin/mapserv?map=WORLD&mode=browse&layers=all"


class Balancer:
    """`watch`: 'permanent' starts poolwatch here, 'on-demand' leaves that to balance. `lines` are added to the
    configuration's top, `sections` to its end. `listen` gives balance its own socket, or descriptor 0."""

    def __init__(
        self,
        scene,
        fleet,
        *,
        name="balancer",
        address="127.0.0.1",
        port=None,
        web="nginx",
        watch="permanent",
        lines="",
        sections="",
        host_options=None,
        cgroup=None,
        **web_options,
    ):
        self.scene, self.fleet, self.name, self.watch_kind, self.cgroup = scene, fleet, name, watch, cgroup
        self.port = port or processes.free_port(address)
        self.socket = scene.path(name, "balance.sock")
        self.state_dir = scene.path(name, "state")
        self.host_options = host_options or {}
        self.lines, self.sections = lines, sections
        self.address = address
        self.public_url = self.url if web else None
        self.configuration = self.configure()
        self.web = None
        if web:
            self.web = webservers.KINDS[web](
                scene,
                f"{name}/web",
                address,
                self.port,
                {"/cgi-bin/mapserv": webservers.FastCgi(self.socket)},
                front_page=PAGE,
                cgroup=cgroup,
                **web_options,
            )
        self.balance = self.watcher = None

    @property
    def url(self):
        address = f"[{self.address}]" if ":" in self.address else self.address
        return f"http://{address}:{self.port}"

    def configure(self):
        """Writes balance.conf; again after `lines`, `sections`, `host_options` or
        `public_url` were changed."""
        hosts = "".join(
            f"host = {host.name} {host.url} {self.host_options.get(host.name, '')}\n" for host in self.fleet.hosts
        )
        public = f"public-url = {self.public_url}/cgi-bin/mapserv\n" if self.public_url else ""
        return self.scene.write(
            f"{self.name}/balance.conf",
            f"{public}script = {self.fleet.script}\nstate-dir = {self.state_dir}\n{self.lines}\n{hosts}"
            f"[probe]\nport = {self.fleet.probe_port}\n{self.sections}\n",
        )

    @property
    def environment(self):
        return {"BALANCE_CONFIG": self.configuration}

    def start(self):
        if self.watch_kind == "permanent":
            self.start_watcher()
        self.start_balance()
        if self.web:
            self.web.start()
        return self

    def start_watcher(self):
        self.watcher = self.scene.start(
            f"{self.name}/poolwatch", [program("poolwatch"), "--config", self.configuration], cgroup=self.cgroup
        )

    def start_balance(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.socket)
        self.balance = self.scene.start(
            f"{self.name}/balance",
            [program("balance"), "--listen", f"unix:{self.socket}"],
            env=self.environment,
            cgroup=self.cgroup,
        )
        self.balance.wait_for(lambda: os.path.exists(self.socket), 5, f"balance's socket {self.socket}")
        os.chmod(self.socket, 0o666)  # the web server may run as another user

    def processes(self):
        parts = [self.web and self.web.process, self.balance, self.watcher]
        return [process for process in parts if process]

    def control(self, *arguments):
        """What `balancectl ARGUMENTS` does: a CompletedProcess with text."""
        return processes.run([program("balancectl"), "--config", self.configuration, *arguments])

    def status(self):
        """`balancectl status --json` as Python sees it."""
        return json.loads(self.control("status", "--json").stdout)


def every_gateway(scene, balancer, name, more_environment=None):
    """The balancer behind each web server, in each of the ways that the server has: {'nginx': a web server, ...}."""
    environment = {**balancer.environment, **(more_environment or {})}
    fast = webservers.FastCgi(balancer.socket)
    ours = program_for_all(scene, "balance")
    plain = webservers.Cgi(ours, environment)
    spawned = webservers.Spawned(ours, environment)
    return {
        server: webservers.KINDS[server.partition("-")[0]](
            scene, f"{name}-{server}", "127.0.0.1", processes.free_port(), {"/cgi-bin/mapserv": route}, **options
        ).start()
        for server, route, options in (
            ("nginx", fast, {}),
            ("nginx-keep", fast, {"keep_connections": 4}),
            ("apache-proxy", fast, {}),
            ("apache-fcgid", spawned, {}),
            ("apache-cgi", plain, {}),
            ("lighttpd", fast, {}),
            ("lighttpd-fcgi", spawned, {}),
            ("lighttpd-cgi", plain, {}),
        )
    }
