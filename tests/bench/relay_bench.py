#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What relaying costs: CPU of balance-relay beside nginx with proxy_pass, in alternating rounds of one run, with answers of
1 kB and 100 kB from one nginx, and beside a mapserv that draws. Run it on a quiet machine: relay_bench.py [SECONDS] [ROUNDS].
BUILD names the build folder. Exit status 1 if a figure misses what is wanted by more than a tenth.

Each line: CPU seconds for 10,000 requests, of the relay itself and of the web server in front of it."""

import os
import re
import statistics
import subprocess
import sys
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e")]

from lib import fleet, processes  # noqa: E402
from lib.webservers import PARAMETERS  # noqa: E402

SIZES = {"1 kB": (1000, 3), "100 kB": (100_000, 2)}  # bytes, and the most times nginx's CPU that is wanted
MAP = "map=WORLD&mode=map&layers=all&mapsize=600+400"
CLIENTS = 16


def cpu_seconds(pid):
    """Of a process and what descends from it: their own clocks, see clock_getcpuclockid(3)."""
    return sum(time.clock_gettime((~each << 3) | 2) for each in [pid, *processes.descendants(pid)])


class Nginx:
    def __init__(self, scene, name, places):
        self.port = processes.free_port()
        folder = scene.path(name)
        os.makedirs(folder)
        temporary = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in "client_body fastcgi proxy scgi uwsgi".split())
        user = "user root;" if os.geteuid() == 0 else ""
        file = scene.write(
            f"{name}/nginx.conf",
            f"{user} worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log;\n"
            f"events {{ worker_connections 1024; }}\nhttp {{ {temporary} access_log off; keepalive_requests 1000000;\n"
            + places.replace("@PORT@", str(self.port))
            + "\n}\n",
        )
        command = ["nginx", "-e", f"{folder}/error.log", "-p", folder, "-c", file]
        self.process = scene.start(f"{name}/server", command)
        self.process.wait_for(lambda: processes.answers("127.0.0.1", self.port), 5, name)


def load(port, query, seconds):
    """How many answers came."""
    url = f"http://127.0.0.1:{port}/cgi-bin/mapserv?{query}"
    done = subprocess.run(
        ["wrk", "-t1", f"-c{CLIENTS}", f"-d{seconds}s", "--timeout", "20s", url],
        capture_output=True,
        text=True,
        check=True,
        timeout=seconds + 30,
    )
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise processes.Failed(done.stdout)
    return int(re.search(r"(\d+) requests in", done.stdout)[1])


def verdict(what, value, most):
    """Whether it holds, with the tenth that a busy machine may add."""
    word = "fine" if value <= most else "near" if value <= most * 1.1 else "MISSED"
    print(f"  {what} {value:.4g}, wanted at most {most:g}: {word}", flush=True)
    return word != "MISSED"


class Relay:
    """balance-relay in front of the hosts given (lines of a configuration), nginx in front of it."""

    def __init__(self, scene, name, hosts):
        configuration = scene.write(f"{name}.conf", f"mode = relay\nstate-dir = {scene.path(name, 'state')}\n{hosts}")
        scene.start(f"{name}/poolwatch", [fleet.program("poolwatch"), "--config", configuration])
        socket = scene.path(f"{name}.sock")
        self.process = scene.start(
            f"{name}/relay",
            [fleet.program("balance-relay"), "--listen", f"unix:{socket}"],
            env={"BALANCE_CONFIG": configuration},
        )
        self.process.wait_for(lambda: os.path.exists(socket), 5, "the relay")
        self.front = Nginx(
            scene,
            f"{name}-front",
            f"upstream relay {{ server unix:{socket}; keepalive 32; }}\n"
            f"server {{ listen 127.0.0.1:@PORT@; location / {{ fastcgi_pass relay; fastcgi_keep_conn on; {PARAMETERS}\n"
            "  fastcgi_param SCRIPT_NAME /cgi-bin/mapserv; } }",
        )
        self.port = self.front.port


def host_of_files(scene, sizes):
    """An nginx that answers /cgi-bin/mapserv?size=N with N bytes."""
    for size in sizes:
        scene.write(f"files/{size}", "<x>" + "y" * (size - 3))
    return Nginx(
        scene,
        "host",
        f"server {{ listen 127.0.0.1:@PORT@; root {scene.path('files')}; default_type text/xml;\n"
        "  location = /cgi-bin/mapserv { try_files /$arg_size =404; } }",
    )


def beside_proxies(scene, seconds, rounds):
    host = host_of_files(scene, [size for size, _ in SIZES.values()])
    there = f"127.0.0.1:{host.port}"
    proxies = {
        "nginx proxy_pass": Nginx(
            scene, "proxy", f"server {{ listen 127.0.0.1:@PORT@; location / {{ proxy_pass http://{there}; }} }}"
        ),
        "the same with keepalive": Nginx(
            scene,
            "proxy-keep",
            f"upstream hosts {{ server {there}; keepalive 32; }}\n"
            "server { listen 127.0.0.1:@PORT@; location / { proxy_pass http://hosts;\n"
            '  proxy_http_version 1.1; proxy_set_header Connection ""; } }',
        ),
    }
    relay = Relay(scene, "balance", f"host = host http://{there} probe=none\n")
    holds = True
    for name, (size, most) in SIZES.items():
        costs = {each: [] for each in [*proxies, "balance-relay", "front"]}

        def measure(port, parts):
            before = [cpu_seconds(pid) for pid in parts.values()]
            count = load(port, f"request=GetCapabilities&size={size}", seconds)
            for each, pid, cpu in zip(parts, parts.values(), before):
                costs[each].append((cpu_seconds(pid) - cpu) / count * 10_000)

        for _ in range(rounds):
            for each, proxy in proxies.items():
                measure(proxy.port, {each: proxy.process.pid})
            measure(relay.port, {"balance-relay": relay.process.pid, "front": relay.front.process.pid})
        print(f"{name}: CPU s/10k: " + ", ".join(f"{each} {statistics.median(cost):.2f}" for each, cost in costs.items()))
        for each in proxies:
            ratios = [ours / theirs for ours, theirs in zip(costs["balance-relay"], costs[each])]
            print(f"  balance-relay by {each}: {min(ratios):.2f} to {max(ratios):.2f}, median {statistics.median(ratios):.2f}")
            if each == "nginx proxy_pass":
                holds = verdict(f"{name}, times {each}", statistics.median(ratios), most) and holds
    return holds


def beside_a_map(scene, seconds, rounds):
    """mapserv and balance-relay in one run: what of the CPU that a map takes is the relay's."""
    hosts = fleet.Fleet(scene, 1, workers=2, first_address=91).start()
    host = hosts.hosts[0]
    relay = Relay(scene, "map", f"host = {host.name} {host.url}\n[probe]\nport = {hosts.probe_port}\n")
    load(relay.port, MAP, 2)  # connections and threads last longer than this
    shares = []
    for _ in range(rounds):
        drawing = [process.pid for process in host.mapserver.processes]
        before = [sum(map(cpu_seconds, drawing)), cpu_seconds(relay.process.pid)]
        count = load(relay.port, MAP, seconds)
        drew, relayed = sum(map(cpu_seconds, drawing)) - before[0], cpu_seconds(relay.process.pid) - before[1]
        print(f"a map of 600x400: CPU s/10k: mapserv {drew / count * 1e4:.0f}, balance-relay {relayed / count * 1e4:.2f}")
        shares.append(100 * relayed / drew)
    return verdict("beside a map, per cent of mapserv's CPU", statistics.median(shares), 2)


def main(seconds=5, rounds=5):
    with processes.Scene("bench") as scene:
        holds = [beside_proxies(scene, seconds, rounds), beside_a_map(scene, seconds, rounds)]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:])))
