# SPDX-License-Identifier: MIT
"""Comes last: prints the table of what the other modules saw, and holds README to it."""

import unittest

import table
from case import LINES


# What no balancer can mend: the page decides where its form leads, a client whether it follows, and browsers keep from
# scripts what came with credentials from a server that allows every origin.
BY_NATURE = {
    "browse form that does not": "leaves",
    "fetch, GET with credentials": "fails",
    "`curl` without `-L`, GET": "fails",
}


class Table(unittest.TestCase):
    maxDiff = None

    def test_readme_tells_what_was_seen(self):
        seen = table.rows(LINES)
        print("\n" + "\n".join([table.HEADING, *seen]), flush=True)
        told = [row for row in table.in_readme() if not row.startswith("| QGIS ")]
        self.assertEqual(sorted(told), sorted(seen))

    def test_every_client_works_in_mode_auto_with_hosts_that_set_nothing(self):
        self.assertGreater(len(LINES), 20)
        outcomes = {client: outcomes["auto"] for client, outcomes in LINES}
        for client, outcome in BY_NATURE.items():
            self.assertEqual(outcomes.pop(client), outcome)
        self.assertEqual(set(outcomes.values()), {"works"})
