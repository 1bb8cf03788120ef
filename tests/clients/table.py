# SPDX-License-Identifier: MIT
"""The table of clients, as README has it."""

import os

from columns import KINDS
from lib import world


HEADING = f"| client | {' | '.join(kind.title for kind in KINDS.values())} |"


def rows(lines):
    return [f"| {client} | {' | '.join(outcomes.get(name, '') for name in KINDS)} |" for client, outcomes in lines]


def in_readme():
    """The rows there, without the heading."""
    with open(os.path.join(world.ROOT, "README.md"), encoding="utf-8") as file:
        table = file.read().partition(HEADING + "\n")[2].partition("\n\n")[0]
    return table.splitlines()[1:]
