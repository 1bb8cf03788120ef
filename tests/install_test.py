#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What an installation promises: make install, uninstall and dist; the systemd units, run by hand under the users that they
name; the same bits from another folder. Run by `make test-install`, as root, after `make all`; BUILD names the build folder.
The last line is 'N passed, N failed'."""

import glob
import os
import pwd
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), ".."))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
from lib import fastcgi, processes  # noqa: E402

CHANGED = "# changed by hand\nhost = pinchot http://pinchot.example.org\n"
# Users of nobody: poolwatch's, the web server's, and one who is neither. They need no entry anywhere.
WATCHER, WEB, OUTSIDER, GROUP = 64101, 64102, 64103, 64110


def run(*command, **how):
    how.setdefault("check", True)
    return subprocess.run(command, capture_output=True, text=True, timeout=how.pop("timeout", 300), **how)


def make(*arguments, cwd=ROOT):
    return run("make", *arguments, cwd=cwd)


def files_in(folder):
    return sorted(
        os.path.relpath(os.path.join(where, name), folder)
        for where, folders, names in os.walk(folder)
        for name in names + [f for f in folders if os.path.islink(os.path.join(where, f))]
    )


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="mapbalance-install-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)


class Install(Folder):
    def install(self, *more):
        make("-o", "all", "install", f"DESTDIR={self.folder}", f"BUILD={BUILD}", *more)

    def uninstall(self, *more):
        make("uninstall", f"DESTDIR={self.folder}", *more)

    def test_everything_has_its_place(self):
        self.install()
        found = files_in(self.path("usr/local"))
        for wanted in (
            "libexec/balance",
            "libexec/balance-relay",
            "libexec/poolwatch",
            "sbin/loadprobe",
            "bin/balancectl",
            "lib/cgi-bin/balance",
            "etc/balance/balance.conf",
            "etc/balance/loadprobe.conf",
            "lib/systemd/system/poolwatch.service",
            "lib/systemd/system/balance.socket",
            "lib/sysusers.d/mapbalance.conf",
            "lib/tmpfiles.d/mapbalance.conf",
            "share/man/man5/balance.conf.5",
            "share/man/man8/loadprobe.8",
            "share/bash-completion/completions/balancectl",
        ):
            self.assertIn(wanted, found)
        for page in glob.glob(os.path.join(ROOT, "man", "*")):
            self.assertTrue(any(name.endswith("/" + os.path.basename(page)) for name in found), page)
        self.assertEqual(os.readlink(self.path("usr/local/lib/cgi-bin/balance")), "/usr/local/libexec/balance")

    def test_a_configuration_is_never_overwritten(self):
        self.install()
        for name in ("balance.conf", "loadprobe.conf"):
            write(self.path("usr/local/etc/balance", name), CHANGED)
        self.install()
        for name in ("balance.conf", "loadprobe.conf"):
            self.assertEqual(read(self.path("usr/local/etc/balance", name)), CHANGED)
        self.uninstall()
        self.assertEqual(
            files_in(self.folder), ["usr/local/etc/balance/balance.conf", "usr/local/etc/balance/loadprobe.conf"]
        )

    def test_uninstall_leaves_nothing(self):
        places = ["prefix=/opt/maps", "sysconfdir=/opt/etc", "unitdir=/lib/systemd/system"]
        self.install(*places)
        self.assertIn("opt/maps/libexec/balance", files_in(self.folder))
        self.uninstall(*places)
        self.assertEqual(files_in(self.folder), [])

    def test_another_prefix_is_named_in_all_files(self):
        self.install("prefix=/opt/maps", "sysconfdir=/opt/etc")
        for name in files_in(self.folder):
            path = self.path(name)
            if name.startswith(("opt/maps/libexec", "opt/maps/sbin", "opt/maps/bin", "opt/maps/share/doc")):
                if not name.endswith(".conf"):
                    continue
            if not os.path.islink(path):
                self.assertNotIn("/usr/local/libexec", read(path), name)
                self.assertNotIn("/usr/local/lib/cgi-bin", read(path), name)
                self.assertNotIn("/usr/local/sbin", read(path), name)


class Dist(Folder):
    def test_the_archive_is_what_is_committed(self):
        if not os.path.isdir(os.path.join(ROOT, ".git")):
            self.skipTest("no git here")
        make("dist", f"BUILD={self.folder}")
        with tarfile.open(glob.glob(self.path("mapbalance-*.tar.gz"))[0]) as archive:
            names = [member.name.partition("/")[2] for member in archive.getmembers() if not member.isdir()]
            archive.extractall(self.path("x"))
        committed = run("git", "ls-tree", "-r", "--name-only", "HEAD", cwd=ROOT).stdout.split("\n")
        self.assertEqual(sorted(names), sorted(filter(None, committed)))
        source = glob.glob(self.path("x", "*"))[0]
        make("-n", "all", cwd=source)
        # Without git it packs itself again, to the same files.
        make("dist", cwd=source)
        with tarfile.open(glob.glob(os.path.join(source, "build", "*.tar.gz"))[0]) as archive:
            again = [member.name.partition("/")[2] for member in archive.getmembers() if not member.isdir()]
        self.assertEqual(sorted(again), sorted(names))

    def test_the_same_bits_from_another_folder(self):
        # The whole of it is `make check-reproducible`.
        parts = ["lib/loadprobe-base.a", "lib/balance-pool.a"]
        sources = ("Makefile", "balance", "loadprobe", "templates")
        bits = []
        for name in ("a", "another/folder"):
            folder = self.path(name)
            os.makedirs(folder)
            for source in sources:
                run("cp", "-r", os.path.join(ROOT, source), folder)
            make("-j2", *[f"build/{part}" for part in parts], cwd=folder)
            bits.append([run("sha256sum", os.path.join("build", part), cwd=folder).stdout for part in parts])
        self.assertEqual(bits[0], bits[1])

    def test_a_packagers_flags_are_honoured(self):
        shown = make(
            "-n", "-B", "V=1", "BUILD=none", "CXXFLAGS=-Og -DCXXFLAG", "CPPFLAGS=-DCPPFLAG", "LDFLAGS=-Wl,-z,now", "all"
        ).stdout
        compiling = [line for line in shown.split("\n") if " -c -o " in line]
        linking = [line for line in shown.split("\n") if " -o none/bin/" in line]
        self.assertTrue(compiling and len(linking) == 5, shown[-2000:])
        for line in compiling:
            self.assertIn("-Og -DCXXFLAG", line)
            self.assertIn("-DCPPFLAG", line)
        for line in linking:
            self.assertIn("-Wl,-z,now", line)
            self.assertIn("-Og -DCXXFLAG", line)


class Units(Folder):
    """With a real prefix below the folder, as systemd wants to see the programs."""

    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        prefix = self.path("p")
        # The prefix is in the programs too, but these get their configuration named: what is built serves, whatever its
        # flags were.
        self.units = self.path("p/lib/systemd/system")
        make("install", f"prefix={prefix}", f"BUILD={BUILD}", "-o", "all")
        self.state = self.path("state")
        os.mkdir(self.state)
        os.chown(self.state, WATCHER, GROUP)
        os.chmod(self.state, 0o2770)  # as tmpfiles.d says
        self.conf = self.path("balance.conf")
        host = socket.create_server(("127.0.0.1", 0), backlog=64)  # a web port that takes connections is up
        self.addCleanup(host.close)
        write(self.conf, f"host = a http://pinchot.example.org inside=http://127.0.0.1:{host.getsockname()[1]} probe=none\n"
                         f"state-dir = {self.state}\n")  # fmt: skip
        self.environment = {"BALANCE_CONFIG": self.conf, "PATH": os.environ["PATH"]}

    def exec_start(self, unit):
        """The unit's own command line."""
        lines = [line for line in read(os.path.join(self.units, unit)).split("\n") if line.startswith("ExecStart=")]
        self.assertEqual(len(lines), 1)
        return shlex.split(lines[0].partition("=")[2])

    def as_user(self, user, *command, groups=()):
        extra = ["--groups", ",".join(map(str, groups))] if groups else ["--clear-groups"]
        return ["setpriv", "--reuid", str(user), "--regid", str(user), *extra, "--no-new-privs", "--", *command]

    def start(self, *command):
        process = subprocess.Popen(command, env=self.environment, stderr=open(self.path("log"), "a"))  # noqa: SIM115
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def start_poolwatch(self):
        self.start(*self.as_user(WATCHER, *self.exec_start("poolwatch.service"), groups=[GROUP]))
        processes.wait_until(lambda: os.path.exists(f"{self.state}/balance.conf.table"), 10, read(self.path("log")))

    def status(self, user, groups=()):
        command = [self.path("p/bin/balancectl"), "status"]
        return run(*self.as_user(user, *command, groups=groups), env=self.environment, check=False).stdout

    def alive(self):
        status = self.status(WATCHER, groups=[GROUP])
        return status if "alive" in status else None

    def test_verify_has_nothing_to_say(self):
        units = sorted(glob.glob(os.path.join(self.units, "*")))
        self.assertEqual([os.path.basename(unit) for unit in units],
                         ["balance.service", "balance.socket", "loadprobe.service", "poolwatch.service"])  # fmt: skip
        outcome = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *units, check=False)
        self.assertEqual((outcome.returncode, outcome.stdout, outcome.stderr), (0, "", ""))

    def test_exposure_is_at_most_1_5(self):
        for unit in glob.glob(os.path.join(self.units, "*.service")):
            outcome = run(
                "systemd-analyze", "security", "--offline=true", "--threshold=15", "--no-pager", unit, check=False
            )
            self.assertEqual(outcome.returncode, 0, outcome.stdout[-300:])

    def test_users_and_folders_are_made(self):
        root = self.path("root")
        os.makedirs(os.path.join(root, "etc"))
        os.makedirs(os.path.join(root, "run"))
        write(os.path.join(root, "etc/passwd"), "root:x:0:0::/root:/bin/sh\nwww-data:x:33:33::/:/bin/sh\n")
        write(os.path.join(root, "etc/group"), "root:x:0:\nwww-data:x:33:\n")
        run("systemd-sysusers", f"--root={root}", self.path("p/lib/sysusers.d/mapbalance.conf"))
        self.assertIn("mapbalance:x:", read(os.path.join(root, "etc/passwd")))
        line = next(line for line in read(os.path.join(root, "etc/group")).split("\n") if line.startswith("mapbalance"))
        self.assertTrue(line.endswith(":www-data"), line)
        run("systemd-tmpfiles", f"--root={root}", "--create", self.path("p/lib/tmpfiles.d/mapbalance.conf"))
        made = os.stat(os.path.join(root, "run/balance"))
        self.assertEqual(oct(made.st_mode & 0o7777), oct(0o2770))
        self.assertNotEqual(made.st_uid, 0)
        self.assertNotIn(made.st_uid, [user.pw_uid for user in pwd.getpwall() if user.pw_name == "www-data"])

    def test_poolwatch_and_the_web_server_share_the_table(self):
        self.start_poolwatch()
        table = os.stat(f"{self.state}/balance.conf.table")
        self.assertEqual((table.st_uid, table.st_gid, oct(table.st_mode & 0o777)), (WATCHER, GROUP, oct(0o660)))
        cgi = {k.decode(): v.decode() for k, v in fastcgi.variables().items()} | self.environment
        for _ in range(3):
            answer = run(*self.as_user(WEB, self.path("p/lib/cgi-bin/balance"), groups=[GROUP]), env=cgi)
            self.assertIn("Location: http://pinchot.example.org/cgi-bin/mapserv?mode=map&map=WORLD", answer.stdout)
            self.assertEqual(answer.stderr, "")
        status = processes.wait_until(lambda: self.alive(), 10, "poolwatch's sign of life")
        self.assertRegex(status, r"a +usable +serving .* 3 +100\.0%")

    def test_who_is_not_of_the_group_sees_nothing_and_is_told_so(self):
        self.start_poolwatch()
        status = self.status(OUTSIDER)
        self.assertIn("Permission denied", status)
        self.assertNotIn("NOT RUNNING", status)
        self.assertIn("ask as root, or as a member of its group", status)

    def test_one_that_the_web_server_started_gives_way_to_the_service(self):
        cgi = {k.decode(): v.decode() for k, v in fastcgi.variables().items()} | self.environment
        run(*self.as_user(WEB, self.path("p/lib/cgi-bin/balance"), groups=[GROUP]), env=cgi)
        log = f"{self.state}/balance.conf.log"
        processes.wait_until(lambda: os.path.exists(log) and "watching" in read(log), 10, "poolwatch's own log")
        lease = os.stat(f"{self.state}/balance.conf.lease")
        self.assertEqual((lease.st_uid, lease.st_gid), (WEB, GROUP))
        self.start_poolwatch()
        processes.wait_until(lambda: "a permanent poolwatch waits" in read(log), 10, "the word of who gives way")
        processes.wait_until(lambda: "watching" in read(self.path("log")), 10, "the service's watch")
        self.assertEqual(os.stat(f"{self.state}/balance.conf.table").st_gid, GROUP)
        run(*self.as_user(WEB, self.path("p/lib/cgi-bin/balance"), groups=[GROUP]), env=cgi)
        processes.wait_until(lambda: self.alive(), 10, "the service's sign of life")

    def test_the_socket_serves_on_descriptor_0(self):
        self.start_poolwatch()
        front = self.path("front.sock")
        command = self.as_user(WEB, *self.exec_start("balance.service"), groups=[GROUP])
        wrapper = self.path("start")  # systemd-socket-activate passes no environment but its own
        write(wrapper, f"#!/bin/sh\nexport BALANCE_CONFIG={shlex.quote(self.conf)}\nexec {shlex.join(command)}\n")
        os.chmod(wrapper, 0o755)
        self.start("systemd-socket-activate", "--inetd", "-l", front, wrapper)
        processes.wait_until(lambda: os.path.exists(front), 10, "the socket")
        with fastcgi.Connection(f"unix:{front}") as connection:
            answer = connection.ask()
        self.assertIn(b"Location: http://pinchot.example.org/cgi-bin/mapserv?mode=map&map=WORLD", answer)

    def test_a_configuration_of_the_same_name_elsewhere_is_named(self):
        self.start_poolwatch()
        other = self.path("other")
        os.mkdir(other)
        write(f"{other}/balance.conf", read(self.conf) + "host = b http://maps2.example.org probe=none\n")
        command = [self.path("p/libexec/poolwatch"), "--config", f"{other}/balance.conf"]
        second = run(*command, check=False, timeout=20)
        self.assertEqual(second.returncode, 2, second.stderr)
        self.assertIn(f"is held for {self.conf}", second.stderr)
        check = run(self.path("p/bin/balancectl"), "--config", f"{other}/balance.conf", "check", check=False)
        self.assertIn("has the same base name; wanted another state-dir", check.stderr)
        self.environment["BALANCE_CONFIG"] = f"{other}/balance.conf"
        self.assertIn("NOT RUNNING for this configuration", self.status(WATCHER, groups=[GROUP]))


class Import(Folder):
    def test_an_old_script_becomes_a_configuration_that_check_likes(self):
        control = os.path.join(BUILD, "bin", "balancectl")
        script = self.path("balance.pl")
        write(script, "#!/usr/bin/perl\n@pool = qw(pinchot leopold);\n$domain = 'example.org';\n$port = 8080;\n"
                      "system('touch', '" + self.path("ran") + "');\n")  # fmt: skip
        made = run(control, "import", script)
        self.assertEqual(made.stderr, "")
        self.assertIn("host = leopold http://leopold.example.org:8080\n", made.stdout)
        write(self.path("balance.conf"), made.stdout)
        self.assertIn("fine, 2 hosts", run(control, "--config", self.path("balance.conf"), "check").stdout)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_what_is_not_sure_is_said_with_its_line(self):
        control = os.path.join(BUILD, "bin", "balancectl")
        write(self.path("b.pl"), "@pool = qw(pinchot leopold);\n$port = $ENV{'P'} . 'x';\n@hosts = `cat /etc/pool`;\n")
        made = run(control, "import", self.path("b.pl"), check=False)
        self.assertEqual(made.returncode, 1)
        self.assertIn("b.pl:3: @hosts is made while the script runs", made.stderr)
        self.assertEqual(run(control, "import", self.path("none"), check=False).returncode, 1)
        self.assertEqual(run(control, "import", check=False).returncode, 2)


def main():
    if os.geteuid() != 0:
        print("needs root: it runs programs as other users")
        return 2
    began = time.monotonic()
    tests = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    outcome = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(tests)
    failed = len(outcome.failures) + len(outcome.errors)
    skipped = len(outcome.skipped)
    print(f"in {time.monotonic() - began:.0f} s")
    print(f"{outcome.testsRun - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return int(failed > 0 or outcome.testsRun == 0)


if __name__ == "__main__":
    sys.exit(main())
