#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs test suites and counts: run.py unit|stress|fuzz|e2e|clients|qgis ...   (BUILD names the build folder; default build)

  unit    the GoogleTest program
  stress  each program of tests/stress, one test each
  fuzz    each program of tests/fuzz on its corpus and what it makes of it, FUZZ_SECONDS (30) long, one test each
  e2e     each tests/*/*_test.py but those of clients in a process of its own, with real servers
  clients tests/clients/clients_test.py: real clients against the balancer; qgis: QGIS alone

The last line is 'N passed, N failed' and ', N skipped' where some were; exit status 0 only if some passed and none
failed. E2E=NAME,... runs only tests/e2e/NAME_test.py.
"""

import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
FILE_SECONDS = 300.0  # for one file of tests
CLIENTS_SECONDS = 900.0


class Count:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, passed, failed, skipped=0):
        self.passed, self.failed, self.skipped = self.passed + passed, self.failed + failed, self.skipped + skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


def call(command, seconds, **how):
    """Exit status of a command, -1 after so many seconds: it is asked to end, then killed."""
    with subprocess.Popen(command, **how) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            print(f"no end after {seconds:g} s: {' '.join(command)}", flush=True)
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
            return -1
        except BaseException:  # ours must not outlive us
            process.send_signal(signal.SIGTERM)
            process.wait()
            raise


def outcome_of(command, seconds, result, **how):
    """Runs a command that writes counts to the file `result`; without them it is one failed test."""
    status = call(command, seconds, **how)
    try:
        with open(result, encoding="utf-8") as file:
            counts = json.load(file)
    except (OSError, ValueError):
        return 0, 1, 0
    passed, failed, skipped = counts
    # A crash after the last test, or a leak at exit, is a failure too.
    return passed, failed or int(status != 0), skipped


def unit(count, folder):
    result = os.path.join(folder, "gtest.json")
    program = os.path.join(BUILD, "tests", "unit_tests")
    status = call([program, "--gtest_brief=1", f"--gtest_output=json:{result}"], FILE_SECONDS)
    try:
        with open(result, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        count.add(0, 1)
        return
    skipped = sum(test.get("result") == "SKIPPED" for suite in found["testsuites"] for test in suite["testsuite"])
    failed = found["failures"] + found["errors"]
    count.add(found["tests"] - failed - skipped - found["disabled"], failed or int(status != 0), skipped)


def stress(count, _folder):
    for source in sorted(glob.glob(os.path.join(ROOT, "tests", "stress", "*.cc"))):
        name = os.path.splitext(os.path.basename(source))[0]
        status = call([os.path.join(BUILD, "tests", "stress", name)], FILE_SECONDS)
        print(f"stress {name}: {'passed' if status == 0 else f'FAILED with {status}'}", flush=True)
        count.add(int(status == 0), int(status != 0))


def fuzz(count, folder):
    seconds = int(os.environ.get("FUZZ_SECONDS", "30"))
    for source in sorted(glob.glob(os.path.join(ROOT, "tests", "fuzz", "*_fuzz.cc"))):
        name = os.path.splitext(os.path.basename(source))[0]
        corpus = os.path.join(ROOT, "tests", "fuzz", "corpus", name.removesuffix("_fuzz"))
        grown = os.path.join(folder, name)  # new inputs go here, not into the source tree
        os.mkdir(grown)
        options = [f"-max_total_time={seconds}", "-timeout=10", "-print_final_stats=1", f"-artifact_prefix={BUILD}/"]
        status = call([os.path.join(BUILD, "tests", "fuzz", name), *options, grown, corpus], seconds + FILE_SECONDS)
        print(f"fuzz {name}: {'passed' if status == 0 else f'FAILED with {status}; the input is in {BUILD}'}", flush=True)
        count.add(int(status == 0), int(status != 0))


def e2e(count, folder):
    only = {name for name in os.environ.get("E2E", "").split(",") if name}
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "*", "*_test.py"))):
        name = os.path.basename(path)
        if os.path.basename(os.path.dirname(path)) == "clients":
            continue
        if only and name.removesuffix("_test.py") not in only:
            continue
        result = os.path.join(folder, f"{name}.json")
        began = time.monotonic()
        command = [sys.executable, "-B", os.path.abspath(__file__), "--file", path, result]
        counts = outcome_of(command, FILE_SECONDS, result)
        if counts[1]:
            # Real servers on a busy machine: what fails twice is a fault. Both runs are in the log.
            print(f"{name}: {counts[1]} failed, once more", flush=True)
            if os.path.exists(result):
                os.remove(result)
            counts = outcome_of(command, FILE_SECONDS, result)
        count.add(*counts)
        passed, failed, skipped = counts
        took = f"in {time.monotonic() - began:.0f} s"
        print(f"{name}: {passed} passed, {failed} failed, {skipped} skipped {took}", flush=True)


def clients(count, folder, name="clients"):
    result = os.path.join(folder, f"{name}.json")
    path = os.path.join(ROOT, "tests", "clients", f"{name}_test.py")
    command = [sys.executable, "-B", os.path.abspath(__file__), "--file", path, result]
    count.add(*outcome_of(command, CLIENTS_SECONDS, result))


def qgis(count, folder):
    clients(count, folder, "qgis")


def run_file(path, result):
    """In a process of its own: the tests of one file; writes [passed, failed, skipped]."""
    sys.path[:0] = [os.path.dirname(path), os.path.join(ROOT, "tests", "e2e")]

    def leave(number, _frame):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    tests = unittest.defaultTestLoader.loadTestsFromName(os.path.basename(path).removesuffix(".py"))
    outcome = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(tests)
    # Several subtests of one test are one failure; an error in a class's set-up is one although no test of it ran.
    failed = {getattr(test, "test_case", test).id() for test, _ in outcome.failures + outcome.errors}
    failed |= {test.id() for test in outcome.unexpectedSuccesses}
    not_passed = failed | {test.id() for test, _ in outcome.skipped}
    skipped = len(outcome.skipped)
    passed = outcome.testsRun - sum(not test.startswith(("setUp", "tearDown")) for test in not_passed)
    with open(result, "w", encoding="utf-8") as file:
        json.dump([passed, len(failed), skipped], file)
    return 0


SUITES = {"unit": unit, "stress": stress, "fuzz": fuzz, "e2e": e2e, "clients": clients, "qgis": qgis}


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--file":
        return run_file(*arguments[1:])
    if not arguments or any(name not in SUITES for name in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    count = Count()
    with tempfile.TemporaryDirectory(prefix="mapbalance-run-") as folder:
        for name in arguments:
            print(f"--- {name}", flush=True)
            SUITES[name](count, folder)
    print(count, flush=True)
    return 0 if count.passed and not count.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
