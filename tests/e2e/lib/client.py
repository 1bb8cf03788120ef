# SPDX-License-Identifier: MIT
"""An HTTP client that sends the bytes it is given and follows a redirect without touching them."""

import contextlib
import http.client
import re
import socket
import time
from dataclasses import dataclass


@dataclass
class Answer:
    status: int
    headers: list  # (name, value), in their order
    body: bytes
    seconds: float

    def header(self, name):
        """The header's value; None without one; AssertionError where it came twice."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1, f"{name} came {len(values)} times: {values}"
        return values[0] if values else None

    @property
    def location(self):
        """(address, port, target as bytes) of an absolute http Location."""
        value = self.header("Location")
        match = re.fullmatch(r"http://(\[[0-9a-fA-F:.]+\]|[^/:?\[\]]+)(?::(\d+))?(.*)", value or "", re.S)
        assert match, f"Location is {value!r}, wanted an absolute http URL"
        host, port, target = match.groups()
        return host.strip("[]"), int(port or 80), target.encode("latin-1")


def ask(address, port, target, *, method="GET", headers=(), body=b"", timeout=10.0, tls=None, source=None):
    """One request over a connection of its own. `target` (bytes) goes out as it is; Host is sent unless given. `tls`: an
    ssl.SSLContext, for https. `source` is the client's address."""
    if isinstance(target, str):
        target = target.encode()
    began = time.monotonic()
    lines = [method.encode() + b" " + target + b" HTTP/1.1"]
    if not any(name.lower() == "host" for name, _ in headers):
        lines.append(f"Host: {f'[{address}]' if ':' in address else address}:{port}".encode())
    lines += [f"{name}: {value}".encode("latin-1") for name, value in headers]
    if body:
        lines.append(b"Content-Length: %d" % len(body))
    lines += [b"Connection: close", b"", b""]
    with contextlib.ExitStack() as stack:
        own = source and (source, 0)
        connection = stack.enter_context(
            socket.create_connection((address, port), timeout=timeout, source_address=own)
        )
        if tls:
            connection = stack.enter_context(tls.wrap_socket(connection))
        connection.sendall(b"\r\n".join(lines) + body)
        response = http.client.HTTPResponse(connection, method=method)
        try:
            response.begin()
            content = response.read()
            return Answer(response.status, response.getheaders(), content, time.monotonic() - began)
        finally:
            response.close()


def ask_and_follow(address, port, target, **how):
    """A request and, where it is answered by a redirect, the same request there: [answer, ...]."""
    answers = [ask(address, port, target, **how)]
    if answers[0].status in (302, 307):
        answers.append(ask(*answers[0].location, **how))
    return answers
