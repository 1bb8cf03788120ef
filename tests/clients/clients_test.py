# SPDX-License-Identifier: MIT
"""All lines of the table of clients but QGIS's, in one process: they share the columns."""

import unittest

MODULES = ("console_test", "services_test", "caches_test", "browsers_test", "loss_test", "table_test")


def load_tests(loader, _tests, _pattern):
    return unittest.TestSuite(loader.loadTestsFromName(name) for name in MODULES)
