# SPDX-License-Identifier: MIT
"""What every set-up has to pass. A check raises AssertionError (or any error) where it does not hold; what it returns is
shown in the table behind 'ok'."""

import contextlib
import http.client
import os
import re
import signal
import threading
import time

from lib import client, processes

SCRIPT = "/cgi-bin/mapserv"
MAP = "map=WORLD&mode=map&layers=countries&mapsize=60+30"
CAPABILITIES = "map=WORLD&service=WMS&version=1.3.0&request=GetCapabilities"
GET_FEATURE = (
    b'<wfs:GetFeature xmlns:wfs="http://www.opengis.net/wfs" service="WFS" version="1.1.0" maxFeatures="2">'
    b'<wfs:Query typeName="%s"/>%s</wfs:GetFeature>'
)
TYPE = b"countries"
PNG = b"\x89PNG"
# As sent, and as it has to stand in Location: what may not stand there is encoded, all else stays as it is.
ODD = (
    (b"LAYERS=a%2Bb+c%26d&x=%2520", "LAYERS=a%2Bb+c%26d&x=%2520"),
    (b"map=A;service=WMS&q=a;b", "map=A;service=WMS&q=a;b"),
    (b"a=b?c=d&e", "a=b?c=d&e"),
    (b"a=%C3%A9&b=~x-._[1]%7E", "a=%C3%A9&b=~x-._[1]%7E"),
    (b"SLD_BODY=%3Ca%3E%0A%3C/a%3E%0d", "SLD_BODY=%3Ca%3E%0A%3C/a%3E%0d"),
    (b'a="<x>"&b=\xc3\xa9', "a=%22%3Cx%3E%22&b=%C3%A9"),
)


class Checks:
    """`hosts`: name -> 'address:port'. `relays`: what would be redirected is relayed here, by whomever."""

    def __init__(self, setup, hosts, programs, relays=False):
        self.setup, self.hosts, self.programs, self.relays = setup, hosts, programs, relays

    def ask(self, query, path="", **how):
        target = SCRIPT.encode() + path.encode() + b"?" + (query if isinstance(query, bytes) else query.encode())
        how.setdefault("timeout", 20)
        return client.ask(self.setup.address, self.setup.port, target, **how)

    def assert_host(self, answer):
        """The balancer that answered has our configuration: it names one of its hosts."""
        assert answer.header("X-Balance-Host") in self.hosts, f"X-Balance-Host is {answer.header('X-Balance-Host')!r}"

    def assert_sent(self, answer, query, path=""):
        """Redirected to a host's URL with this query, or answered by a host with a picture."""
        if self.relays:
            assert answer.status == 200 and answer.body.startswith(PNG), f"{answer.status} {answer.body[:200]}"
        else:
            assert answer.status == 302, f"{answer.status} {answer.body[:200]}"
            there = self.hosts[answer.header("X-Balance-Host")]
            wanted = f"http://{there}{SCRIPT}{path}?{query}"
            assert answer.header("Location") == wanted, f"{answer.header('Location')!r}, wanted {wanted!r}"
        self.assert_host(answer)

    def get(self):
        answer = self.ask(MAP)
        self.assert_sent(answer, MAP)
        if not self.relays:
            assert answer.header("Cache-Control") == "no-store"
            answer = client.ask(*answer.location, timeout=30)
        assert answer.body.startswith(PNG), answer.body[:200]

    def head(self):
        answer = self.ask(MAP, method="HEAD")
        assert answer.status == (200 if self.relays else 302) and answer.body == b"", answer.status
        self.assert_host(answer)

    def options(self):
        asked = (("Origin", "http://elsewhere.example"), ("Access-Control-Request-Method", "POST"))
        answer = self.ask(MAP, method="OPTIONS", headers=asked)
        assert answer.status == 204, answer.status
        assert "POST" in answer.header("Access-Control-Allow-Methods")

    def form(self):
        headers = (("Content-Type", "application/x-www-form-urlencoded"),)
        answer = self.ask("", method="POST", headers=headers, body=MAP.encode())
        assert answer.status == 200 and answer.body.startswith(PNG), f"{answer.status} {answer.body[:200]}"
        self.assert_host(answer)

    def xml(self):
        for padding in (b"", b"<!--" + b"x" * 300_000 + b"-->"):
            answer = self.ask(
                "map=WORLD", method="POST", headers=(("Content-Type", "text/xml"),), body=GET_FEATURE % (TYPE, padding)
            )
            assert answer.status == 200 and b"FeatureCollection" in answer.body, f"{answer.status} {answer.body[:300]}"
            self.assert_host(answer)

    def path_info(self):
        answer = self.ask("f=json", "/WORLD/ogcapi/")
        assert answer.status == 200 and b'"links"' in answer.body, f"{answer.status} {answer.body[:200]}"
        self.assert_host(answer)
        # One that no host knows: what counts is that the web server lets an encoded slash through to balance.
        self.assert_host(self.ask("f=json", "/WORLD/ogcapi/a%2Fb"))

    def odd_bytes(self):
        for sent, wanted in ODD:
            answer = self.ask(sent)
            if not self.relays:
                self.assert_sent(answer, wanted)
            self.assert_host(answer)

    def long_queries(self):
        longest = self.setup.longest_query
        for size in (3000, 5000, 7900, 9000, 15000):
            query = f"{MAP}&sld_comment={'y' * size}"
            answer = self.ask(query)
            if size > longest:
                assert answer.status == 414, f"{size}: {answer.status}"
            elif size < 3400 and not self.relays:
                self.assert_sent(answer, query)
            else:
                assert answer.status == 200 and answer.body.startswith(PNG), f"{size}: {answer.status} {answer.body[:200]}"
        return "" if longest > 15000 else "8 kB"

    def credentials(self):
        """A request with credentials is relayed: balance sees them."""
        answer = self.ask(MAP, headers=(("Authorization", "Basic YTpi"),))
        assert answer.status == 200 and answer.body.startswith(PNG), answer.status
        self.assert_host(answer)

    def capabilities(self):
        """They name the balancer, whichever host wrote them."""
        answer = self.ask(CAPABILITIES)
        own = f"http://{self.setup.address}:{self.setup.port}{SCRIPT}?".encode()
        assert answer.status == 200 and b'xlink:href="' + own in answer.body, f"{answer.status} {answer.body[:300]}"

    def kept(self):
        """32 connections that stay open: all are served, over and over."""
        connections = [http.client.HTTPConnection(self.setup.address, self.setup.port, timeout=20) for _ in range(32)]
        outcomes = []

        def use(connection):
            for _ in range(3):
                connection.request("GET", f"{SCRIPT}?{MAP}")
                answer = connection.getresponse()
                answer.read()
                outcomes.append(answer.status)

        def guarded(connection):
            try:
                use(connection)
            except (OSError, http.client.HTTPException) as error:
                outcomes.append(repr(error))

        threads = [threading.Thread(target=guarded, args=(connection,)) for connection in connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for connection in connections:
            connection.close()
        wanted = 200 if self.relays else 302
        assert outcomes == [wanted] * 96, [outcome for outcome in outcomes if outcome != wanted][:5]

    def reload(self):
        with Load(self) as load:
            load.wait_for(20)
            self.setup.reload()
            processes.wait_until(self.setup.has_reloaded, 10, f"a reload; {self.setup.log()}")
            load.wait_for(60)
        assert not load.failed, f"{len(load.failed)} of {load.done + len(load.failed)} failed: {load.failed[:3]}"
        return f"of {load.done}"

    def crash(self):
        """SIGKILL to one process of balance. Service goes on: nothing is lost but what that process had in hand, one
        request of each client, where nobody may ask again."""
        with Load(self) as load:
            load.wait_for(10)
            # As a CGI program it lives for milliseconds, unless it relays a map that takes long.
            slow = [threading.Thread(target=self._ask_for_much, daemon=True) for _ in range(3)]
            for thread in slow:
                thread.start()
            victim = processes.wait_until(lambda: next(iter(self.balances()), None), 10, "a process of balance")
            os.kill(victim, signal.SIGKILL)
            load.wait_for(40)
            for thread in slow:
                thread.join()
        assert len(load.failed) <= 4, f"{len(load.failed)} of {load.done + len(load.failed)} failed: {load.failed[:3]}"
        return f"{len(load.failed)} lost"

    def _ask_for_much(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            query = "map=WORLD&mode=map&layers=all&mapsize=2000+2000"
            self.ask(query, headers=(("Authorization", "Basic YTpi"),), timeout=30)

    def balances(self):
        """The pids of this scene's balance, under whatever started it."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/exe") in self.programs:
                    found.append(int(pid))
        return found


class Load:
    """Four clients, a connection for each request, until the end of the block."""

    def __init__(self, checks):
        self.checks = checks
        self.failed, self.done, self.over = [], 0, False
        self.threads = [threading.Thread(target=self._run, daemon=True) for _ in range(4)]

    def _run(self):
        while not self.over:
            try:
                answer = self.checks.ask(MAP, timeout=15)
                wanted = 200 if self.checks.relays else 302
                if answer.status == wanted:
                    self.done += 1
                else:
                    self.failed.append(answer.status)
            except (OSError, http.client.HTTPException) as error:
                self.failed.append(repr(error))
            time.sleep(0.01)

    def wait_for(self, more):
        """Until so many more requests were answered."""
        goal = self.done + more
        processes.wait_until(lambda: self.done >= goal, 60, f"{more} more answers; failed: {self.failed[:3]}")

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        for thread in self.threads:
            thread.join()


BALANCER = {
    "GET": Checks.get,
    "HEAD": Checks.head,
    "OPTIONS": Checks.options,
    "form": Checks.form,
    "XML": Checks.xml,
    "PATH_INFO": Checks.path_info,
    "bytes": Checks.odd_bytes,
    "long": Checks.long_queries,
    "auth": Checks.credentials,
    "self-URL": Checks.capabilities,
    "32 kept": Checks.kept,
    "reload": Checks.reload,
    "crash": Checks.crash,
}


class HostChecks:
    """The same of a map host, asked as a redirected client or a relay asks it."""

    def __init__(self, setup):
        self.setup = setup

    def ask(self, query, path="", **how):
        how.setdefault("timeout", 20)
        return client.ask(self.setup.address, self.setup.port, f"{SCRIPT}{path}?{query}", **how)

    def get(self):
        answer = self.ask(MAP)
        assert answer.status == 200 and answer.body.startswith(PNG), f"{answer.status} {answer.body[:200]}"

    def form(self):
        headers = (("Content-Type", "application/x-www-form-urlencoded"),)
        answer = self.ask("", method="POST", headers=headers, body=MAP.encode())
        assert answer.body.startswith(PNG), f"{answer.status} {answer.body[:200]}"

    def xml(self):
        for padding in (b"", b"<!--" + b"x" * 300_000 + b"-->"):
            answer = self.ask(
                "map=WORLD", method="POST", headers=(("Content-Type", "text/xml"),), body=GET_FEATURE % (TYPE, padding)
            )
            assert b"FeatureCollection" in answer.body, f"{answer.status} {answer.body[:300]}"

    def path_info(self):
        answer = self.ask("f=json", "/WORLD/ogcapi/")
        assert answer.status == 200 and b'"links"' in answer.body, f"{answer.status} {answer.body[:200]}"

    def long_queries(self):
        for size in (7900, 9000):
            answer = self.ask(f"{MAP}&sld_comment={'y' * size}")
            if size > self.setup.longest_query:
                assert answer.status == 414, f"{size}: {answer.status}"
                return "8 kB"
            assert answer.body.startswith(PNG), f"{size}: {answer.status} {answer.body[:200]}"
        return ""

    def odd_bytes(self):
        answer = self.ask(f"{MAP}&x=%0A%7E[1]%0d")
        assert answer.body.startswith(PNG), f"{answer.status} {answer.body[:200]}"

    def self_url(self):
        """With a relay's headers capabilities name the balancer."""
        forwarded = (("X-Forwarded-Host", "maps.example.org"), ("X-Forwarded-Port", "443"), ("X-Forwarded-Proto", "https"))
        answer = self.ask(CAPABILITIES, headers=forwarded)
        assert b'xlink:href="https://maps.example.org/cgi-bin/mapserv?' in answer.body, answer.body[:300]

    def picture(self):
        """A page names its picture by a relative IMAGEURL, and it is there."""
        page = self.ask("map=WORLD&mode=browse&layers=all&mapsize=60+30").body.decode("utf-8", "replace")
        found = re.search(r'src="(/tmp/[^"]+\.png)"', page)
        assert found, page[:500]
        picture = client.ask(self.setup.address, self.setup.port, found[1])
        assert picture.status == 200 and picture.body.startswith(PNG), picture.status
        assert picture.header("Content-Type") == "image/png", picture.header("Content-Type")


HOST = {
    "GET": HostChecks.get,
    "form": HostChecks.form,
    "XML": HostChecks.xml,
    "PATH_INFO": HostChecks.path_info,
    "bytes": HostChecks.odd_bytes,
    "long": HostChecks.long_queries,
    "self-URL": HostChecks.self_url,
    "IMAGEURL": HostChecks.picture,
}
