# SPDX-License-Identifier: MIT
"""A scene: a folder, the processes started in it, and the promise that nothing of it is left.

Every process is ours by descent: the scene makes this process adopt orphans (a daemon that its parent detached comes
to us, not to init), so close() finds all of them by their parents and ends them by pid. A process that we start
directly also dies when we die (setpriv --pdeathsig), should we be killed without a chance to clean up.
Start processes from the main thread: the death signal is tied to the thread that forked.
"""

import contextlib
import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
# Below the kernel's range for outgoing connections, so that none of those takes a port that a server will come back to.
PORTS = range(20000, 32000)


class Failed(Exception):
    """What was tried, what was found, what was wanted."""


def wait_until(condition, seconds, what):
    """Returns the condition's first true value; Failed after so many seconds without one."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failed(f"waited {seconds:g} s for {what}")
        time.sleep(0.02)


def answers(address, port, seconds=0.5):
    """Whether a TCP port accepts connections."""
    with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=seconds):
        return True
    return False


def free_port(*addresses):
    """A port that is free on each of these addresses of this machine."""
    for port in random.sample(PORTS, 200):
        sockets = []
        try:
            for address in addresses or ("127.0.0.1",):
                family = socket.AF_INET6 if ":" in address else socket.AF_INET
                sockets.append(socket.socket(family, socket.SOCK_STREAM))
                sockets[-1].bind((address, port))
            return port
        except OSError:
            continue
        finally:
            for s in sockets:
                s.close()
    raise Failed(f"no port is free on {', '.join(addresses)}")


def parents():
    """{pid: its parent's} of all processes. One pass over /proc: with hundreds of processes a pass for each takes seconds."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{name}/stat", "rb") as stat:
            # The name of the program stands in parentheses and may hold anything, so the fields count from the last.
            found[int(name)] = int(stat.read().rpartition(b")")[2].split()[1])
    return found


def children(pid):
    return [child for child, parent in parents().items() if parent == pid]


def descendants(pid):
    children = {}
    for child, parent in parents().items():
        children.setdefault(parent, []).append(child)
    found, unseen = [], list(children.get(pid, ()))
    while unseen:
        child = unseen.pop()
        found.append(child)
        unseen += children.get(child, ())
    return found


def run(command, *, seconds=10, **how):
    """Runs a program to its end; its status and what it said, as text."""
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds, check=False, **how
    )


class Process:
    """A program in a process group of its own; its output goes to a file of the scene."""

    def __init__(self, name, command, log, *, env=None, cgroup=None, stdin=subprocess.DEVNULL, cwd=None):
        self.name = name
        self.log = log
        line = ["setpriv", "--pdeathsig", "KILL", "--", *command]
        if cgroup is not None:
            line = cgroup.entered_by(line)
        with open(log, "ab") as output:
            self.popen = subprocess.Popen(
                line,
                stdin=stdin,
                stdout=output,
                stderr=subprocess.STDOUT,
                # Web servers are in sbin, which is on no ordinary user's PATH.
                env={**os.environ, "PATH": os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin", **(env or {})},
                cwd=cwd,
                start_new_session=True,
            )

    @property
    def pid(self):
        return self.popen.pid

    def alive(self):
        return self.popen.poll() is None

    def signal(self, number):
        """Sends a signal to the whole group; nothing happens where none of it is left."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait_for_death()

    def wait_for_death(self):
        """After SIGKILL: until no process of the group is left. The leader's children are ours once it has gone; a
        web server's worker that still lived would hold the listening socket of the next one."""
        self.popen.wait()
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-self.pid, 0)

    def stop(self, seconds=3.0):
        """Asks it to end, then kills what is left of the group. Returns its exit status."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(seconds)
        self.kill()
        return self.popen.returncode

    def said(self, lines=20):
        """The end of what it wrote."""
        with open(self.log, "rb") as log:
            return b"\n".join(log.read().splitlines()[-lines:]).decode("utf-8", "replace")

    def wait_for(self, condition, seconds, what):
        """As wait_until, but a process that ends meanwhile is the failure, with what it said."""

        def there():
            if not self.alive():
                raise Failed(f"{self.name} ended with status {self.popen.returncode}, wanted {what}:\n{self.said()}")
            return condition()

        try:
            return wait_until(there, seconds, what)
        except Failed as failed:
            raise Failed(f"{failed}; {self.name} said:\n{self.said()}") from None


class Scene:
    """Use as a context manager. SIGTERM becomes an exception, so that `with` cleans up."""

    def __init__(self, name):
        self._undo = contextlib.ExitStack()
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # The path of a UNIX socket may have 107 bytes.
        base = tempfile.gettempdir() if len(tempfile.gettempdir()) < 40 else "/tmp"
        self.folder = tempfile.mkdtemp(prefix=f"mapbalance-{name}-", dir=base)
        os.chmod(self.folder, 0o755)
        self._before = set(descendants(os.getpid()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def write(self, path, text):
        """Writes a file of the scene and returns its path."""
        path = self.path(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def at_end(self, function, *arguments):
        """Called by close(), the last one first, after all processes have gone."""
        self._undo.callback(function, *arguments)

    def start(self, name, command, **how):
        """Starts a Process that lives at most as long as the scene."""
        log = self.path(f"{name}.log")
        os.makedirs(os.path.dirname(log), exist_ok=True)
        return Process(name, command, log, **how)

    def part(self, name):
        """A folder of the scene that can be used like one; what starts there lives as long as the scene."""
        return Part(self, name)

    def close(self):
        # A second interruption must not stop the cleaning.
        before = {s: signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            self._end_processes()
            self._undo.close()
            shutil.rmtree(self.folder, ignore_errors=True)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end_processes(self):
        """Ends all descendants that came with the scene. Bounded: a process that outlives SIGKILL for 5 s is named."""
        end = time.monotonic() + 5
        while True:
            left = [pid for pid in descendants(os.getpid()) if pid not in self._before]
            if not left:
                return
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in left:
                with contextlib.suppress(ChildProcessError):  # not a child of ours yet, or reaped by its Popen
                    os.waitpid(pid, os.WNOHANG)
            if time.monotonic() > end:
                raise Failed(f"processes {left} are still there after SIGKILL")
            time.sleep(0.01)


class Part(Scene):
    """Of a scene, which closes it."""

    def __init__(self, scene, name):
        self.folder = scene.path(name)
        self.at_end = scene.at_end
        os.makedirs(self.folder)

    def close(self):
        raise Failed(f"{self.folder} is closed by its scene")


def exit_on_sigterm():
    """Makes SIGTERM and SIGHUP end this program by an exception, as SIGINT does. Call in the main thread.

    SIGINT is set too: what a shell starts with '&' inherits that it is ignored.
    """

    def leave(number, _frame):
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGHUP, leave)
    signal.signal(signal.SIGINT, signal.default_int_handler)
