# SPDX-License-Identifier: MIT
"""QGIS's lines of the table: WMS and WFS layers, rendered. A suite of its own because of what it installs."""

import base64
import json
import os
import unittest

import table
from case import LEAVES, LINES, ClientCase, everywhere, run
from lib import processes
from pictures import pixels

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "qgis_session.py")


def qgis(kind, url):
    printed = run(["/usr/bin/python3", "-B", PROGRAM, kind, url], env={"QT_QPA_PLATFORM": "offscreen"})
    made = json.loads(printed.splitlines()[-1])
    return [base64.b64decode(picture) for picture in made["pictures"]], made["names"]


def wms(url):
    return [pixels(picture) for picture in qgis("wms", url)[0]]


def wfs(url):
    pictures, names = qgis("wfs", url)
    if len(names) < 200:
        raise processes.Failed(f"{len(names)} countries")
    return names, [pixels(picture) for picture in pictures]


class Qgis(ClientCase):
    def test_layers(self):
        self.line("QGIS WMS", wms, everywhere(redirect=LEAVES))
        self.line("QGIS WFS", wfs, everywhere(redirect=LEAVES))
        seen = table.rows(LINES)
        print("\n" + "\n".join([table.HEADING, *seen]), flush=True)
        self.assertEqual([row for row in table.in_readme() if row.startswith("| QGIS ")], seen)
