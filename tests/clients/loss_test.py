# SPDX-License-Identifier: MIT
"""A host dies in the middle of a client's session."""

import time
import unittest

import requests
from case import ClientCase
from columns import COLUMNS, MAP, SCRIPT
from console_test import FEATURES, GETS, XML
from lib import browser, fleet, processes
from lib.balancer import Balancer
from lib.case import wait_until_usable
from services_test import owslib_wfs, owslib_wms
from window import call, open_page

AFTER_DEATH = 3.0  # seconds of asking
NOTICED = 0.5  # seconds in which the balancer must know: a probe's interval, and some for a busy machine


class Loss(ClientCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        scene = COLUMNS.scene.part("loss")
        cls.fleet = fleet.Fleet(scene, 2, workers=1, first_address=112, with_cors=False).start()
        cls.balancer = Balancer(scene, cls.fleet).start()
        cls.url = f"{cls.balancer.url}{SCRIPT}?{MAP}"

    def setUp(self):
        self.victim = self.fleet.hosts[0]
        wait_until_usable(self.balancer, 2)
        self.addCleanup(self.raise_the_dead)

    def raise_the_dead(self):
        if not self.victim.web.process.alive():
            self.victim.start()
            wait_until_usable(self.balancer, 2)

    def failures(self, ask):
        """Kills the host, then asks on; the seconds since its death at which an answer was missing or wrong."""
        ask()
        ask()
        self.victim.kill()
        death, failed, count = time.monotonic(), [], 0
        while time.monotonic() < death + AFTER_DEATH:
            began = time.monotonic() - death
            count += 1
            try:
                ask()
            except (processes.Failed, requests.RequestException) as problem:
                failed.append((round(began, 2), str(problem)[:80]))
        self.assertGreater(count, 5)
        return failed

    def assert_soon_over(self, failures):
        self.assertLess(max((at for at, _ in failures), default=0), NOTICED, failures)

    def test_posts_that_are_relayed_go_on(self):
        with requests.Session() as session:
            session.trust_env = False

            def post():
                answer = session.post(self.url, FEATURES, headers={"Content-Type": XML}, timeout=20)
                answer.raise_for_status()
                self.assertEqual(len(answer.json()["features"]), 20)

            self.assertEqual(self.failures(post), [])

    def test_gets_that_are_redirected_recover(self):
        def get():
            # No session: that one would keep a connection to the host.
            answer = requests.get(f"{self.url}&{GETS[0]}", timeout=20)
            answer.raise_for_status()
            self.assertEqual(answer.content[1:4], b"PNG")

        self.assert_soon_over(self.failures(get))

    def test_owslib_recovers(self):
        self.assert_soon_over(self.failures(lambda: owslib_wms("1.1.1", "Get")(self.url)))

    def test_owslib_goes_on_by_post(self):
        self.assertEqual(self.failures(lambda: owslib_wfs("1.1.0", "Post")(self.url)), [])

    @unittest.skipIf(browser.missing(), f"not installed: {browser.missing()}")
    def test_openlayers_with_cross_origin_tiles_misses_none(self):
        open_page()
        self.assertEqual(call("startPanning", self.url, "anonymous"), 0)
        self.victim.kill()
        self.assertEqual([call("pan", x, y) for x, y in ((10, 45), (100, 30), (-80, 30))], [0, 0, 0])

    @unittest.skipIf(browser.missing(), f"not installed: {browser.missing()}")
    def test_openlayers_with_plain_tiles_recovers(self):
        open_page()
        self.assertEqual(call("startPanning", self.url, None), 0)
        self.victim.kill()
        call("pan", 10, 45)  # some of these may have been sent to the dead
        time.sleep(NOTICED)
        self.assertEqual(call("panAgain"), 0)
        self.assertEqual(call("pan", 100, 30), 0)
