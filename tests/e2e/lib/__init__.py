# SPDX-License-Identifier: MIT
"""Real servers on this machine for the end-to-end tests and the demo. Python's standard library only."""
