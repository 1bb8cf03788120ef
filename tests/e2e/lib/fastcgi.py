# SPDX-License-Identifier: MIT
"""A web server's side of FastCGI, byte by byte: whole requests over a kept connection, halves of them, and records that
no web server would send."""

import contextlib
import socket
import struct

BEGIN, ABORT, END, PARAMS, STDIN, STDOUT, STDERR, GET_VALUES = 1, 2, 3, 4, 5, 6, 7, 9
RESPONDER, KEEP = 1, 1


def record(kind, content=b"", *, request=1, padding=0, version=1):
    return struct.pack(">BBHHBx", version, kind, request, len(content), padding) + content + bytes(padding)


def length(number):
    return struct.pack(">B", number) if number < 128 else struct.pack(">I", number | 0x80000000)


def pairs(variables):
    return b"".join(length(len(k)) + length(len(v)) + k + v for k, v in variables.items())


def begin(keep=True, role=RESPONDER):
    return record(BEGIN, struct.pack(">HB5x", role, KEEP if keep else 0))


def stream(kind, content):
    """All records of a stream, the empty one that ends it included."""
    pieces = [content[at : at + 65528] for at in range(0, len(content), 65528)]
    return b"".join(record(kind, piece) for piece in pieces) + record(kind)


def variables(query="mode=map&map=WORLD", method="GET", **more):
    found = {
        "GATEWAY_INTERFACE": "CGI/1.1",
        "REQUEST_METHOD": method,
        "QUERY_STRING": query,
        "SCRIPT_NAME": "/cgi-bin/mapserv",
        "REQUEST_URI": "/cgi-bin/mapserv" + (f"?{query}" if query else ""),
        "SERVER_NAME": "maps.example.org",
        "SERVER_PORT": "80",
        "REMOTE_ADDR": "192.0.2.7",
        **more,
    }
    return {k.encode(): v if isinstance(v, bytes) else v.encode() for k, v in found.items()}


def request(*, keep=True, body=b"", **how):
    return begin(keep) + stream(PARAMS, pairs(variables(**how))) + stream(STDIN, body)


class Connection:
    """To `unix:PATH` or `ADDRESS:PORT`, as --listen names it."""

    def __init__(self, where, timeout=10.0):
        if where.startswith("unix:"):
            self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.socket.settimeout(timeout)
            try:
                self.socket.connect(where[5:])
            except OSError:
                self.socket.close()
                raise
        else:
            address, _, port = where.rpartition(":")
            self.socket = socket.create_connection((address.strip("[]"), int(port)), timeout=timeout)
        self.input = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        with contextlib.suppress(OSError):
            self.input.close()
            self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def answer(self):
        """What comes on standard output until the request ends; ConnectionError where the connection ends first."""
        output = b""
        while True:
            header = self.input.read(8)
            if len(header) < 8:
                raise ConnectionError("closed before the request ended")
            _, kind, _, size, padding = struct.unpack(">BBHHBx", header)
            content = self.input.read(size)
            self.input.read(padding)
            if kind == STDOUT:
                output += content
            if kind == END:
                return output

    def ask(self, **how):
        self.send(request(**how))
        return self.answer()

    def ends(self):
        """Whether the other side closes, saying nothing more than it has said."""
        try:
            while self.input.read(4096):
                pass
            return True
        except TimeoutError:
            return False
        except ConnectionError:
            return True


def head(answer):
    """The status line and headers of an answer as a dict, 'Status' among them."""
    lines = answer.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    return dict(line.split(": ", 1) for line in lines)
