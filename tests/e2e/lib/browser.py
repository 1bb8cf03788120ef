# SPDX-License-Identifier: MIT
"""A headless Chromium, driven over WebDriver (https://www.w3.org/TR/webdriver2/) with the standard library alone."""

import base64
import http.client
import json
import shutil

from . import processes

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element's reference
SCRIPT_SECONDS = 20
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1150,900",
)


def missing():
    """What of it is not installed, or ''."""
    return ", ".join(name for name in ("chromium", "chromedriver") if not shutil.which(name))


class Browser:
    """One window. It ends with its scene. `flags` are added to the command line."""

    def __init__(self, scene, name="browser", flags=()):
        self.port = processes.free_port()
        home = {"HOME": scene.path(name), "TMPDIR": scene.path(name)}
        scene.write(f"{name}/README", "profile of the browser\n")
        self.driver = scene.start(f"{name}/chromedriver", ["chromedriver", f"--port={self.port}"], env=home)
        self.driver.wait_for(lambda: processes.answers("127.0.0.1", self.port), 30, "chromedriver")
        options = {
            "binary": shutil.which("chromium"),
            "args": [*FLAGS, *flags, f"--user-data-dir={scene.path(name, 'profile')}"],
        }
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "timeouts": {"script": SCRIPT_SECONDS * 1000}}
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}}, seconds=60)
        self.session = f"/session/{session['sessionId']}"

    def call(self, method, path, content=None, seconds=30.0):
        """One command; its value. An error of the browser is Failed with its words."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=seconds)
        try:
            body = None if content is None else json.dumps(content)
            connection.request(method, path, body, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise processes.Failed(f"{method} {path}: {value['error']}: {value['message'].splitlines()[0]}")
        return value

    def _ask(self, method, path, content=None, **how):
        return self.call(method, f"{self.session}/{path}", content, **how)

    def open(self, url):
        self._ask("POST", "url", {"url": url})

    @property
    def url(self):
        return self._ask("GET", "url")

    def run(self, script, *arguments):
        """The value of a function's body."""
        return self._ask("POST", "execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        """The value that it hands to its last argument, a function."""
        return self._ask("POST", "execute/async", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self._ask("POST", "element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector, x=0, y=0):
        """With the mouse, so many pixels from the element's middle."""
        move = {"type": "pointerMove", "origin": {ELEMENT: self.find(selector)}, "x": x, "y": y}
        moves = [move, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self._ask("POST", "actions", {"actions": [{"type": "pointer", "id": "mouse", "actions": moves}]})

    def click_to_next_page(self, selector, x=0, y=0):
        """As click, and waits until another page is complete."""
        self.run("window.isOld = true")
        self.click(selector, x, y)
        there = "return !window.isOld && document.readyState === 'complete' && location.protocol.startsWith('http')"
        processes.wait_until(lambda: self.run(there), 30, f"the page behind {selector} of {self.url}")

    def picture_widths(self):
        """Of each picture on the page, its address and its natural width: 0 for one that could not be loaded."""
        return self.run_async(
            """const done = arguments[0];
            const shown = document.querySelectorAll("img, input[type=image]");
            Promise.all([...shown].map(({src}) => new Promise(told => {
              const picture = new Image();
              picture.onload = picture.onerror = () => told([src, picture.naturalWidth]);
              picture.src = src;
            }))).then(done);"""
        )

    def picture(self):
        """What is to be seen of the page, as PNG."""
        return base64.b64decode(self._ask("GET", "screenshot"))

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(self.picture())
