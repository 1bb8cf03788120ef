#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Three real MapServer hosts on this machine, a balancer, clients: one host gets a batch job, another dies and returns.

  demo.py                until Ctrl-C (an hour at most), for a browser and a person
  demo.py --once         one round; exit status 0 only if everything that it claims was seen
  demo.py --everywhere   a balancer on each host at /cgi-bin/mapserv, mapserv under another script

All of it lives in one temporary folder and in child processes; both are gone at the end, however it ends.
"""

import argparse
import os
import re
import sys
import time
import urllib.parse
import urllib.request

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "e2e")]

from claims import BatchJob, Death, Phase, Story, judge  # noqa: E402  (the path comes first)
from clients import Clients, draw_all_the_time  # noqa: E402
from lib.balancer import PAGE, Balancer  # noqa: E402
from lib.fleet import Fleet  # noqa: E402
from lib.processes import Failed, Scene, exit_on_sigterm, free_port  # noqa: E402
from screen import Screen, summary  # noqa: E402

HOSTS = 3
UTILISATION = 0.63  # of what the hosts can draw: two of them alone just carry it, at 0.95
BATCH_TASKS = 4
LONGEST = 3600.0
HIDDEN_SCRIPT = "/cgi-bin/mapserv-here"  # where mapserv is if a balancer has its place


class Demo:
    def __init__(self, scene, everywhere):
        self.scene, self.everywhere = scene, everywhere
        # The clients, the web servers and the balancers need some of the machine, too.
        cores = min(1.0, 0.6 * len(os.sched_getaffinity(0)) / HOSTS)
        # One balancer: the pages' forms lead to it. A balancer on each host: they lead to the host's own.
        port = None if everywhere else free_port("127.0.0.1")
        self.fleet = Fleet(
            scene,
            HOSTS,
            cores=cores,
            workers=4,
            script=HIDDEN_SCRIPT if everywhere else "/cgi-bin/mapserv",
            forms_lead_to="" if everywhere else f"http://127.0.0.1:{port}",
        )
        self.hosts = self.fleet.hosts
        # Without shares what slows one host slows all of them, and nothing can be learned of their speed: unlike weights
        # say that it should not be.
        options = {} if self.fleet.shares else {self.hosts[0].name: "weight=1.01"}
        if everywhere:
            self.balancers = [
                Balancer(scene, self.fleet, name=host.name, web=None, cgroup=host.cgroup, host_options=options)
                for host in self.hosts
            ]
        else:
            self.balancers = [Balancer(scene, self.fleet, port=port, host_options=options)]
        self.story = Story({host.web.authority: host.name for host in self.hosts}, has_shares=bool(self.fleet.shares))
        self.authorities = list(self.story.names) if everywhere else [f"127.0.0.1:{port}"]
        self.page = f"http://{self.authorities[0]}{PAGE}"
        self.clients = Clients(self.authorities)
        self.screen = Screen(
            self.story,
            [
                f"open {self.page}",
                *(f"  {host.name} is {host.url}{self.fleet.script}" for host in self.hosts),
            ],
        )
        self.rounds = 0

    def start(self):
        """Starts all, shows where to look, and finds the rate of requests that suits this machine."""
        if self.fleet.shares:
            self.fleet.shares.enter("clients")  # the balancer and we are not slowed by what else runs here
        self.fleet.start()
        for balancer in self.balancers:
            balancer.start()
        print("\n".join(self.screen.places), flush=True)
        shares = self.fleet.shares
        print(
            f"each host has {self.fleet.cores:.2f} of a core and {self.fleet.workers} FastCGI mapserv"
            if shares
            else f"no CPU share for each host here ({self.fleet.no_shares}): each tells the load of its own mapserv",
            flush=True,
        )
        self.check_page()
        maps = self.capacity()
        self.clients.rate = UTILISATION * maps
        self.screen.say(f"the hosts draw {maps:.0f} maps a second together; clients ask for {self.clients.rate:.0f}")
        self.clients.start()

    def capacity(self):
        """The maps a second that the hosts can draw together: by the CPU that a map takes where each has a share of its
        own, else as many as they did draw."""
        hosts = list(self.story.names)
        draw_all_the_time(hosts, self.fleet.script, 1.5)  # a mapserv's first map costs ten times as much
        before = self.cpu_seconds()
        drawn, seconds = draw_all_the_time(hosts, self.fleet.script, 2.0)
        after = self.cpu_seconds()
        if not after:
            return drawn / seconds
        return HOSTS * self.fleet.cores * drawn / sum(after[host] - before[host] for host in after)

    def check_page(self):
        """The page that we ask people to open: it comes through the balancer, and its form leads back there."""
        with urllib.request.urlopen(self.page, timeout=10) as answer:
            text, url = answer.read().decode(), answer.geturl()
        form = re.search(r'<form [^>]*action="([^"]*)"', text)
        wanted = "" if self.everywhere else f"http://{self.authorities[0]}"
        if not form or form[1] != f"{wanted}/cgi-bin/mapserv":
            raise Failed(f"the form of {url} leads to {form and form[1]}, wanted {wanted}/cgi-bin/mapserv")
        picture = re.search(r'name="img" src="([^"]*)"', text)
        with urllib.request.urlopen(urllib.parse.urljoin(url, picture[1]), timeout=10) as answer:
            if answer.headers["Content-Type"] != "image/png":
                raise Failed(f"the page's picture is {answer.headers['Content-Type']}, wanted image/png")

    def status(self):
        # A balancer whose host is dead says nothing useful: ask another one.
        dead = {death.host for death in self.story.deaths if not death.back}
        alive = next(b for b, host in zip(self.balancers, self.hosts) if host.web.authority not in dead)
        answer = alive.control("status")
        return answer.stdout + answer.stderr

    def go_on(self, seconds):
        """Lets the clients work while the table is shown; all of us must be alive."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.screen.show(self.clients.records, self.status)
            for balancer in self.balancers:
                for process in balancer.processes():
                    if not process.alive() and not self.is_dead(balancer):
                        raise Failed(f"{process.name} ended with {process.popen.returncode}:\n{process.said()}")
            time.sleep(min(0.25, max(0.0, end - time.monotonic())))

    def is_dead(self, balancer):
        return self.everywhere and any(
            self.story.names[death.host] == balancer.name and not death.back for death in self.story.deaths
        )

    def phase(self, name, seconds, text):
        self.screen.say(text)
        phase = Phase(name, time.time(), float("inf"))
        self.story.phases.append(phase)
        before = self.cpu_seconds()
        self.go_on(seconds)
        phase.end = time.time()
        used = phase.end - phase.start
        phase.busy = {host: (now - before[host]) / used / self.fleet.cores for host, now in self.cpu_seconds().items()}
        if not self.screen.tty:
            self.screen.block(["", *self.status().splitlines(), ""])

    def cpu_seconds(self):
        return {host.web.authority: host.cgroup.cpu_seconds() for host in self.hosts if host.cgroup}

    def round(self):
        """One round of the story; the next one takes other hosts."""
        busy = self.hosts[self.rounds % HOSTS]
        dying = self.hosts[(self.rounds + 1) % HOSTS]
        self.rounds += 1
        self.go_on(3)
        self.phase("steady", 10, "all hosts alike")
        self.batch(busy)
        self.phase("batch job over", 4, f"{busy.name}'s batch job is over")
        self.kill_and_return(dying)

    def batch(self, host):
        self.screen.notes[host.web.authority] = f"a batch job with {BATCH_TASKS} tasks"
        host.start_batch_job(BATCH_TASKS)
        job = BatchJob(host.web.authority, time.time(), float("inf"))
        self.story.jobs.append(job)
        self.phase(f"batch job on {host.name}", 14, f"a batch job runs on {host.name}")
        job.end = time.time()
        host.end_batch_job()
        self.screen.notes.clear()

    def kill_and_return(self, host):
        index = self.hosts.index(host)
        on_it = self.balancers[index].processes() if self.everywhere else []
        death = Death(host.web.authority, time.time(), float("inf"))
        self.story.deaths.append(death)
        death.dead = host.kill(*on_it)
        self.screen.notes[host.web.authority] = "killed: web server, mapserv, loadprobe"
        self.phase(f"{host.name} is dead", 8, f"{host.name} was killed: its web server, mapserv and loadprobe")
        death.starting = time.time()
        if self.everywhere:
            host.start(before_web=self.balancers[index].start)
        else:
            host.start()
        death.back = time.time()
        self.screen.notes.clear()
        self.phase(f"{host.name} is back", 16, f"{host.name} is back")

    def finish(self):
        """Stops the clients, says what was seen. Returns whether all claims hold."""
        self.clients.rate = 0.0
        self.clients.stop()
        # Where a balancer stands on the host, too, the same log holds what was asked of that.
        script = f"{self.fleet.script}?".encode()
        logs = {
            host.web.authority: [entry.uri for entry in host.web.entries()[0] if entry.uri.startswith(script)]
            for host in self.hosts
        }
        claims = judge(self.story, self.clients.records, logs, time.time())
        lines = summary(self.story, self.clients.records)
        lines += [""] + [f"{'PASS' if claim.holds else 'FAIL'}  {claim.text}: {claim.seen}" for claim in claims]
        if not self.story.has_shares:
            lines.append(f"not claimed: how a batch job and a return change the shares, since {self.fleet.no_shares}")
        self.screen.block(lines)
        return all(claim.holds for claim in claims)


def run(arguments):
    with Scene("demo") as scene:
        demo = Demo(scene, arguments.everywhere)
        demo.start()
        end = time.monotonic() + LONGEST
        try:
            while True:
                demo.round()
                if arguments.once or time.monotonic() > end:
                    break
        except KeyboardInterrupt:
            if arguments.once:
                raise
        return demo.finish()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--once", action="store_true", help="one round, then judge")
    parser.add_argument("--everywhere", action="store_true", help="a balancer on each host")
    arguments = parser.parse_args()
    exit_on_sigterm()
    try:
        return 0 if run(arguments) else 1
    except KeyboardInterrupt:
        return 130
    except Failed as failed:
        print(f"demo: {failed}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
