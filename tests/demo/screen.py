# SPDX-License-Identifier: MIT
"""What the demo shows while it runs: a table drawn over and over on a terminal, a line now and then elsewhere; and the
summary at the end."""

import sys
import time

from claims import Phase, percentile, sent_between

WINDOW = 5.0


def bar(fraction, width=24):
    full = round(min(1.0, fraction) * width)
    return "#" * full + "." * (width - full)


class Screen:
    def __init__(self, story, places):
        self.story = story
        self.places = places  # (address, what is there) lines, shown on top
        self.tty = sys.stdout.isatty()
        self.notes = {}  # host -> what is the matter with it
        self.heading = ""
        self._said = 0.0

    def say(self, text):
        """A line that stays. On a terminal it becomes the heading of the table."""
        self.heading = text
        if not self.tty:
            print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)

    def table(self, records):
        now = time.time()
        sent = sent_between(records, now - WINDOW, now)
        lines = [f"{'host':10} {'last 5 s':>8} {'share':>6}"]
        for host, name in self.story.names.items():
            count = sum(record.host == host for record in sent)
            part = count / len(sent) if sent else 0.0
            lines.append(f"{name:10} {count:8} {part:6.0%} {bar(part)} {self.notes.get(host, '')}")
        recent = [record for record in records[-2000:] if record.done_at > now - WINDOW and not record.failed]
        failed = sum(record.failed for record in records)
        lines.append(
            f"maps {len(records) - failed}, failed {failed}; last 5 s: {len(sent) / WINDOW:.0f} a second, "
            f"p50 {percentile([r.seconds for r in recent], 0.5) * 1000:.0f} ms, "
            f"p99 {percentile([r.seconds for r in recent], 0.99) * 1000:.0f} ms"
        )
        return lines

    def show(self, records, status):
        """`status` is a function that returns what balancectl says, called only when it will be shown."""
        now = time.monotonic()
        if self.tty:
            if now - self._said < 0.9:
                return
            parts = [*self.places, "", self.heading, "", *self.table(records), "", *status().splitlines()]
            print("\033[H\033[J" + "\n".join(parts) + "\n\n(Ctrl-C ends it)", flush=True)
            self._said = now
        elif now - self._said >= 3:
            sent = sent_between(records, time.time() - 3, time.time())
            shares = ", ".join(
                f"{name} {sum(r.host == host for r in sent)}" for host, name in self.story.names.items()
            )
            print(f"{time.strftime('%H:%M:%S')}   last 3 s: {shares}", flush=True)
            self._said = now

    def block(self, lines):
        """A block that stays, on a terminal below a cleared screen."""
        print("\n".join(lines), flush=True)


def summary(story, records):
    """The table at the end: a line a phase; of each host its part of the requests, and what it used of its share of the
    CPU where that is known."""
    names = "  ".join(f"{name:>13}" for name in story.names.values())
    lines = ["", f"{'phase':22} {'maps':>6} {'failed':>6} {'p50 ms':>7} {'p99 ms':>7}  {names}"]
    phases = [*story.phases]
    if phases:
        phases.append(Phase("all", phases[0].start, float("inf")))
    for phase in phases:
        inside = [record for record in records if phase.start <= record.asked_at < phase.end]
        drawn = [record.seconds for record in inside if not record.failed]
        sent = [record for record in inside if record.host]
        hosts = ""
        for host in story.names:
            part = sum(record.host == host for record in sent) / len(sent) if sent else 0.0
            hosts += f"  {part:6.1%} " + (f"({phase.busy[host]:4.0%})" if host in phase.busy else " " * 6)
        lines.append(
            f"{phase.name:22} {len(drawn):6} {len(inside) - len(drawn):6} {percentile(drawn, 0.5) * 1000:7.0f} "
            f"{percentile(drawn, 0.99) * 1000:7.0f}{hosts}"
        )
    lines.append("of each host: its part of the requests (and how busy its share of the CPU was)")
    return lines
