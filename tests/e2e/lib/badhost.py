# SPDX-License-Identifier: MIT
"""A host in a thread of this process that answers as a test says: for what no real MapServer does on demand."""

import contextlib
import socket
import threading

from . import processes


class BadHost:
    """`behave(connection, head, body)` is called for each request, and the connection is closed after it. `requests`
    are (head, body) of all that came."""

    def __init__(self, behave, *, name="muir", address="127.0.0.1", tls=None):
        """`tls`: an ssl.SSLContext; then its URL says https and localhost."""
        self.behave, self.name, self.requests, self.tls = behave, name, [], tls
        self.listener = socket.create_server((address, processes.free_port(address)), backlog=256)
        port = self.listener.getsockname()[1]
        self.url = f"https://localhost:{port}" if tls else f"http://{address}:{port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:  # close() was called
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _secured(self, connection):
        return self.tls.wrap_socket(connection, server_side=True) if self.tls else connection

    def _serve(self, connection):
        with contextlib.suppress(OSError), self._secured(connection) as connection:
            data = b""
            while b"\r\n\r\n" not in data:
                piece = connection.recv(65536)
                if not piece:
                    return
                data += piece
            head, _, begin = data.partition(b"\r\n\r\n")
            body = bytearray(begin)  # bytes would be copied for each piece
            length = next(
                (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
            )
            while len(body) < length:
                piece = connection.recv(1 << 20)
                if not piece:
                    return
                body += piece
            body = bytes(body)
            self.requests.append((head, body))
            self.behave(connection, head, body)

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class BadFleet:
    """Such hosts as a Balancer takes a fleet."""

    def __init__(self, *hosts):
        self.hosts, self.script, self.probe_port = hosts, "/cgi-bin/mapserv", 9
