# SPDX-License-Identifier: MIT
"""What the demo claims, judged from the clients' records, the hosts' access logs and the instants of what was done.
Pure functions; instants are seconds since 1970."""

import re
from dataclasses import dataclass, field

LESS_THAN_FAIR = 0.7
FAIR_ENOUGH = 0.7
DEAD_AFTER = 1.0
FIRST_WITHIN = 3.0
FAIR_WITHIN = 15.0
FAIR_WINDOW = 5.0
REDIRECT_WITHIN = 1.0


@dataclass
class Phase:
    name: str
    start: float
    end: float
    busy: dict = field(default_factory=dict)  # authority -> what it used of its share of the CPU, 0 to 1


@dataclass
class BatchJob:
    host: str
    start: float
    end: float


@dataclass
class Death:
    """`killing`: when the first signal went out; `dead`: when the last process had gone; `starting`: when the first was
    started again; `back`: when all parts answered again."""

    host: str
    killing: float
    dead: float
    starting: float = 0.0
    back: float = 0.0


@dataclass
class Story:
    names: dict  # authority -> host's name
    phases: list = field(default_factory=list)
    jobs: list = field(default_factory=list)
    deaths: list = field(default_factory=list)
    # A CPU share for each host. Without it a batch job slows all of them, and the one that returns gets no more of the
    # CPU than the others.
    has_shares: bool = True


@dataclass
class Claim:
    text: str
    seen: str
    holds: bool


def sent_between(records, start, end):
    return [record for record in records if record.redirected_at and start <= record.redirected_at < end]


def share(records, host, start, end):
    """The host's part (0 to 1) of the requests redirected in that time, and how many there were in all."""
    sent = sent_between(records, start, end)
    return (sum(record.host == host for record in sent) / len(sent) if sent else 0.0), len(sent)


def percentile(values, fraction):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(fraction * len(ordered)))] if ordered else 0.0


def judge(story, records, logs, now):
    """All claims on what has happened until now; what is not over yet is not judged. `logs`: authority -> the URIs
    (bytes) in that host's access log."""
    claims = [*map_claims(story, records, logs)]
    for job in story.jobs if story.has_shares else ():
        claims.append(batch_claim(story, records, job))
    for death in story.deaths:
        claims += death_claims(story, records, death, now)
    claims.append(failure_claim(story, records))
    claims.append(wait_claim(records))
    return claims


def map_claims(story, records, logs):
    """Every client got its map from the host that its redirect named, as the hosts' own logs tell."""
    arrived = {
        host: {int(number) for uri in uris for number in re.findall(rb"[?&]demo=(\d+)$", uri)}
        for host, uris in logs.items()
    }
    lost = [
        record
        for record in records
        if not record.failed
        and record.number not in arrived.get(record.host, ())
        # A server that was killed may have sent the last byte of a map and not yet written its log.
        and not any(d.host == record.host and d.killing - 0.1 <= record.done_at <= d.dead + 0.1 for d in story.deaths)
    ]
    elsewhere = sum(
        record.number in numbers for record in records for host, numbers in arrived.items() if host != record.host
    )
    yield Claim(
        "every map came from the host that the redirect named, by the hosts' own logs",
        f"{sum(map(len, arrived.values()))} requests in the logs, {len(lost)} missing, {elsewhere} elsewhere",
        bool(records) and not lost and elsewhere == 0,
    )
    for phase in story.phases:
        if phase.name == "steady":
            parts = {name: share(records, host, phase.start, phase.end)[0] for host, name in story.names.items()}
            fair = 1 / len(parts)
            yield Claim(
                f"with all hosts alike, each gets at least {FAIR_ENOUGH:g} of its fair share",
                ", ".join(f"{name} {part / fair:.2f}" for name, part in parts.items()),
                min(parts.values()) >= FAIR_ENOUGH * fair,
            )


def batch_claim(story, records, job):
    part, _ = share(records, job.host, job.start, job.end)
    ratio = part * len(story.names)
    return Claim(
        f"{story.names[job.host]} gets under {LESS_THAN_FAIR:g} of its fair share while its batch job runs",
        f"{ratio:.2f}",
        ratio < LESS_THAN_FAIR,
    )


def death_claims(story, records, death, now):
    name = story.names[death.host]
    to_it = sorted(record.redirected_at for record in records if record.host == death.host)
    until = death.starting or float("inf")
    late = [at - death.dead for at in to_it if death.dead < at < until]
    yield Claim(
        f"{name}, killed, gets no request later than {DEAD_AFTER:g} s after its death",
        f"the last one {late[-1]:.2f} s after" if late else "none after it",
        not late or late[-1] <= DEAD_AFTER,
    )
    if not death.back or not story.has_shares:
        return
    again = [at - death.back for at in to_it if at >= death.starting]
    yield Claim(
        f"{name} gets its first request within {FIRST_WITHIN:g} s of its return",
        f"after {max(0.0, again[0]):.2f} s" if again else "none",
        bool(again) and again[0] <= FIRST_WITHIN,
    )
    end = death.back + FAIR_WITHIN
    if now < end:
        return
    part, count = share(records, death.host, end - FAIR_WINDOW, end)
    ratio = part * len(story.names)
    yield Claim(
        f"{name} has at least {FAIR_ENOUGH:g} of its fair share within {FAIR_WITHIN:g} s of its return",
        f"{ratio:.2f} in the {FAIR_WINDOW:g} s before that, {count} requests in all",
        ratio >= FAIR_ENOUGH,
    )


def failure_claim(story, records):
    failed = [record for record in records if record.failed]
    excused = [
        record for record in failed if any(d.killing <= record.done_at <= d.dead + DEAD_AFTER for d in story.deaths)
    ]
    others = [record for record in failed if record not in excused]
    return Claim(
        f"no request fails, but in the {DEAD_AFTER:g} s after a host's death",
        f"{len(excused)} then, {len(others)} at other times" + (f": {others[0].error}" if others else ""),
        not others,
    )


def wait_claim(records):
    longest = max((record.redirect_seconds for record in records), default=0.0)
    return Claim(
        f"no client waits over {REDIRECT_WITHIN:g} s for its redirect",
        f"the longest wait was {longest * 1000:.0f} ms",
        bool(records) and longest <= REDIRECT_WITHIN,
    )
