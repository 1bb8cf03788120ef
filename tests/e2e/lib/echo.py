# SPDX-License-Identifier: MIT
"""A FastCGI program in a thread of this process that tells what the web server handed over: what any program behind
that server would have seen. A connection serves one request, which is what our web servers open without keep-alive."""

import os
import socket
import struct
import threading

BEGIN, ABORT, END, PARAMS, STDIN, STDOUT = 1, 2, 3, 4, 5, 6


def exactly(stream, count):
    data = stream.read(count)
    if len(data) != count:
        raise ConnectionError("the web server closed the connection within a record")
    return data


def parameters(data):
    """The name-value pairs of a PARAMS stream, as a dict of bytes."""
    found, at = {}, 0
    while at < len(data):
        lengths = []
        for _ in range(2):
            if data[at] < 128:
                lengths.append(data[at])
                at += 1
            else:
                lengths.append(struct.unpack_from(">I", data, at)[0] & 0x7FFFFFFF)
                at += 4
        name = data[at : at + lengths[0]]
        at += lengths[0]
        found[name.decode("ascii")] = data[at : at + lengths[1]]
        at += lengths[1]
    return found


class Echo:
    """Answers each request by '200' and its parameters, 'NAME=value' lines parted by NUL bytes."""

    def __init__(self, path):
        self.path = path
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        os.chmod(path, 0o666)
        self._listener.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # close() was called
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, connection.makefile("rwb") as stream:
            given = b""
            try:
                while True:
                    _, kind, number, length, padding = struct.unpack(">BBHHBx", exactly(stream, 8))
                    content = exactly(stream, length)
                    exactly(stream, padding)
                    if kind == PARAMS:
                        given += content
                    if kind == STDIN and not content:
                        break
                self._send(stream, STDOUT, number, self.answer(parameters(given)))
                self._send(stream, STDOUT, number, b"")
                self._send(stream, END, number, bytes(8))
                stream.flush()
            except (ConnectionError, struct.error):
                return

    @staticmethod
    def _send(stream, kind, number, content):
        for at in range(0, len(content) or 1, 65528):
            part = content[at : at + 65528]
            stream.write(struct.pack(">BBHHBx", 1, kind, number, len(part), 0) + part)

    def answer(self, given):
        body = b"\0".join(name.encode() + b"=" + value for name, value in given.items())
        return b"Status: 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n" + body

    def close(self):
        self._listener.close()


def given(answer):
    """The parameters in an Echo's answer."""
    return dict(pair.split(b"=", 1) for pair in answer.body.split(b"\0"))
