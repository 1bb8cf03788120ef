#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`balance` as a FastCGI server: kept connections, hostile records, signals, configurations that change. BUILD names the
build folder."""

import contextlib
import fcntl
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from lib import fastcgi, fleet, processes  # noqa: E402
from lib.gateway import MAP, GatewayCase, can_connect  # noqa: E402


class Served(GatewayCase):
    """`balance --listen` on a socket of its own, one a test."""

    def serve(self, *, configuration=None, where=None, shell=None, env=None):
        self.number = getattr(self, "number", 0) + 1
        name = f"{self.id().rpartition('.')[2]}-{self.number}"
        where = where or f"unix:{self.scene.path(name[-40:] + '.sock')}"
        command = [self.program, "--listen", where]
        if shell:
            command = ["sh", "-c", f'{shell}; exec "$0" "$@"', *command]
        process = self.scene.start(
            name, command, env={"BALANCE_CONFIG": configuration or self.configuration, **(env or {})}
        )
        self.addCleanup(process.kill)
        process.wait_for(lambda: can_connect(where), 5, f"a socket at {where}")
        return process, where

    def assert_redirected(self, answer):
        self.assertEqual(fastcgi.head(answer)["Status"], "302 Found")
        return self.leads_to_a_host(fastcgi.head(answer)["Location"])

    def test_many_kept_connections_are_all_served(self):
        _, where = self.serve()
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(fastcgi.Connection(where)) for _ in range(200)]
            for _ in range(3):
                for connection in connections:
                    self.assert_redirected(connection.ask())

    def test_more_kept_connections_than_threads_are_all_served(self):
        _, where = self.serve(configuration=self.configure("few.conf", "max-connections = 4\n"))
        served = []

        def client_of_its_own(number):
            connection = fastcgi.Connection(where, timeout=10)
            for _ in range(5):
                try:
                    answer = connection.ask()
                except ConnectionError:  # closed while it was idle, which a web server answers by a new one
                    connection.close()
                    connection = fastcgi.Connection(where, timeout=10)
                    answer = connection.ask()
                self.assert_redirected(answer)
            served.append(number)
            time.sleep(0.5)  # and keeps its last connection
            connection.close()

        threads = [threading.Thread(target=client_of_its_own, args=(number,)) for number in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        self.assertEqual(sorted(served), list(range(24)))

    def test_a_connection_that_is_not_to_be_kept_is_closed(self):
        _, where = self.serve()
        with fastcgi.Connection(where) as connection:
            self.assert_redirected(connection.ask(keep=False))
            self.assertTrue(connection.ends())

    def test_a_body_is_no_part_of_the_next_request(self):
        _, where = self.serve()
        for size in (1, 100, 8192, 300000):
            with fastcgi.Connection(where) as connection:
                connection.send(fastcgi.request(method="POST", body=b"x" * size))
                self.assertEqual(fastcgi.head(connection.answer())["Status"], "307 Temporary Redirect")
                self.assert_redirected(connection.ask(query=MAP))

    def test_a_body_that_holds_a_foreign_record_ends_the_connection(self):
        _, where = self.serve()
        head = fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, fastcgi.pairs(fastcgi.variables(method="POST")))
        values = fastcgi.record(fastcgi.GET_VALUES, fastcgi.pairs({b"FCGI_MPXS_CONNS": b""}) * 50, request=0)
        for foreign in (values, fastcgi.record(fastcgi.STDIN, b"x", request=2), fastcgi.record(fastcgi.PARAMS, b"x")):
            with fastcgi.Connection(where) as connection:
                connection.send(head + fastcgi.record(fastcgi.STDIN, b"x" * 100) + foreign)
                self.assertTrue(connection.ends())
        with fastcgi.Connection(where) as connection:
            self.assert_redirected(connection.ask(query=MAP))

    def test_a_request_may_come_in_pieces(self):
        _, where = self.serve()
        whole = fastcgi.request(query=MAP)
        with fastcgi.Connection(where) as connection:
            for at in range(0, len(whole), 7):
                connection.send(whole[at : at + 7])
            self.assert_redirected(connection.answer())
            for size in (8, 24, len(whole) - 8):  # as mod_proxy_fcgi sends it: record by record
                connection.send(whole[:size])
                time.sleep(0.02)
                connection.send(whole[size:])
                self.assert_redirected(connection.answer())

    def test_a_request_that_comes_byte_by_byte_does_not_stall(self):
        _, where = self.serve()
        for address in (where, self.serve(where=f"127.0.0.1:{processes.free_port()}")[1]):
            for size in (10, 5000):
                query = f"map=WORLD&mode=map&x={'y' * size}"
                with fastcgi.Connection(address) as connection:
                    for byte in fastcgi.request(query=query):
                        connection.send(bytes([byte]))
                    self.assertEqual(self.assert_redirected(connection.answer()), f"/cgi-bin/mapserv?{query}")

    def test_unfinished_uploads_do_not_keep_others_out(self):
        _, where = self.serve(configuration=self.configure("eight.conf", "max-connections = 8\n"))
        head = fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, fastcgi.pairs(fastcgi.variables(method="POST")))
        begun = {
            "a body of which a byte came": head + fastcgi.record(fastcgi.STDIN, b"x" * 1000)[:9],
            "a body of which nothing came": head,
            "a head in pieces": head[:30],
            "nothing": b"",
        }
        for what, data in begun.items():
            with self.subTest(what), contextlib.ExitStack() as stack:
                for _ in range(24):
                    stack.enter_context(fastcgi.Connection(where)).send(data)
                asked = time.monotonic()
                with fastcgi.Connection(where, timeout=20) as connection:
                    self.assert_redirected(connection.ask(query=MAP))
                self.assertLess(time.monotonic() - asked, 10)

    def test_padding_behind_the_end_of_the_input_is_no_part_of_the_next_request(self):
        _, where = self.serve()
        head = fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, fastcgi.pairs(fastcgi.variables(query=MAP)))
        padded = head + fastcgi.record(fastcgi.STDIN, padding=200)
        with fastcgi.Connection(where) as connection:
            for pieces in ([padded], [padded[:-100], padded[-100:]], [head, padded[len(head) :]], [padded + padded]):
                for piece in pieces:
                    connection.send(piece)
                    time.sleep(0.02)
                for _ in range(len(b"".join(pieces)) // len(padded)):
                    self.assert_redirected(connection.answer())

    def test_requests_sent_without_waiting_for_answers_are_all_answered(self):
        _, where = self.serve()
        asked = [{"query": MAP}, {"method": "POST", "body": b"x" * 300}, {"query": MAP}, {"query": MAP}]
        with fastcgi.Connection(where) as connection:
            connection.send(b"".join(fastcgi.request(**how) for how in asked))
            answers = [fastcgi.head(connection.answer())["Status"] for _ in asked]
        self.assertEqual(answers, ["302 Found", "307 Temporary Redirect", "302 Found", "302 Found"])

    def test_a_peer_that_takes_no_answers_holds_nobody_up(self):
        _, where = self.serve()
        whole = fastcgi.request(query=MAP)

        def is_read(connection, seconds=1.0):
            end = time.monotonic() + seconds
            while struct.unpack("i", fcntl.ioctl(connection.socket, termios.TIOCOUTQ, bytes(4)))[0] > 0:
                if time.monotonic() > end:
                    return False
                time.sleep(0.0005)
            return True

        for one_at_a_time in (True, False):
            with self.subTest(one_at_a_time=one_at_a_time), fastcgi.Connection(where, timeout=1) as deaf:
                sent = 0
                with contextlib.suppress(TimeoutError):
                    while sent < 2000 and (not one_at_a_time or is_read(deaf)):
                        deaf.send(whole)
                        sent += 1
                self.assertLess(sent, 2000)
                asked = time.monotonic()
                with fastcgi.Connection(where) as connection:
                    self.assert_redirected(connection.ask(query=MAP))
                self.assertLess(time.monotonic() - asked, 0.5)

    def test_a_lack_of_threads_that_is_over_closes_no_kept_connection(self):
        if os.getuid() != 0:
            self.skipTest("only root can become a user who has no other threads")
        user = 64444
        state = self.scene.path("state-of-few-threads")
        os.makedirs(state)
        os.chown(state, user, user)
        os.chmod(self.scene.folder, 0o755)
        configuration = self.configure("few-threads.conf", state=state)

        folder = self.scene.path("few-threads")  # without a poolwatch, which would be a thread of that user's
        os.makedirs(folder)
        os.chown(folder, user, user)
        shutil.copy(fleet.program("balance"), folder)
        where = f"unix:{folder}/socket"
        process = self.scene.start(
            "few-threads",
            ["prlimit", "--nproc=4:4", "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
            + [os.path.join(folder, "balance"), "--listen", where],
            env={"BALANCE_CONFIG": configuration},
        )
        self.addCleanup(process.kill)
        process.wait_for(lambda: can_connect(where), 5, "a socket")
        with contextlib.ExitStack() as stack:
            for _ in range(6):
                stack.enter_context(fastcgi.Connection(where)).send(fastcgi.request()[:40])
            process.wait_for(lambda: "cannot grow" in process.said(1000), 5, "a word about threads")

        def may_ask_twice():
            with contextlib.suppress(ConnectionError), fastcgi.Connection(where) as connection:
                return connection.ask(query=MAP) and connection.ask(query=MAP)
            return False

        processes.wait_until(may_ask_twice, 5, "a connection that is kept")
        with fastcgi.Connection(where) as connection:
            end = time.monotonic() + 2.5  # and over looks at the files, for which the lead is handed over
            while time.monotonic() < end:
                self.assert_redirected(connection.ask(query=MAP))
                time.sleep(0.01)

    def test_a_peer_that_has_stopped_reading_holds_nobody_up(self):
        _, where = self.serve()
        with contextlib.ExitStack() as stack:
            longest = 0.0
            for how in ({}, {"keep": False}, {"method": "POST", "body": b"x" * 300}):
                deaf = stack.enter_context(fastcgi.Connection(where))
                deaf.socket.shutdown(socket.SHUT_RD)
                deaf.send(fastcgi.request(query=MAP, **how))
                for _ in range(20):
                    asked = time.monotonic()
                    with fastcgi.Connection(where) as connection:
                        self.assert_redirected(connection.ask(query=MAP))
                    longest = max(longest, time.monotonic() - asked)
            self.assertLess(longest, 1)

    def test_an_error_log_that_nobody_reads_holds_nobody_up(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, bytes(4096))
        os.set_blocking(writer, True)
        socket_file = self.scene.path("unread.sock")
        process = subprocess.Popen(
            [self.program, "--listen", f"unix:{socket_file}"],
            env={"BALANCE_CONFIG": self.configuration},
            stdin=subprocess.DEVNULL,
            stderr=writer,
        )
        self.addCleanup(process.kill)
        os.close(writer)
        processes.wait_until(lambda: can_connect(f"unix:{socket_file}"), 5, "a socket")
        for data in (b"GET / HTTP/1.0\r\n\r\n", fastcgi.request(BALANCE_CONFIG="/nowhere")):  # are told of
            with fastcgi.Connection(f"unix:{socket_file}") as telling:
                telling.send(data)
                with fastcgi.Connection(f"unix:{socket_file}", timeout=5) as connection:
                    self.assert_redirected(connection.ask(query=MAP))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(5), 0)

    def test_a_long_query_passes(self):
        _, where = self.serve()
        for address in (where, self.serve(where=f"127.0.0.1:{processes.free_port()}")[1]):
            with fastcgi.Connection(address) as connection:
                for size in (3000, 4096, 30000, 60000):
                    query = f"map=WORLD&mode=map&x={'y' * size}"
                    self.assertEqual(self.assert_redirected(connection.ask(query=query)), f"/cgi-bin/mapserv?{query}")

    def test_odd_bytes_never_leave_the_location_line(self):
        _, where = self.serve()
        with fastcgi.Connection(where) as connection:
            for given, wanted in (
                (b"a=b\r\nSet-Cookie: x=y", "a=b%0D%0ASet-Cookie:%20x=y"),
                (b'a="<x>"', "a=%22%3Cx%3E%22"),
                (b"a=\xc3\xa9\xff", "a=%C3%A9%FF"),
                (b"a=%0d%0aSet-Cookie:x", "a=%0d%0aSet-Cookie:x"),
                (b"a=b;c=%2B+%2520[1]~", "a=b;c=%2B+%2520[1]~"),
            ):
                answer = connection.ask(query="", QUERY_STRING=given, REQUEST_URI=b"/cgi-bin/mapserv?" + given)
                self.assertEqual(self.assert_redirected(answer), f"/cgi-bin/mapserv?{wanted}")
                self.assertEqual(answer.lower().count(b"\r\nlocation:"), 1)
                self.assertNotIn(b"\r\nSet-Cookie", answer)

    def test_hostile_records_end_their_connection_and_nothing_else(self):
        process, where = self.serve()
        four = fastcgi.struct.Struct(">I").pack
        lies = [
            fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, four(a) + four(b) + b"abc")
            for a in (0xFFFFFFFF, 0xFFFFFFFE, 0xBFFFFFFF, 0x80000100)
            for b in (0xFFFFFFFF, 0xFFFFFFFE, 0x80000001)
        ]
        asked = fastcgi.pairs({b"FCGI_MAX_CONNS": b""})
        others = [
            fastcgi.record(fastcgi.GET_VALUES, asked * 300, request=0),
            fastcgi.begin() + fastcgi.record(fastcgi.GET_VALUES, asked * 300, request=0),
            fastcgi.begin() + fastcgi.begin(),
            fastcgi.begin() + fastcgi.record(fastcgi.STDIN, b"abc"),
            fastcgi.begin() + fastcgi.record(fastcgi.PARAMS, b"abc", request=2),
            fastcgi.begin(role=77) + fastcgi.stream(fastcgi.PARAMS, b""),
            fastcgi.record(fastcgi.BEGIN, bytes(8), version=9),
            b"GET / HTTP/1.0\r\n\r\n",
            bytes(range(256)) * 16,
            fastcgi.begin() + fastcgi.stream(fastcgi.PARAMS, bytes(60000)),
            fastcgi.begin() + fastcgi.record(fastcgi.PARAMS, b"x" * 60000) * 40,
        ]
        for data in lies + others:
            with fastcgi.Connection(where, timeout=5) as connection:
                with contextlib.suppress(ConnectionError):
                    connection.send(data)
                    connection.socket.shutdown(socket.SHUT_WR)
                self.assertTrue(connection.ends(), data[:40])
        with fastcgi.Connection(where) as connection:
            self.assert_redirected(connection.ask())
        self.assertTrue(process.alive(), process.said())
        self.assertEqual(process.said(1000).count("no FastCGI request"), 1)

    def test_a_peer_that_goes_away_early_harms_nobody(self):
        process, where = self.serve()
        whole = fastcgi.request(query=MAP)
        for size in range(0, len(whole) + 1, 5):
            with fastcgi.Connection(where) as connection:
                connection.send(whole[:size])
        with fastcgi.Connection(where) as connection:
            self.assert_redirected(connection.ask())
        self.assertTrue(process.alive())

    def test_a_configuration_named_by_a_request_is_ignored_and_told_once(self):
        process, where = self.serve()
        with fastcgi.Connection(where) as connection:
            for _ in range(3):
                self.assert_redirected(connection.ask(BALANCE_CONFIG="/nowhere/other\n.conf"))
        told = [line for line in process.said(1000).splitlines() if "BALANCE_CONFIG" in line]
        self.assertEqual(len(told), 1, process.said())
        self.assertIn("other\\x0A.conf", told[0])

    def test_ends_at_once_when_idle(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            process, where = self.serve()
            with fastcgi.Connection(where) as kept:
                self.assert_redirected(kept.ask())
                began = time.monotonic()
                os.kill(process.pid, number)
                self.assertEqual(process.popen.wait(5), 0)
                self.assertLess(time.monotonic() - began, 0.5)
                self.assertTrue(kept.ends())
            self.assertFalse(os.path.exists(where[5:]))

    def test_finishes_a_request_that_has_begun(self):
        process, where = self.serve()
        whole = fastcgi.request(query=MAP)
        with fastcgi.Connection(where) as connection, fastcgi.Connection(where) as kept:
            self.assert_redirected(kept.ask())
            connection.send(whole[:40])
            kept.ask()
            os.kill(process.pid, signal.SIGTERM)
            self.assertTrue(kept.ends())
            self.assertTrue(process.alive())
            connection.send(whole[40:])
            self.assert_redirected(connection.answer())
            self.assertEqual(process.popen.wait(5), 0)

    def test_does_not_wait_for_ever_to_finish(self):
        process, where = self.serve()
        with fastcgi.Connection(where) as connection:
            connection.send(fastcgi.request()[:40])
            with fastcgi.Connection(where) as other:
                other.ask()
            began = time.monotonic()
            os.kill(process.pid, signal.SIGTERM)
            self.assertEqual(process.popen.wait(10), 0)
            self.assertLess(time.monotonic() - began, 7)
        self.assertIn("requests cut off", process.said())

    def test_sigpipe_and_sighup_do_not_end_it(self):
        process, where = self.serve()
        for number in (signal.SIGPIPE, signal.SIGHUP):
            os.kill(process.pid, number)
            with fastcgi.Connection(where) as connection:
                self.assert_redirected(connection.ask())
        self.assertTrue(process.alive())

    def test_the_socket_is_for_owner_and_group_and_a_stale_one_is_replaced(self):
        process, where = self.serve()
        self.assertEqual(os.stat(where[5:]).st_mode & 0o777, 0o660)
        second = processes.run([self.program, "--listen", where], env={"BALANCE_CONFIG": self.configuration}, seconds=5)
        self.assertEqual(second.returncode, 1)
        self.assertIn("somebody listens on", second.stderr)
        process.kill()
        self.assertTrue(os.path.exists(where[5:]))
        with fastcgi.Connection(self.serve(where=where)[1]) as connection:
            self.assert_redirected(connection.ask())

    def test_an_address_that_others_reach_is_warned_of(self):
        process, where = self.serve(where=f"0.0.0.0:{processes.free_port()}")
        with fastcgi.Connection(where.replace("0.0.0.0", "127.0.0.1")) as connection:
            self.assert_redirected(connection.ask())
        self.assertIn("warning", process.said())
        process, _ = self.serve(where=f"127.0.0.1:{processes.free_port()}")
        self.assertNotIn("others can reach", process.said())

    def test_only_the_web_servers_that_the_environment_names_may_connect(self):
        for named, may in (("127.0.0.1", True), ("192.0.2.1, 127.0.0.1", True), ("192.0.2.1,2001:db8::1", False)):
            where = f"127.0.0.1:{processes.free_port()}"
            self.serve(where=where, env={"FCGI_WEB_SERVER_ADDRS": named})
            with fastcgi.Connection(where) as connection:
                if may:
                    self.assert_redirected(connection.ask())
                else:
                    self.assertTrue(connection.ends())
        with fastcgi.Connection(self.serve(env={"FCGI_WEB_SERVER_ADDRS": "192.0.2.1"})[1]) as connection:
            self.assert_redirected(connection.ask())  # a UNIX socket has its file mode

    def test_a_faulty_configuration_at_start_is_told_whole(self):
        faulty = self.scene.write("start.conf", "host = pinchot nonsense\nmoed = relay\n")
        where = f"unix:{self.scene.path('start.sock')}"
        done = processes.run([self.program, "--listen", where], env={"BALANCE_CONFIG": faulty}, seconds=5)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{faulty}:1:", done.stderr)
        self.assertIn(f"{faulty}:2:", done.stderr)
        self.assertFalse(os.path.exists(self.scene.path("start.sock")))

    def test_says_at_its_start_what_it_serves_and_where(self):
        process, where = self.serve()
        said = (
            f"balance: info: serving listen={where} config={self.configuration} hosts=3 mode=auto relays=no "
            "max-connections=512"
        )
        process.wait_for(lambda: said in process.said(1000), 2, said)

    def test_what_balance_became_speaks_as_balance(self):
        folder = self.scene.path("both")
        os.makedirs(folder)
        for name in ("balance", "balance-relay", "poolwatch"):
            shutil.copy(fleet.program(name), folder)
        os.symlink(os.path.join(folder, "balance"), os.path.join(folder, "mapserv"))
        for name, speaks_as in (("balance", "balance"), ("mapserv", "balance"), ("balance-relay", "balance-relay")):
            where = f"unix:{self.scene.path(f'{name}.sock')}"
            process = self.scene.start(
                name, [os.path.join(folder, name), "--listen", where], env={"BALANCE_CONFIG": self.configuration}
            )
            self.addCleanup(process.stop)
            process.wait_for(lambda p=process: " serving " in p.said(1000), 5, "its first line")
            self.assertIn(f"listen={where} config={self.configuration} hosts=3 mode=auto relays=yes ", process.said(1000))
            self.assertTrue(all(line.startswith(f"{speaks_as}: ") for line in process.said(1000).splitlines()))
            again = processes.run([os.path.join(folder, name), "--listen", where], env={"BALANCE_CONFIG": self.configuration})
            self.assertRegex(again.stderr, rf"\A{speaks_as}: somebody listens on ")

    def test_a_changed_configuration_is_taken_and_a_faulty_one_is_not(self):
        state = self.scene.path("state-of-changing")
        configuration = self.configure("changing.conf", state=state)
        process, where = self.serve(configuration=configuration)
        with fastcgi.Connection(where) as connection:
            self.assertIn("X-Balance-Host", fastcgi.head(connection.ask()))
            self.configure("changing.conf", "host-header = no\n", state=state)
            processes.wait_until(
                lambda: "X-Balance-Host" not in fastcgi.head(connection.ask()), 4, "the new configuration"
            )
            self.scene.write("changing.conf", "moed = relay\n")
            processes.wait_until(
                lambda: connection.ask() and "the old one stays" in process.said(), 4, "a word about the faulty one"
            )
            self.assert_redirected(connection.ask())
            for fault in ("unknown key 'moed'", "found no host"):  # a line each, and once
                self.assertEqual(process.said(1000).count(fault), 1)
            self.assertIn(f"{configuration}:1:", process.said())

    def test_sighup_reads_the_configuration_now(self):
        configuration = self.configure("hup.conf", state=self.scene.path("state-of-hup"))
        process, where = self.serve(configuration=configuration)
        self.scene.write("hup.conf", "moed = relay\n")
        os.kill(process.pid, signal.SIGHUP)
        processes.wait_until(lambda: "the old one stays" in process.said(), 0.9, "a word about the faulty one")
        with fastcgi.Connection(where) as connection:
            self.assert_redirected(connection.ask())

    def test_one_that_a_web_server_starts_meanwhile_goes_by_the_one_in_use(self):
        state = self.scene.path("state-of-respawning")
        configuration = self.configure("respawned.conf", state=state)
        self.serve(configuration=configuration)  # and with it poolwatch
        processes.wait_until(lambda: os.path.exists(os.path.join(state, "respawned.conf.used")), 8, "the copy")
        self.configure("respawned.conf", "moed = relay\n", state=state)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            where = f"127.0.0.1:{listener.getsockname()[1]}"
            process = self.scene.start(
                "respawned", [self.program], env={"BALANCE_CONFIG": configuration}, stdin=listener
            )
            self.addCleanup(process.stop)
        with fastcgi.Connection(where) as connection:
            self.assert_redirected(connection.ask())
            self.assertIn(f"{configuration}:2: unknown key 'moed'", process.said(1000))
            self.configure("respawned.conf", "host-header = no\n", state=state)
            processes.wait_until(
                lambda: "X-Balance-Host" not in fastcgi.head(connection.ask()), 6, "the new configuration"
            )
        done = processes.run(  # by hand it says what is wrong, and ends
            [self.program, "--listen", f"unix:{self.scene.path('respawned.sock')}"],
            env={"BALANCE_CONFIG": self.configure("respawned.conf", "moed = relay\n", state=state)},
        )
        self.assertEqual(done.returncode, 2)

    def test_more_than_a_thousand_descriptors(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        wanted = 1100
        if hard < 2 * wanted + 200:
            self.skipTest(f"at most {hard} descriptors here")
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        _, where = self.serve(
            configuration=self.configure("thousand.conf", "max-connections = 1500\n"), shell="ulimit -Sn 256"
        )
        with contextlib.ExitStack() as stack:
            connections = [stack.enter_context(fastcgi.Connection(where)) for _ in range(wanted)]
            for connection in connections:
                self.assert_redirected(connection.ask())
            self.assert_redirected(connections[0].ask())
            self.assert_redirected(connections[-1].ask(keep=False))

    def test_serves_on_descriptor_0(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            where = f"127.0.0.1:{listener.getsockname()[1]}"
            process = self.scene.start(
                "descriptor",
                [self.program, "--help"],  # means nothing to a FastCGI program
                env={"BALANCE_CONFIG": self.configuration},
                stdin=listener,
            )
            with fastcgi.Connection(where) as connection:
                self.assert_redirected(connection.ask())
            self.assertEqual(process.stop(), 0)
            self.assertTrue(can_connect(where))  # the socket is not ours to close


if __name__ == "__main__":
    unittest.main()
