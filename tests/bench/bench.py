#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the balancer costs, as ratios and shares taken in one run, each beside what is wanted of it.

    bench.py [PART...]     cgi webservers fastcgi kept choice watch probe memory; all without a name

What is compared is measured in turns, several times, and the medians count: this machine may do other things
meanwhile. Exit status 1 if a figure misses its mark by more than a tenth (noise), 0 else."""

import contextlib
import os
import re
import selectors
import shutil
import socket
import statistics
import subprocess
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

from lib import processes, webservers  # noqa: E402
from lib.fleet import PROGRAMS, program, program_for_all  # noqa: E402

BENCH = os.path.join(os.path.dirname(PROGRAMS), "tests", "bench")
TARGET = "/cgi-bin/mapserv?map=WORLD&mode=map&layers=countries&mapsize=600+300"
NOISE = 0.1
ROUNDS = 5


class Figures:
    def __init__(self):
        self.missed = 0

    def show(self, what, value, mark, unit="", *, least=False):
        """`mark` is the most that is wanted, or the least."""
        missed = value < mark * (1 - NOISE) if least else value > mark * (1 + NOISE)
        near = not missed and (value < mark if least else value > mark)
        self.missed += missed
        verdict = "MISSED" if missed else "near" if near else "fine"
        print(f"{what:<66} {value:8.3f}{unit}  {'>=' if least else '<='} {mark:g}{unit}  {verdict}", flush=True)


def note(text):
    print(f"    {text}", flush=True)


def built(name):
    return os.path.join(BENCH, name)


def cpu_seconds(pid):
    """CPU that all threads of the process have used: its own clock, see clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


class Place:
    """A scene with what the parts need: configurations with so many hosts, tables that a poolwatch keeps."""

    def __init__(self, scene):
        self.scene = scene
        self.answering = None

    def answering_hosts(self):
        """Fake hosts that report to whoever asks at any loopback address; their ports."""
        if not self.answering:
            ports = processes.free_port(), processes.free_port()
            command = [sys.executable, "-B", os.path.join(ROOT, "tests", "e2e", "lib", "fakes.py"), *map(str, ports)]
            fakes = self.scene.start("fakes", [*command, "0.0.0.0"], stdin=subprocess.PIPE)
            fakes.wait_for(lambda: "ready" in fakes.said(), 10, "hosts that answer")
            self.answering = ports
        return self.answering

    def configuration(self, hosts, name=None, probe=""):
        probe_port, web_port = self.answering_hosts()
        name = name or f"hosts{hosts}"
        lines = "".join(
            f"host = h{i} http://127.1.{i // 250}.{i % 250 + 1}:{web_port}\n" for i in range(hosts)
        )
        state = self.scene.path(f"{name}-state")
        os.makedirs(state, exist_ok=True)
        os.chmod(state, 0o777)
        os.chmod(self.scene.folder, 0o755)
        return self.scene.write(
            f"{name}.conf", f"state-dir = {state}\nmode = redirect\n{lines}[probe]\nport = {probe_port}\n{probe}"
        )

    def watched(self, hosts, **how):
        """A configuration and the poolwatch that has heard of all its hosts."""
        configuration = self.configuration(hosts, **how)
        watcher = self.scene.start(f"poolwatch{hosts}", [program("poolwatch"), "--config", configuration])

        def all_up():
            command = [program("balancectl"), "--config", configuration, "status"]
            shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
            return f"{hosts} usable" in shown

        watcher.wait_for(all_up, 30, f"{hosts} hosts up")
        # The table belongs to root; web servers run CGI programs as somebody else.
        for file in os.listdir(self.scene.path(f"{how.get('name') or f'hosts{hosts}'}-state")):
            os.chmod(self.scene.path(f"{how.get('name') or f'hosts{hosts}'}-state", file), 0o666)
        return configuration, watcher


CGI_VARIABLES = {
    "GATEWAY_INTERFACE": "CGI/1.1",
    "REQUEST_METHOD": "GET",
    "SCRIPT_NAME": "/cgi-bin/mapserv",
    "REQUEST_URI": TARGET,
    "QUERY_STRING": TARGET.partition("?")[2],
    "REMOTE_ADDR": "192.0.2.1",
    "SERVER_NAME": "maps.example.org",
    "SERVER_PORT": "80",
    "HTTP_HOST": "maps.example.org",
    "HTTP_USER_AGENT": "Mozilla/5.0",
}


def cgi(figures, place):
    few, few_watcher = place.watched(4)
    many, many_watcher = place.watched(100)
    command = [built("starts"), "300", built("bare")]
    command += [f"BALANCE_CONFIG={path} {program('balance')}" for path in (few, many)]
    ratios = []
    for _ in range(3):
        out = subprocess.run(command, env={**CGI_VARIABLES, "PATH": "/usr/bin:/bin"}, stdout=subprocess.PIPE, check=True)
        bare, with_few, with_many = map(float, out.stdout.split())
        ratios.append((with_few / bare, with_many / bare, bare))
    few_watcher.stop()
    many_watcher.stop()
    of_few, of_many, bare = (statistics.median(column) for column in zip(*ratios))
    note(f"an empty libfcgi CGI program takes {bare:.0f} us from its start to its end")
    figures.show("CGI, 4 hosts: wall time beside an empty libfcgi program", of_few, 1.3)
    figures.show("CGI, 100 hosts: the same", of_many, 1.7)


def requests_per_second(server, target, connections, seconds=2):
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", f"http://{server.authority}{target}"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if re.search(r"Non-2xx or 3xx", out):
        raise processes.Failed(f"{target} of {server.name}: {out}")
    return float(re.search(r"Requests/sec:\s+(\S+)", out).group(1))


def cgi_behind_web_servers(figures, place):
    configuration, watcher = place.watched(4)
    environment = {"BALANCE_CONFIG": configuration}
    for kind in ("lighttpd", "apache"):
        routes = {
            "/cgi-bin/mapserv": webservers.Cgi(program_for_all(place.scene, "balance"), environment),
            "/cgi-bin/bare": webservers.Cgi(shutil.copy(built("bare"), place.scene.path("bin")), {}),
        }
        server = webservers.KINDS[kind](place.scene, f"{kind}-cgi", "127.0.0.1", processes.free_port(), routes).start()
        ratios = []
        for _ in range(9):
            bare = requests_per_second(server, TARGET.replace("mapserv", "bare"), 4, 1)
            ratios.append(requests_per_second(server, TARGET, 4, 1) / bare)
        server.stop()
        figures.show(f"CGI behind {kind}: its requests/s beside the empty one's", statistics.median(ratios), 0.9, least=True)
    watcher.stop()


class FastCgiPair:
    """balance and the bare program, each behind an nginx that keeps connections to it."""

    def __init__(self, place, keep):
        configuration, self.watcher = place.watched(4)
        scene = place.scene
        sockets = scene.path("balance.sock"), scene.path("bare.sock")
        for path in sockets:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        self.balance = scene.start(
            "balance", [program("balance"), "--listen", f"unix:{sockets[0]}"], env={"BALANCE_CONFIG": configuration}
        )
        self.bare = scene.start("bare", [built("bare"), sockets[1], "64"])
        for process, path in zip((self.balance, self.bare), sockets):
            process.wait_for(lambda path=path: os.path.exists(path), 5, path)
            os.chmod(path, 0o666)
        self.servers = [
            webservers.Nginx(
                scene,
                f"nginx{i}",
                "127.0.0.1",
                processes.free_port(),
                {"/cgi-bin/mapserv": webservers.FastCgi(path)},
                keep_connections=keep,
            ).start()
            for i, path in enumerate(sockets)
        ]

    def stop(self):
        for process in (*(server.process for server in self.servers), self.balance, self.bare, self.watcher):
            process.stop()


def fastcgi(figures, place):
    pair = FastCgiPair(place, 32)
    rates, costs, bare_costs = [], [], []
    for _ in range(ROUNDS):
        found = []
        for server, process in zip(pair.servers, (pair.balance, pair.bare)):
            before = cpu_seconds(process.pid)
            seconds = 2
            rate = requests_per_second(server, TARGET, 8, seconds)
            found.append((rate, (cpu_seconds(process.pid) - before) / (rate * seconds)))
        rates.append(found[0][0] / found[1][0])
        costs.append(found[0][1] / found[1][1])
        bare_costs.append(found[1][1])
    pair.stop()
    bare = statistics.median(bare_costs)
    note(f"a bare libfcgi program uses {bare * 1e6:.1f} us of CPU a request")
    figures.show("FastCGI behind nginx: requests/s beside the bare one's", statistics.median(rates), 0.95, least=True)
    figures.show("FastCGI behind nginx: CPU a request beside the bare one's", statistics.median(costs), 1.3)
    return bare


def served(server, count, seconds=5):
    """Of so many kept connections that ask over and over for a second or more, how many got an answer."""
    request = f"GET {TARGET} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    selector = selectors.DefaultSelector()
    answered = set()

    def ask_anew(client):
        connection = socket.create_connection((server.address, server.port))
        connection.sendall(request)
        selector.register(connection, selectors.EVENT_READ, client)

    for i in range(count):
        ask_anew(i)
    began = time.monotonic()
    while time.monotonic() < began + seconds and (len(answered) < count or time.monotonic() < began + 1):
        for key, _ in selector.select(0.1):
            try:
                came = key.fileobj.recv(65536)
                if came:
                    answered.add(key.data)
                    key.fileobj.sendall(request)
            except ConnectionError:
                came = b""
            if not came:  # nginx closes after a thousand requests
                selector.unregister(key.fileobj)
                key.fileobj.close()
                ask_anew(key.data)
    for key in list(selector.get_map().values()):
        key.fileobj.close()
    return len(answered)


def kept(figures, place):
    pair = FastCgiPair(place, 512)
    for count in (1, 8, 64, 256, 512):
        figures.show(f"kept connections: clients served of {count}", served(pair.servers[0], count) / count, 1, least=True)
    pair.stop()


def choice(figures, place):
    bare = place.bare_cpu or fastcgi(Figures(), place)
    rounds = []
    for _ in range(3):
        out = subprocess.run([built("choice"), "4", "64", "1000"], stdout=subprocess.PIPE, check=True).stdout
        rounds.append([float(word) * 1e-9 for word in out.split()])
    for hosts, mark, costs in zip((4, 64, 1000), (0.1, 0.1, 0.15), zip(*rounds)):
        cost = statistics.median(costs)
        note(f"a choice of {hosts} hosts takes {cost * 1e6:.2f} us of CPU")
        figures.show(f"choice, {hosts} hosts: beside the bare program's CPU a request", cost / bare, mark)


def share_of_a_core(pid, seconds=4):
    before, began = cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (cpu_seconds(pid) - before) / (time.monotonic() - began)


def resident_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) / 1024


def watch(figures, place):
    _, watcher = place.watched(16, name="watch16", probe="interval = 250ms\n")
    time.sleep(2)
    figures.show("poolwatch, 16 hosts every 250 ms: share of a core", share_of_a_core(watcher.pid), 4, " %")
    figures.show("poolwatch, 16 hosts: resident", resident_mb(watcher.pid), 20, " MB")
    watcher.stop()
    _, watcher = place.watched(1000, name="watch1000", probe="interval = 1s\n")
    time.sleep(3)
    figures.show("poolwatch, 1,000 hosts every second: share of a core", share_of_a_core(watcher.pid, 6), 30, " %")
    note(f"resident with 1,000 hosts: {resident_mb(watcher.pid):.1f} MB")
    watcher.stop()


def asked(port, pid, seconds=4):
    """The share of a core that a loadprobe uses which is asked 16 times a second over one kept connection."""
    connection = socket.create_connection(("127.0.0.1", port))
    before, began = cpu_seconds(pid), time.monotonic()
    for i in range(16 * seconds):
        connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        connection.recv(65536)
        time.sleep(max(0.0, began + (i + 1) / 16 - time.monotonic()))
    share = 100 * (cpu_seconds(pid) - before) / (time.monotonic() - began)
    connection.close()
    return share


def probe(figures, place):
    scene = place.scene
    many = scene.start("tree", ["/bin/sh", "-c", "for i in $(seq 99); do sleep 1000 & done; wait"])
    processes.wait_until(lambda: len(processes.children(many.pid)) == 99, 10, "99 processes")
    pid_file = scene.write("tree.pid", f"{many.pid}\n")
    scopes = {"the whole machine": ("scope = host", 1), "a tree of 100 processes": (f"scope = tree:{pid_file}", 3)}
    with contextlib.ExitStack() as stack:
        group = group_of(many.pid, stack)
        if group:
            scopes["a group of 100 processes"] = (f"scope = cgroup:{group}", 3)
        for what, (scope, mark) in scopes.items():
            port = processes.free_port()
            path = scene.write("loadprobe.conf", f"listen = 127.0.0.1:{port}\n{scope}\ndrain-file = {scene.path('drain')}\n")
            loadprobe = scene.start("loadprobe", [program("loadprobe"), "--config", path])
            loadprobe.wait_for(lambda port=port: processes.answers("127.0.0.1", port), 5, "loadprobe")
            figures.show(f"loadprobe, {what}, asked 16 times a second: of a core", asked(port, loadprobe.pid), mark, " %")
            if scope == "scope = host":
                figures.show("loadprobe: resident", resident_mb(loadprobe.pid), 10, " MB")
            loadprobe.stop()
        many.kill()


def group_of(parent, stack):
    """A control group with that process and its children; its path, None where none can be had."""
    from lib import cgroups

    try:
        shares = cgroups.shares()
    except cgroups.Unavailable as why:
        note(f"no control group: {why}")
        return None
    stack.callback(shares.remove)
    group = shares.group("bench")
    for pid in [parent, *processes.children(parent)]:
        for folder in group.folders:
            cgroups.write(f"{folder}/cgroup.procs", pid)
    return group.path


def memory(figures, place):
    pair = FastCgiPair(place, 4)
    time.sleep(0.5)
    figures.show("balance as FastCGI, idle: resident", resident_mb(pair.balance.pid), 8, " MB")
    pair.stop()


def main(names):
    figures = Figures()
    parts = {
        "cgi": cgi, "webservers": cgi_behind_web_servers, "fastcgi": fastcgi, "kept": kept, "choice": choice,
        "watch": watch, "probe": probe, "memory": memory,
    }  # fmt: skip
    if any(name not in parts for name in names):
        print(__doc__, file=sys.stderr)
        return 2
    processes.exit_on_sigterm()
    with contextlib.suppress(OSError):  # above whatever else this machine does
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    with processes.Scene("bench") as scene:
        place = Place(scene)
        place.bare_cpu = None
        for name in names or parts:
            result = parts[name](figures, place)
            if name == "fastcgi":
                place.bare_cpu = result
    print(f"{figures.missed} figures missed" if figures.missed else "every figure is within its mark, or a tenth of it")
    return 1 if figures.missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
