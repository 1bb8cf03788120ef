# SPDX-License-Identifier: MIT
"""The demo's judgement itself: each claim fails when what it says was not so."""

import unittest

from claims import BatchJob, Death, Phase, Story, judge
from clients import Record

A, B, C = "127.0.0.11:80", "127.0.0.12:80", "127.0.0.13:80"
NAMES = {A: "pinchot", B: "leopold", C: "darwin"}


def records_at(spots, **changes):
    """Successful records, redirected at the given (instant, host) spots, drawn 0.1 s later."""
    return [
        Record(number, at - 0.01, at, 0.01, host, at + 0.1, **changes) for number, (at, host) in enumerate(spots, 1)
    ]


def logs_of(records):
    logs = {host: [] for host in NAMES}
    for record in records:
        logs[record.host].append(b"/cgi-bin/mapserv?map=WORLD&demo=%d" % record.number)
    return logs


def failing(story, records, now=1000.0, logs=None):
    """The claims that do not hold."""
    claims = judge(story, records, logs if logs is not None else logs_of(records), now)
    return [claim.text for claim in claims if not claim.holds]


def in_turn(start, end, hosts, step=0.1):
    count = round((end - start) / step)
    return [(start + i * step, hosts[i % len(hosts)]) for i in range(count)]


class Claims(unittest.TestCase):
    def test_all_hold_when_all_is_well(self):
        story = Story(
            NAMES,
            phases=[Phase("steady", 0, 10)],
            jobs=[BatchJob(A, 10, 20)],
            deaths=[Death(B, killing=30, dead=30.1, starting=38, back=38.5)],
        )
        spots = in_turn(0, 10, [A, B, C]) + in_turn(10, 20, [B, C]) + in_turn(20, 30, [A, B, C])
        spots += in_turn(30, 39, [A, C]) + in_turn(39, 60, [A, B, C])
        self.assertEqual(failing(story, records_at(spots)), [])

    def test_nothing_drawn_is_no_success(self):
        self.assertEqual(len(failing(Story(NAMES), [])), 2)

    def test_round_robin_fails_the_batch_claim(self):
        story = Story(NAMES, jobs=[BatchJob(A, 0, 10)])
        texts = failing(story, records_at(in_turn(0, 10, [A, B, C])))
        self.assertEqual(texts, ["pinchot gets under 0.7 of its fair share while its batch job runs"])

    def test_loads_are_not_judged_without_cpu_shares(self):
        death = Death(B, killing=0, dead=0, starting=10, back=10)
        story = Story(NAMES, jobs=[BatchJob(A, 0, 10)], deaths=[death], has_shares=False)
        self.assertEqual(failing(story, records_at(in_turn(2, 30, [A, C]))), [])

    def test_a_request_to_the_dead_host_after_a_second_fails(self):
        story = Story(NAMES, deaths=[Death(B, killing=5, dead=5.1)])
        self.assertEqual(failing(story, records_at([(6.0, B)])), [])
        texts = failing(story, records_at([(6.2, B)]))
        self.assertEqual(texts, ["leopold, killed, gets no request later than 1 s after its death"])

    def test_a_late_first_request_after_the_return_fails(self):
        story = Story(NAMES, deaths=[Death(B, killing=5, dead=5.1, starting=10, back=10.5)])
        late = "leopold gets its first request within 3 s of its return"
        self.assertEqual(failing(story, records_at([(13.4, B)]), now=14), [])
        self.assertEqual(failing(story, records_at([(13.6, B)]), now=14), [late])
        self.assertEqual(failing(story, records_at([(13.6, A)]), now=14), [late])

    def test_a_small_share_after_the_return_fails(self):
        story = Story(NAMES, deaths=[Death(B, killing=5, dead=5.1, starting=10, back=10)])
        spots = [(11, B)] + in_turn(20, 25, [A, C, A, C, B])
        self.assertEqual(
            failing(story, records_at(spots)), ["leopold has at least 0.7 of its fair share within 15 s of its return"]
        )

    def test_a_failure_counts_unless_a_host_has_just_died(self):
        story = Story(NAMES, deaths=[Death(B, killing=5, dead=5.1)])
        self.assertEqual(failing(story, records_at([(5.5, B)], error="refused")), [])
        texts = failing(story, records_at([(7.5, A)], error="refused"))
        self.assertEqual(texts, ["no request fails, but in the 1 s after a host's death"])

    def test_a_slow_redirect_fails(self):
        record = Record(1, 0.0, 1.2, 1.2, A, 1.3)
        self.assertEqual(failing(Story(NAMES), [record]), ["no client waits over 1 s for its redirect"])

    def test_a_map_that_is_in_no_log_or_in_anothers_fails(self):
        records = records_at([(1, A), (2, B)])
        text = "every map came from the host that the redirect named, by the hosts' own logs"
        logs = logs_of(records)
        self.assertEqual(failing(Story(NAMES), records, logs={**logs, A: []}), [text])
        self.assertEqual(failing(Story(NAMES), records, logs={**logs, C: [b"/x?demo=1"]}), [text])

    def test_an_uneven_steady_phase_fails(self):
        story = Story(NAMES, phases=[Phase("steady", 0, 10)])
        self.assertEqual(len(failing(story, records_at(in_turn(0, 10, [A, A, A, A, B, C])))), 1)


if __name__ == "__main__":
    unittest.main()
