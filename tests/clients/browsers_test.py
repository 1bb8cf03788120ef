# SPDX-License-Identifier: MIT
"""Pages in Chromium: pictures, OpenLayers, Leaflet, fetch and XML POSTs from another origin; a form that is clicked."""

import unittest

from case import LEAVES, WORKS, ClientCase, everywhere, fails
from columns import COLUMNS, MAP, SCRIPT, Watch
from lib import browser, fleet, webservers
from lib.balancer import Balancer
from lib.case import wait_until_usable
from window import NAMES, call, on_page, open_page, origin_of, pages, pixels_seen, read_back, seen, window

FETCH_REFUSED = "TypeError: Failed to fetch"


def needs_cors(words):
    """A redirect leads a script to a host, which has to allow the page's origin."""
    return everywhere(redirect=fails(words))


def clicked_form(url, prepare="", clicks=2):
    """The map's page, zoomed by clicks into its picture: after each the extent and the picture."""
    window().open(f"{origin_of(url)}{SCRIPT}?{MAP}&mode=browse&layers=countries")
    steps = []
    for _ in range(clicks):
        window().run(prepare)
        window().click_to_next_page("input[name=img]", 40, -60)
        broken = [src for src, width in window().picture_widths() if width == 0]
        extent = window().run("return document.querySelector('[name=imgext]').value")
        steps.append((extent, len(broken), pixels_seen("input[name=img]")))
    return steps


def clicked_relative_form(url):
    """As on pages that were never told of a balancer."""
    return clicked_form(url, "document.forms[0].action = '/cgi-bin/mapserv'")


@unittest.skipIf(browser.missing(), f"not installed: {browser.missing()}")
class Pages(ClientCase):
    def test_pictures(self):
        self.line("`<img>`", seen("plainImages"), everywhere())
        self.line("`<img crossorigin>`, canvas read", read_back("crossOriginImages"), needs_cors("picture refused"))

    def test_openlayers(self):
        self.line("OpenLayers WMS", seen("openlayersTiles"), everywhere())
        self.line("OpenLayers WMS, crossOrigin, canvas read", read_back("openlayersCanvas"), needs_cors("refused"))
        self.line("OpenLayers vector (WFS)", on_page("openlayersFeatures"), needs_cors("features refused"))

    def test_leaflet(self):
        self.line("Leaflet WMS", seen("leafletTiles"), everywhere())

    def test_fetch(self):
        self.line("fetch, GET", on_page("fetchedFeatures"), needs_cors(FETCH_REFUSED))
        self.line("fetch, GET with a header of its own", on_page("fetchedWithHeader"), needs_cors(FETCH_REFUSED))
        self.line(
            "fetch, GET with credentials",
            on_page("fetchedWithCredentials"),
            everywhere(fails(FETCH_REFUSED)),
            reference=on_page("fetchedFeatures"),
        )
        self.line(
            "fetch, GET, page on the balancer's server",
            on_page("fetchedFeatures", origin_of),
            needs_cors(FETCH_REFUSED),
            reference=on_page("fetchedFeatures"),
        )

    def test_xml_posts(self):
        self.line("fetch, XML POST (preflighted)", on_page("postedFeatures"), needs_cors(FETCH_REFUSED))
        self.line("OpenLayers WFS-T POST", on_page("postedTransactions"), needs_cors(FETCH_REFUSED))

    def test_forms(self):
        self.line("browse form that names the balancer", clicked_form, everywhere())
        self.line("browse form that does not", clicked_relative_form, everywhere(LEAVES, relay=WORKS))

    def test_a_form_returns_where_pages_are_relayed(self):
        column = COLUMNS.column("auto")
        balancer = Balancer(
            column.scene, column.fleet, name="pages", lines="answer.page = relay\nartifact-prefixes = /tmp/\n"
        )
        balancer.web.routes["/tmp"] = webservers.FastCgi(balancer.socket)
        balancer.start()
        self.addCleanup(lambda: [process.stop() for process in balancer.processes()])
        wait_until_usable(balancer, 2)
        client = "browse form that does not, `answer.page = relay`"
        self.line(client, clicked_relative_form, {"auto": WORKS}, balancer=balancer)

    def test_scripts_on_plain_http_are_told_from_pictures_by_their_origin(self):
        # To a name that is not this machine's browsers send no Sec-Fetch-Mode without https.
        def by_name(url):
            return url.replace("//127.0.0.1:", f"//maps.{NAMES}:")

        port = pages().port
        for name in ("openlayersCanvas", "fetchedFeatures", "postedFeatures"):
            right = on_page(name)(COLUMNS.reference.url)
            open_page(f"http://gis.{NAMES}:{port}")
            self.assertEqual(call(name, by_name(COLUMNS.column("auto").url)), right, name)

    def test_scripts_of_the_balancers_own_pages_on_plain_http_are_told_from_pictures(self):
        # Neither Sec-Fetch-Mode nor, with GET, Origin.
        url = COLUMNS.column("auto").url.replace("//127.0.0.1:", f"//maps.{NAMES}:")
        for name in ("fetchedFeatures", "openlayersFeatures", "postedFeatures"):
            self.assertEqual(on_page(name, origin_of)(url), on_page(name)(COLUMNS.reference.url), name)
        watch = Watch(COLUMNS.column("auto").balancer)
        on_page("plainImages", origin_of)(url)
        self.assertEqual({entry.status for entry in watch.at_balancer()}, {302})

    def test_hosts_behind_lighttpd_are_read_after_a_redirect(self):
        scene = COLUMNS.scene.part("lighttpd")
        hosts = fleet.Fleet(scene, 2, workers=1, first_address=96, web="lighttpd").start()
        balancer = Balancer(scene, hosts, lines="mode = redirect\n").start()
        wait_until_usable(balancer, 2)
        url = f"{balancer.url}{SCRIPT}?{MAP}"
        for name in ("crossOriginImages", "fetchedFeatures", "postedFeatures", "postedTransactions"):
            self.assertEqual(on_page(name)(url), on_page(name)(COLUMNS.reference.url), name)
        statuses = {entry.status for entry in balancer.web.entries()[0] if entry.method != "OPTIONS"}
        self.assertEqual(statuses, {302, 307})
