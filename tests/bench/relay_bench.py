#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What relaying costs: CPU of balance-relay beside nginx with proxy_pass, in alternating rounds of one run, with answers of
1 kB and 100 kB from one nginx. Run it on a quiet machine: relay_bench.py [SECONDS] [ROUNDS]. BUILD names the build folder.

Each line: CPU seconds for 10,000 requests, of the relay itself and of the web server in front of it."""

import os
import re
import statistics
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e")]

from lib import fleet, processes  # noqa: E402
from lib.webservers import PARAMETERS  # noqa: E402

SIZES = {"1 kB": 1000, "100 kB": 100_000}
CLIENTS = 16
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid):
    """Of a process and what descends from it."""
    total = 0
    for each in [pid, *processes.descendants(pid)]:
        with open(f"/proc/{each}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


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


def load(port, size, seconds):
    """How many answers came."""
    url = f"http://127.0.0.1:{port}/cgi-bin/mapserv?request=GetCapabilities&size={size}"
    done = subprocess.run(
        ["wrk", "-t1", f"-c{CLIENTS}", f"-d{seconds}s", url], capture_output=True, text=True, check=True, timeout=seconds + 30
    )
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise processes.Failed(done.stdout)
    return int(re.search(r"(\d+) requests in", done.stdout)[1])


def main(seconds=5, rounds=5):
    with processes.Scene("bench") as scene:
        for size in SIZES.values():
            scene.write(f"files/{size}", "<x>" + "y" * (size - 3))
        host = Nginx(
            scene,
            "host",
            f"server {{ listen 127.0.0.1:@PORT@; root {scene.path('files')}; default_type text/xml;\n"
            "  location = /cgi-bin/mapserv { try_files /$arg_size =404; } }",
        )
        there = f"127.0.0.1:{host.port}"
        proxies = {
            "nginx proxy_pass": Nginx(
                scene,
                "proxy",
                f"server {{ listen 127.0.0.1:@PORT@; location / {{ proxy_pass http://{there}; }} }}",
            ),
            "the same with keepalive": Nginx(
                scene,
                "proxy-keep",
                f"upstream hosts {{ server {there}; keepalive 32; }}\n"
                "server { listen 127.0.0.1:@PORT@; location / { proxy_pass http://hosts;\n"
                '  proxy_http_version 1.1; proxy_set_header Connection ""; } }',
            ),
        }
        configuration = scene.write(
            "balance.conf",
            f"mode = relay\nstate-dir = {scene.path('state')}\nhost = host http://127.0.0.1:{host.port} probe=none\n",
        )
        environment = {"BALANCE_CONFIG": configuration}
        scene.start("poolwatch", [fleet.program("poolwatch"), "--config", configuration])
        socket = scene.path("relay.sock")
        relay = scene.start("relay", [fleet.program("balance-relay"), "--listen", f"unix:{socket}"], env=environment)
        relay.wait_for(lambda: os.path.exists(socket), 5, "the relay")
        front = Nginx(
            scene,
            "front",
            f"upstream relay {{ server unix:{socket}; keepalive 32; }}\n"
            f"server {{ listen 127.0.0.1:@PORT@; location / {{ fastcgi_pass relay; fastcgi_keep_conn on; {PARAMETERS}\n"
            "  fastcgi_param SCRIPT_NAME /cgi-bin/mapserv; } }",
        )
        for name, size in SIZES.items():
            costs = {each: [] for each in [*proxies, "balance-relay", "front"]}

            def measure(port, parts):
                before = [cpu_seconds(pid) for pid in parts.values()]
                count = load(port, size, seconds)
                for each, pid, cpu in zip(parts, parts.values(), before):
                    costs[each].append((cpu_seconds(pid) - cpu) / count * 10_000)

            for _ in range(rounds):
                for each, proxy in proxies.items():
                    measure(proxy.port, {each: proxy.process.pid})
                measure(front.port, {"balance-relay": relay.pid, "front": front.process.pid})
            print(f"{name}: CPU s/10k: " + ", ".join(f"{each} {statistics.median(cost):.2f}" for each, cost in costs.items()))
            for each in proxies:
                ratios = [ours / theirs for ours, theirs in zip(costs["balance-relay"], costs[each])]
                print(
                    f"  balance-relay is {statistics.median(ratios):.2f} times {each} ({min(ratios):.2f} to {max(ratios):.2f})",
                    flush=True,
                )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
