#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a relay costs that is handed to nginx (answer.* = accel): CPU of nginx and balance together beside that of nginx with
proxy_pass, in alternating rounds of one run, with answers of 1 kB and 100 kB from one nginx. accel_bench.py [SECONDS]
[ROUNDS]. BUILD names the build folder."""

import os
import statistics
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"), os.path.dirname(os.path.abspath(__file__))]

from lib import fleet, processes, world  # noqa: E402
from relay_bench import Nginx, cpu_seconds, host_of_files, load  # noqa: E402

SIZES = {"1 kB": 1000, "100 kB": 100_000}
WANTED = 2.2  # at 100 kB


def accel_places(socket):
    """etc/nginx/balance-accel.conf as it is but for the places."""
    with open(os.path.join(world.ROOT, "etc", "nginx", "balance-accel.conf"), encoding="utf-8") as file:
        text = file.read()
    return text.replace("listen 80;", "listen 127.0.0.1:@PORT@;").replace("/run/balance/front.sock", socket)


def main(seconds=5, rounds=5):
    with processes.Scene("accel") as scene:
        host = host_of_files(scene, SIZES.values())
        plain = Nginx(
            scene,
            "proxy",
            f"server {{ listen 127.0.0.1:@PORT@; location / {{ proxy_pass http://127.0.0.1:{host.port}; }} }}",
        )
        configuration = scene.write(
            "balance.conf",
            f"answer.document = accel\nstate-dir = {scene.path('state')}\nhost = host http://127.0.0.1:{host.port} probe=none\n",
        )
        scene.start("poolwatch", [fleet.program("poolwatch"), "--config", configuration])
        socket = scene.path("front.sock")
        balance = scene.start(
            "balance", [fleet.program("balance"), "--listen", f"unix:{socket}"], env={"BALANCE_CONFIG": configuration}
        )
        balance.wait_for(lambda: os.path.exists(socket), 5, "balance's socket")
        accel = Nginx(scene, "accel", accel_places(socket))
        most = 0.0
        for name, size in SIZES.items():
            costs = {"proxy_pass": [], "nginx": [], "balance": []}
            for _ in range(rounds):
                for port, parts in (
                    (plain.port, {"proxy_pass": plain.process.pid}),
                    (accel.port, {"nginx": accel.process.pid, "balance": balance.pid}),
                ):
                    before = [cpu_seconds(pid) for pid in parts.values()]
                    count = load(port, f"request=GetCapabilities&size={size}", seconds)
                    for part, pid, cpu in zip(parts, parts.values(), before):
                        costs[part].append((cpu_seconds(pid) - cpu) / count * 10_000)
            ratios = [(a + b) / c for a, b, c in zip(costs["nginx"], costs["balance"], costs["proxy_pass"])]
            most = statistics.median(ratios)
            print(f"{name}: CPU s/10k: " + ", ".join(f"{part} {statistics.median(cost):.2f}" for part, cost in costs.items()))
            print(
                f"  handed to nginx it is {most:.2f} times proxy_pass ({min(ratios):.2f} to {max(ratios):.2f})"
                + (f"; wanted at most {WANTED}" if size == max(SIZES.values()) else ""),
                flush=True,
            )
        return 0 if most <= WANTED else 1


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:])))
