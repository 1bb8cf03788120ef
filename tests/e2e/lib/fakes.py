# SPDX-License-Identifier: MIT
"""Fake map hosts that misbehave to order: `python3 fakes.py PROBE-PORT WEB-PORT ADDRESS... [names]`, a process of its own so
that it takes no time from whoever measures. Lines on standard input change a host: 'ADDRESS BEHAVIOUR'. Each is answered
by that line once it holds.

  good       reports little to do, and accepts at the web port
  refuse     nobody listens
  reset      accepts and resets
  trickle    a byte a second
  endless    an answer without an end
  garbage    no HTTP
  nonsense   HTTP, and no report
  absurd     a report of numbers that cannot be
  boast      a report of a thousand idle cores

With `names` a name server at 127.0.0.1:53 answers that there is no such name, and of names that begin with
'hanging' nothing."""

import asyncio
import contextlib
import socket
import struct
import sys

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
GOOD = (
    b"node_load1 0.1\nnode_procs_running 0\nloadprobe_cores 2\nnode_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 5\n"
    b'loadprobe_dispatches_total 0\nloadprobe_state{state="serving",reason=""} 1\n'
)
BODIES = {
    "good": GOOD,
    "nonsense": b"<html>It works!</html>\n",
    "absurd": b"node_load1 1e300\nnode_procs_running -5\nloadprobe_cores 1e9\n",
    "boast": GOOD.replace(b"cores 2", b"cores 1000"),
}


class Host:
    def __init__(self, address, probe_port, web_port):
        self.address, self.ports = address, (probe_port, web_port)
        self.behaviour = "refuse"
        self.servers, self.open = [], set()

    async def become(self, behaviour):
        self.behaviour = behaviour
        for writer in list(self.open):  # kept connections must meet it too
            reset(writer) if behaviour in ("reset", "refuse") else writer.close()
        if behaviour == "refuse":
            for server in self.servers:
                server.close()
                await server.wait_closed()
            self.servers = []
        elif not self.servers:
            self.servers = [
                await asyncio.start_server(self.probe, self.address, self.ports[0]),
                await asyncio.start_server(self.web, self.address, self.ports[1]),
            ]

    async def web(self, _reader, writer):
        if self.behaviour == "reset":
            reset(writer)
        else:
            writer.close()

    async def probe(self, reader, writer):
        self.open.add(writer)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while not writer.is_closing():
                if self.behaviour == "reset":
                    break
                await reader.readuntil(b"\r\n\r\n")
                await self.answer(writer)
        self.open.discard(writer)
        reset(writer) if self.behaviour == "reset" else writer.close()

    async def answer(self, writer):
        behaviour = self.behaviour
        if behaviour in BODIES:
            body = BODIES[behaviour]
            writer.write(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        elif behaviour == "garbage":
            writer.write(bytes(range(256)) * 4)
            writer.close()
        else:
            await self.go_on(writer, behaviour)

    async def go_on(self, writer, behaviour):
        writer.write(HEAD + b"\r\n")
        while self.behaviour == behaviour and not writer.is_closing():
            if behaviour == "trickle":
                writer.write(b"n")
                await asyncio.sleep(1)
            else:
                writer.write(b"node_load1 1\n" * 100)
                await writer.drain()
                await asyncio.sleep(0.001)  # endless is bad enough at a few MB a second
        writer.close()


def reset(writer):
    with contextlib.suppress(OSError, AttributeError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Names(asyncio.DatagramProtocol):
    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, peer):
        if b"hanging" not in data:
            question = data[12:]
            self.transport.sendto(data[:2] + b"\x81\x83" + data[4:6] + b"\0\0\0\0\0\0" + question, peer)


async def main(probe_port, web_port, addresses):
    with_names = addresses[-1:] == ["names"]
    addresses = addresses[: -1 if with_names else None]
    hosts = {address: Host(address, probe_port, web_port) for address in addresses}
    loop = asyncio.get_running_loop()
    if with_names:
        await loop.create_datagram_endpoint(Names, local_addr=("127.0.0.1", 53))
    for host in hosts.values():
        await host.become("good")
    print("ready", flush=True)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := (await reader.readline()).decode().strip():
        address, behaviour = line.split()
        await hosts[address].become(behaviour)
        print(line, flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]))
