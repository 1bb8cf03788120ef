# SPDX-License-Identifier: MIT
"""Chromium with the page of page/, from an origin that is neither the balancer's nor a host's."""

import base64
import functools
import io
import urllib.parse

from columns import COLUMNS, npm_folder, page_folder
from lib import processes, webservers
from lib.browser import Browser
from PIL import Image
from pictures import check_map, pixels

PAGE = "/page/index.html"
NAMES = "example.test"  # of no machine: the browser takes every name below it for this one


@functools.lru_cache(maxsize=None)
def window():
    return Browser(COLUMNS.scene, flags=(f"--host-resolver-rules=MAP *.{NAMES} 127.0.0.1",))


@functools.lru_cache(maxsize=None)
def pages():
    """The web server with the pages, of an origin of its own."""
    files = {"/page/": page_folder(), "/npm/": npm_folder()}
    return webservers.Nginx(COLUMNS.scene, "pages", "127.0.0.1", processes.free_port(), {}, files=files).start()


def origin_of(url):
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def call(name, *arguments):
    """The value of a function of page.js on the page that is open; Failed with its error."""
    script = """const [name, ...rest] = arguments, done = rest.pop();
      clients[name](...rest).then(value => done({value: value ?? null}), error => done({failure: String(error)}))"""
    came = window().run_async(script, name, *arguments)
    if "failure" in came:
        raise processes.Failed(came["failure"])
    return came["value"]


def open_page(origin=None):
    window().open((origin or f"http://{pages().authority}") + PAGE)


def on_page(name, origin_for=lambda url: None):
    """A session that opens the page and calls a function of it."""

    def session(url):
        open_page(origin_for(url))
        return call(name, url)

    return session


def seen(name):
    """The same, and what is to be seen of it."""

    def session(url):
        on_page(name)(url)
        return pixels_seen("#map")

    return session


def read_back(name):
    """The same, and the pixels of the data URL that the page made of its canvas."""

    def session(url):
        return pixels(base64.b64decode(on_page(name)(url).partition(",")[2]))

    return session


def pixels_seen(selector):
    """Of the element, as it is on the screen."""
    box = window().run(
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return [box.left, box.top, box.right, box.bottom]",
        selector,
    )
    picture = Image.open(io.BytesIO(window().picture())).convert("RGB").crop([round(edge) for edge in box])
    check_map(picture)
    return picture.size, picture.tobytes()
