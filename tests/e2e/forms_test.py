# SPDX-License-Identifier: MIT
"""Old pages come back to the balancer: what `balancectl forms` changes and what it does not, and a browser that clicks
through a pool of real hosts."""

import collections
import os
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse

from lib import browser, fleet, processes, world
from lib.balancer import PAGE, Balancer
from lib.case import SceneCase, require_programs, wait_until_usable

TO = b"http://b.example.org/cgi-bin/mapserv"

# Of each fixture: what stands there and what is to stand there; nothing else may differ.
FIXTURES = {
    "browse.html": [
        (b"ACTION=/cgi-bin/mapserv NAME", b"ACTION=%s NAME"),
        (b"<img src='/cgi-bin/mapserv?map=[map]&amp;mode=legend", b"<img src='%s?map=[map]&amp;mode=legend"),
        (b'<a href="/cgi-bin/mapserv?mode=nquery&qitem', b'<a href="%s?mode=nquery&qitem'),
        (b'"http://gis.example.org/cgi-bin/mapserv.exe?mode=browse#top"', b'"%s?mode=browse#top"'),
    ],
    "query.html": [
        (b'<a href="/cgi-bin/mapserv?map=[map]&id=[id]', b'<a href="%s?map=[map]&id=[id]'),
        (b"""<a href='../cgi-bin/mapserv?q="[name]"'>""", b"""<a href='%s?q="[name]"'>"""),
        (b'href="mapserv?mode=query&amp;shapeindex', b'href="%s?mode=query&amp;shapeindex'),
    ],
    "frames.html": [(b"SRC='/cgi-bin/mapserv.fcgi?map=", b"SRC='%s?map=")],
    "page.php": [
        (b'> action="/cgi-bin/mapserv" method', b'> action="%s" method'),
        (b'<img src="/cgi-bin/mapserv?map=', b'<img src="%s?map='),
        (b"src=/cgi-bin/mapserv?mode=scalebar>", b"src=%s?mode=scalebar>"),
        (b'<iframe src="/cgi-bin/mapserv?x=', b'<iframe src="%s?x='),
    ],
    "page.asp": [
        (b'<form action="/cgi-bin/mapserv.exe" <%', b'<form action="%s" <%'),
        (b"FormAction='/scripts/MapServ.EXE?mode=x'", b"FormAction='%s?mode=x'"),
    ],
    "world.map": [],
}

LONG = b"<p>a line of a long page, with mapserv in it\r\n" * 110_000  # 5 MB

# Name, page, and the page after; `None`: left as it is.
NASTY = (
    ("crlf", b"<form\r\n action=/cgi-bin/mapserv\r\n>\r\n", b"<form\r\n action=%s\r\n>\r\n"),
    ("mac-line-ends", b"<form\raction='/cgi-bin/mapserv'>\r", b"<form\raction='%s'>\r"),
    (
        "cp1252",
        b"<p>Gr\xfc\xdfe \x80 \x93<a href=/cgi-bin/mapserv?q=\xe4>x</a>",
        b"<p>Gr\xfc\xdfe \x80 \x93<a href=%s?q=\xe4>x</a>",
    ),
    ("utf-8-with-bom", b"\xef\xbb\xbf<a href='/cgi-bin/mapserv?q=\xc3\xa4'>", b"\xef\xbb\xbf<a href='%s?q=\xc3\xa4'>"),
    ("utf-16", "<form action='/cgi-bin/mapserv'>".encode("utf-16"), None),
    ("utf-16-without-bom", "<form action='/cgi-bin/mapserv'>".encode("utf-16-le"), None),
    ("nul", b"<form action=/cgi-bin/mapserv>\0", None),
    ("no-end-tag", b"<table><tr><td><form action=/cgi-bin/mapserv><b><i>x", b"<table><tr><td><form action=%s><b><i>x"),
    (
        "no-end-of-file",
        b"<form action=/cgi-bin/mapserv><a href='/cgi-bin/mapserv",
        b"<form action=%s><a href='/cgi-bin/mapserv",
    ),
    ("upper-case", b"<FORM ACTION=/CGI-BIN/MAPSERV.EXE>", b"<FORM ACTION=%s>"),
    (
        "action-twice",
        b"<form action=/cgi-bin/mapserv ACTION=/cgi-bin/mapserv>",
        b"<form action=%s ACTION=/cgi-bin/mapserv>",
    ),
    ("comment", b"<!-- <form action=/cgi-bin/mapserv> --><p>", None),
    (
        "comment-before",
        b"<!-- <form action=/cgi-bin/mapserv> --><form action=/cgi-bin/mapserv>",
        b"<!-- <form action=/cgi-bin/mapserv> --><form action=%s>",
    ),
    ("script", b"<script>document.write('<form action=/cgi-bin/mapserv>')</script>", None),
    (
        "in-a-value",
        b"""<form title="action='/cgi-bin/mapserv'" action='/cgi-bin/mapserv'>""",
        b"""<form title="action='/cgi-bin/mapserv'" action='%s'>""",
    ),
    (
        "more-than-in-a-value",
        b"<input value='>' title=a><img alt='/>' src=/cgi-bin/mapserv>",
        b"<input value='>' title=a><img alt='/>' src=%s>",
    ),
    ("spaces", b"<form action \n=\n  '/cgi-bin/mapserv'  >", b"<form action \n=\n  '%s'  >"),
    ("no-value", b"<form action><img src=>", None),
    (
        "title-and-textarea",
        b"<title><a href=/cgi-bin/mapserv></title><textarea><a href=/cgi-bin/mapserv></textarea>",
        None,
    ),
    (
        "tags-of-mapserver",
        b"[if name=a]<form action='/cgi-bin/mapserv?[x]'>[/if]",
        b"[if name=a]<form action='%s?[x]'>[/if]",
    ),
    ("not-mapserv", b"<form action=/cgi-bin/mapserver><a href=/mapserv/x.html>", None),
    ("5-mb", LONG + b"<a href=/cgi-bin/mapserv>" + LONG, LONG + b"<a href=%s>" + LONG),
    ("empty", b"", None),
)


def forms(*arguments):
    command = [fleet.program("balancectl"), "forms", *arguments]
    return subprocess.run(command, capture_output=True, timeout=60, check=False)


def tree(folder):
    """The files below a folder and their bytes."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = file.read()
    return found


def changed_lines(diff):
    """Of a unified diff: the lines taken away and those put there."""
    lines = [line for line in diff.split(b"\n") if not line.startswith((b"--- ", b"+++ ", b"@@ ", b"\\"))]
    return [[line[1:] for line in lines if line.startswith(sign)] for sign in (b"-", b"+")]


class Rewrite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_programs("balancectl")

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="mapbalance-forms-")
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, pages):
        for name, content in pages.items():
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(content)

    def becomes(self, before, after):
        """A dry run changes nothing and shows exactly what differs; the run does it, the next one nothing more."""
        self.write(before)
        shown = forms("--to", TO.decode(), "--dry-run", "-r", self.folder)
        self.assertEqual(tree(self.folder), before)
        done = forms("--to", TO.decode(), "-r", self.folder)
        self.assertEqual(done.stderr, shown.stderr)
        found = tree(self.folder)
        for name in before:
            self.assertEqual(found.pop(name), after[name], name)
        touched = {name for name in before if before[name] != after[name]}
        self.assertEqual(found, {f"{name}.orig": before[name] for name in touched})
        for sign, pages in enumerate((before, after)):
            other = (after, before)[sign]
            wanted = collections.Counter()
            for name in touched:
                pairs = zip(pages[name].split(b"\n"), other[name].split(b"\n"), strict=True)
                wanted.update(line for line, changed in pairs if line != changed)
            self.assertEqual(collections.Counter(changed_lines(shown.stdout)[sign]), wanted)
        whole = tree(self.folder)
        again = forms("--to", TO.decode(), "-r", self.folder)
        self.assertEqual((again.stdout, again.stderr), (b"", done.stderr))
        self.assertEqual(tree(self.folder), whole)
        return done

    def test_of_the_fixtures_exactly_the_attributes_change(self):
        before, after = {}, {}
        for name, changes in FIXTURES.items():
            with open(os.path.join(world.DATA, "forms", name), "rb") as file:
                before[name] = after[name] = file.read()
            for old, new in changes:
                self.assertEqual(before[name].count(old), 1, old)
                after[name] = after[name].replace(old, new.replace(b"%s", TO))
        done = self.becomes(before, after)
        self.assertEqual(done.returncode, 1)
        for unsure in (b"browse.html:8: left alone: ", b"query.html:9: left alone: <form action> '[program]'"):
            self.assertIn(unsure, done.stderr)
        self.assertIn(b"browse.html:14: note: <form method=post>", done.stderr)
        self.assertIn(b"world.map:8: note: wms_onlineresource", done.stderr)

    def test_of_nasty_pages_exactly_the_attributes_change(self):
        before = {f"{name}.html": page for name, page, _ in NASTY}
        after = {f"{name}.html": page if new is None else new.replace(b"%s", TO) for name, page, new in NASTY}
        done = self.becomes(before, after)
        for name in ("utf-16", "utf-16-without-bom", "nul"):
            self.assertRegex(done.stderr, rb"/%s.html(:\d+)?: left alone" % name.encode())

    def test_a_page_of_todays_templates_needs_one_word(self):
        with open(os.path.join(world.TEMPLATES, "browse.html"), "rb") as file:
            old = file.read().replace(b"[web_balancer]", b"")
        form = b'action="/cgi-bin/mapserv"'
        self.assertEqual(old.count(form), 1)
        done = self.becomes({"browse.html": old}, {"browse.html": old.replace(form, b'action="%s"' % TO)})
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_other_scripts_and_hosts_are_taken_where_asked(self):
        page = b"<a href=/cgi-bin/mapserv56?x><a href=http://a.example/mapserv><a href=http://c.example/mapserv>"
        self.write({"a.html": page})
        path = os.path.join(self.folder, "a.html")
        forms("--to", TO.decode(), "--match", "/cgi-bin/mapserv[0-9]*", "--host", "a.example", path)
        wanted = b"<a href=%s?x><a href=%s><a href=http://c.example/mapserv>" % (TO, TO)
        self.assertEqual(tree(self.folder)["a.html"], wanted)

    def test_bad_usage_is_2_and_closed_output_1(self):
        self.assertEqual(forms("x.html").returncode, 2)
        self.write({"a.html": b"<a href=/cgi-bin/mapserv>"})
        with open("/dev/full", "wb") as full:
            command = [fleet.program("balancectl"), "forms", "--to", TO.decode(), "-n", "-r", self.folder]
            self.assertEqual(subprocess.run(command, stdout=full, timeout=10, check=False).returncode, 1)


def with_old_pages(host):
    """Gives a host templates of its own, as they were before there was a balancer; returns their folder."""
    folder = host.fleet.scene.path(host.name, "data", "templates")
    os.unlink(folder)
    shutil.copytree(world.TEMPLATES, folder)
    os.unlink(os.path.join(folder, "error.html"))
    for name in ("browse.html", "query_footer.html"):
        path = os.path.join(folder, name)
        world.fill(path, path, "[web_balancer]", "")
    return folder


# So many pixels from the middle of the map, which has 800 by 400: land and sea, north and south.
CLICKS = ((-200, -60), (60, -80), (90, 30), (0, 0), (20, -20), (-60, 40), (80, 0), (0, -60), (-30, 10), (10, 10))


WITH_A_BROWSER = unittest.skipIf(browser.missing(), f"not installed: {browser.missing()}")


class Clicks(SceneCase):
    """Of a browser, `window`, through hosts."""

    def pictures_are_there(self):
        pictures = self.window.picture_widths()
        self.assertGreaterEqual(len(pictures), 3)  # the map, the scale bar, the overview, the legend's
        for source, width in pictures:
            self.assertGreater(width, 0, source)
        self.assertIn(800, [width for _, width in pictures])

    def click_through(self, hosts, front_doors, hosts_script):
        """All CLICKS from the page that is open; each has to pass one of the web servers `front_doors`. Returns how
        many pages each host made."""
        names = {host.web.authority: host.name for host in hosts}
        starts = {server: server.entries()[1] for server in {*front_doors, *(host.web for host in hosts)}}
        shown = collections.Counter()
        for number, (x, y) in enumerate(CLICKS, 1):
            with self.subTest(click=number):
                self.window.click_to_next_page("input[name=img]", x, y)
                url = urllib.parse.urlsplit(self.window.url)
                self.assertEqual((url.path, urllib.parse.parse_qs(url.query)["mode"]), (hosts_script, ["browse"]))
                shown[names[url.netloc]] += 1
                self.pictures_are_there()

        def of(server, script):
            entries, _ = server.entries(starts[server])
            return [entry for entry in entries if entry.uri.startswith(script.encode() + b"?")]

        passed = [entry for server in front_doors for entry in of(server, "/cgi-bin/mapserv")]
        self.assertEqual([entry.status for entry in passed], [302] * len(CLICKS))
        served = collections.Counter({host.name: len(of(host.web, hosts_script)) for host in hosts})
        self.assertEqual(served, shown)
        self.assertEqual(sum(served.values()), len(CLICKS))
        return served


@WITH_A_BROWSER
class OneMaster(Clicks):
    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 3, workers=1, first_address=41).start()
        cls.balancer = Balancer(cls.scene, cls.fleet).start()
        cls.folders = [with_old_pages(host) for host in cls.fleet.hosts]
        cls.window = browser.Browser(cls.scene)
        wait_until_usable(cls.balancer, 3)

    def test_an_old_page_comes_back_to_the_balancer_once_it_is_rewritten(self):
        first_page, door = self.balancer.url + PAGE, self.balancer.web
        self.window.open(first_page)
        _, start = door.entries()
        self.window.click_to_next_page("input[name=img]")
        self.assertEqual(door.entries(start)[0], [])  # that is what was wrong with it

        done = forms("--to", f"{self.balancer.url}/cgi-bin/mapserv", "-r", *self.folders)
        self.assertEqual((done.returncode, done.stdout.count(b": 1 URL rewritten")), (0, 6), done.stderr)
        self.window.open(first_page)
        served = self.click_through(self.fleet.hosts, [door], "/cgi-bin/mapserv")
        self.assertGreaterEqual(min(served.values()), 1, served)
        dispatches = [host["dispatches"] for host in self.balancer.status()["hosts"]]
        self.assertEqual(sum(dispatches), 2 + len(CLICKS))

        self.window.open(f"{self.balancer.url}/cgi-bin/mapserv?map=WORLD&mode=nquery&layers=all&mapxy=10+50")
        self.assertIn("Germany", self.window.run("return document.body.innerText"))
        _, start = door.entries()
        self.window.click_to_next_page("a")
        self.assertEqual([entry.status for entry in door.entries(start)[0]], [302])
        self.pictures_are_there()


@WITH_A_BROWSER
class EveryHost(Clicks):
    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 3, workers=1, first_address=45, script="/cgi-bin/mapserv.real")
        for host in cls.fleet.hosts:
            balancer = Balancer(cls.scene, cls.fleet, name=host.name, web=None)
            host.start(before_web=balancer.start)
        cls.window = browser.Browser(cls.scene)
        wait_until_usable(balancer, 3)

    def test_todays_pages_stay_with_a_balancer_on_every_host(self):
        self.window.open(self.fleet.hosts[0].url + PAGE)
        doors = [host.web for host in self.fleet.hosts]
        served = self.click_through(self.fleet.hosts, doors, "/cgi-bin/mapserv.real")
        # Three balancers that know nothing of each other's turns, and the next click goes to the last page's.
        self.assertGreaterEqual(sum(count > 0 for count in served.values()), 2, served)


@WITH_A_BROWSER
class Templates(SceneCase):
    @classmethod
    def build(cls):
        cls.window = browser.Browser(cls.scene)
        port = processes.free_port()
        cls.fleet = fleet.Fleet(
            cls.scene, 1, workers=1, first_address=49, forms_lead_to=f"http://127.0.0.1:{port}"
        ).start()
        cls.balancer = Balancer(cls.scene, cls.fleet, port=port).start()
        wait_until_usable(cls.balancer, 1)

    def text_of(self, query):
        self.window.open(f"{self.balancer.url}/cgi-bin/mapserv?map=WORLD&{query}")
        return self.window.run("return document.body.innerText")

    def links(self):
        return self.window.run("return [...document.links].map(link => link.href)")

    def test_a_query_is_answered_and_leads_back(self):
        self.assertIn("80594017 people", self.text_of("mode=nquery&mapxy=10+50&layers=countries"))
        self.assertTrue(self.links()[0].startswith(f"{self.balancer.url}/cgi-bin/mapserv?"))
        self.window.click_to_next_page("a")
        self.assertEqual(self.window.run("return document.querySelectorAll('[name=layer]:checked').length"), 1)

    def test_nothing_found_is_said(self):
        text = self.text_of("mode=nquery&mapxy=-150+0&layers=countries")
        self.assertIn("Nothing was found there", text)
        self.assertNotIn("found in", text)
        self.assertIn("found in 1 layer", self.text_of("mode=nquery&mapxy=10+50&layers=countries"))

    def test_an_error_is_a_page_that_leads_back(self):
        text = self.text_of("mode=bogus")
        self.assertIn("The map could not be drawn", text)
        self.assertIn("Invalid mode.", text)
        self.assertTrue(self.links()[0].startswith(f"{self.balancer.url}/cgi-bin/mapserv?"))

    def test_the_legend_shows_the_layers_that_are_on(self):
        self.text_of("mode=browse&layers=cities+lakes")
        keys = self.window.run("return [...document.querySelectorAll('.key')].map(key => key.innerText.trim())")
        self.assertEqual(keys, ["Capital", "World city", "Town", "Lake"])
