#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each set-up of etc/ under its real web server, with real MapServer hosts behind, and what it has to pass: a table, row
by row. `matrix.py [WORD...]` runs only the rows whose names hold one of the words. BUILD names the build folder."""

import glob
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]

import checks  # noqa: E402
import setups  # noqa: E402
from places import AS_WEB_SERVER, ETC, give_to_web_server  # noqa: E402
from lib import fleet, processes, world  # noqa: E402

NAMES = ("pinchot", "leopold", "darwin", "capra", "audubon", "carson", "muir")
ACCEL = "".join(f"answer.{kind} = accel\n" for kind in ("body", "private", "document", "long", "image", "data", "page"))


class Table:
    def __init__(self):
        self.passed = self.failed = 0
        self.faults = []

    def head(self, first, titles):
        print(f"\n{first:36}" + "".join(f"{title:>10}" for title in titles), flush=True)

    def row(self, name, subject, kinds):
        print(f"{name:36}", end="", flush=True)
        for title, check in kinds.items():
            try:
                shown = check(subject) or "ok"
                self.passed += 1
            except Exception as fault:  # whatever it is, the other checks go on
                shown = "FAILED"
                self.failed += 1
                self.faults.append(f"{name}, {title}: {type(fault).__name__}: {str(fault)[:600]}")
            print(f"{shown:>10}", end="", flush=True)
        print(flush=True)
        if os.environ.get("V"):
            print("\n".join(self.faults))

    def no_row(self, name, fault, count):
        print(f"{name:36} does not start", flush=True)
        self.failed += count
        self.faults.append(f"{name}: {fault}")


def files(kind):
    """What etc/ has for this side: every file is a row, and one for mod_cgid is one for mod_cgi too."""
    found = [os.path.relpath(path, ETC) for path in sorted(glob.glob(f"{ETC}/*/{kind}-*.conf"))]
    assert found, f"no file {ETC}/*/{kind}-*.conf"
    rows = []
    for file in found:
        if file.endswith("-cors.conf"):  # no set-up, but a part of each: tests/clients tries them with browsers
            continue
        rows += [file, f"{file} (cgi)"] if file.endswith("-cgid.conf") else [file]
    return rows


class World:
    def __init__(self, scene):
        self.scene = scene
        os.makedirs(scene.path("bin"))
        # Web servers run what they start as another user, who has to find it; the helpers lie beside.
        for name in ("balance", "balance-relay", "poolwatch"):
            shutil.copy(fleet.program(name), scene.path("bin", name))
        self.programs = {scene.path("bin", name) for name in ("balance", "balance-relay")}
        self.hosts = []

    def start_hosts(self):
        kinds = files("mapserv")
        assert len(kinds) <= len(NAMES)
        addresses = [f"127.0.0.{31 + i}" for i in range(len(kinds))]
        port, probe_port = processes.free_port(*addresses), processes.free_port(*addresses)
        self.probe_port = probe_port
        for name, kind, address in zip(NAMES, kinds, addresses):
            data = self.scene.path(f"data-{name}")
            environment = world.lay_out(data)
            give_to_web_server(os.path.join(data, "tmp"))
            changes = {
                "/etc/mapserver.conf": environment["MAPSERVER_CONFIG_FILE"],
                "/srv/maps/tmp": os.path.join(data, "tmp"),
            }
            host = setups.of(self.scene, kind, address, port, changes)
            host.pool_name = name
            host.start()
            self.hosts.append(host)
            probe = self.scene.write(f"{name}-loadprobe.conf", f"listen = {address}:{probe_port}\nallow = 127.0.0.0/8\n")
            self.scene.start(f"{name}-loadprobe", [fleet.program("loadprobe"), "--config", probe])

    def configure(self, name, lines=""):
        """A balance.conf, and a poolwatch for it that has heard of every host."""
        state = self.scene.path(f"{name}-state")
        os.makedirs(state)
        give_to_web_server(state)
        # Hosts of a pool are alike: mod_cgid refuses long queries, which the others take.
        self.pool = [host for host in self.hosts if host.longest_query > 20000]
        hosts = "".join(f"host = {host.pool_name} http://{host.address}:{host.port}\n" for host in self.pool)
        path = self.scene.write(f"{name}.conf", f"state-dir = {state}\n{lines}{hosts}[probe]\nport = {self.probe_port}\n")
        self.scene.start(f"{name}-poolwatch", [*AS_WEB_SERVER, self.scene.path("bin", "poolwatch"), "--config", path])
        status = [fleet.program("balancectl"), "--config", path, "status", "--json"]
        processes.wait_until(
            lambda: subprocess.run(status, capture_output=True, text=True, check=False).stdout.count('"up"') >= len(self.pool),
            10,
            "all hosts up",
        )
        return path


def run_hosts(table, ground, chosen):
    table.head("map hosts", checks.HOST)
    for host in ground.hosts:
        if chosen(host.row):
            table.row(host.row, checks.HostChecks(host), checks.HOST)


def run_balancers(table, ground, chosen):
    table.head("balancer", checks.BALANCER)
    configurations = {False: ground.configure("redirect"), True: ground.configure("accel", ACCEL)}
    hosts = {host.pool_name: f"{host.address}:{host.port}" for host in ground.pool}
    for file in files("balance"):
        if not chosen(file):
            continue
        relays = "accel" in file
        changes = {
            "/usr/local/libexec/balance": ground.scene.path("bin", "balance"),
            "/usr/local/etc/balance/balance.conf": configurations[relays],
        }
        setup = setups.of(ground.scene, file, "127.0.0.1", processes.free_port("127.0.0.1"), changes)
        if relays:  # its own part is what stands before nginx; balance is as in another file
            setup.started_by = "nginx/balance-socket.conf"
        try:
            setup.start()
            table.row(file, checks.Checks(setup, hosts, ground.programs, relays), checks.BALANCER)
        except processes.Failed as fault:
            table.no_row(file, fault, len(checks.BALANCER))
        finally:
            setup.stop()


def main(words):
    processes.exit_on_sigterm()
    began, table = time.monotonic(), Table()

    def chosen(file):
        return not words or any(word in file for word in words)

    with processes.Scene("servers") as scene:
        ground = World(scene)
        ground.start_hosts()
        run_hosts(table, ground, chosen)
        run_balancers(table, ground, chosen)
    for fault in table.faults:
        print(f"\n{fault}")
    print(f"\nin {time.monotonic() - began:.0f} s\n{table.passed} passed, {table.failed} failed", flush=True)
    return 0 if table.passed and not table.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
