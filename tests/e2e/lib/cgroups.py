# SPDX-License-Identifier: MIT
"""A share of the CPU for each host, by control groups: version 1 (cpu and cpuacct) or version 2, whichever is there.

Needs root. Where no share can be had, shares() says why and the caller goes on without.
"""

import contextlib
import ctypes
import os
import time

ROOT = "/sys/fs/cgroup"
CLONE_NEWNS = 0x20000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
# Short, so that a host out of quota stands still for a short time only.
PERIOD_US = 50_000
# A host's share is its own: with a hundred times the usual weight it gets it whatever else runs on this machine.
WEIGHT_V1, WEIGHT_V2 = 102_400, 10_000


class Unavailable(Exception):
    """Why no CPU share can be had here."""


class Group:
    """One host's group."""

    def __init__(self, folders, path, cores):
        self.path = path  # below the mount, as in /proc/PID/cgroup
        self.cores = cores
        self.folders = folders

    def entered_by(self, command):
        """The command line that joins the group and becomes `command`."""
        join = "; ".join(f'echo $$ > "{folder}/cgroup.procs"' for folder in self.folders)
        return ["/bin/sh", "-ec", f'{join}; exec "$@"', "sh", *command]

    def cpu_seconds(self):
        """CPU used by the group since it was made."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                return int(read(f"{folder}/cpuacct.usage")) / 1e9
        values = dict(line.split() for line in read(f"{self.folders[0]}/cpu.stat").splitlines())
        return int(values["usage_usec"]) / 1e6


class Shares:
    """A parent group of our own below the root of each hierarchy; remove() takes it away with all groups in it."""

    def __init__(self, mounts, version):
        self._mounts = mounts
        self._version = version
        self._name = f"mapbalance-{os.getpid()}"
        self._made = []
        self._homes = []
        folders = [os.path.join(mount, self._name) for mount in mounts]
        for folder in folders:
            self._make(folder)
        self._weigh(folders[0])
        if version == 2:
            write(os.path.join(folders[0], "cgroup.subtree_control"), "+cpu")

    def _weigh(self, folder):
        if self._version == 2:
            write(os.path.join(folder, "cpu.weight"), WEIGHT_V2)
        else:
            write(os.path.join(folder, "cpu.shares"), WEIGHT_V1)

    def _make(self, folder):
        os.mkdir(folder)
        self._made.append(folder)

    def group(self, name, cores=None):
        """A new group with so many cores, or with as many as are free."""
        folders = [os.path.join(mount, self._name, name) for mount in self._mounts]
        for folder in folders:
            self._make(folder)
        self._weigh(folders[0])
        if cores is not None:
            quota = round(cores * PERIOD_US)
            if self._version == 2:
                write(os.path.join(folders[0], "cpu.max"), f"{quota} {PERIOD_US}")
            else:
                write(os.path.join(folders[0], "cpu.cfs_period_us"), PERIOD_US)
                write(os.path.join(folders[0], "cpu.cfs_quota_us"), quota)
        return Group(folders, f"/{self._name}/{name}", cores)

    def enter(self, name):
        """Puts this process, and what it starts from now on, into a new group without a bound; remove() takes this
        process back to where it was."""
        homes = [os.path.join(mount, own_path(mount, self._version)) for mount in self._mounts]
        group = self.group(name)
        self._homes = homes
        for folder in group.folders:
            write(os.path.join(folder, "cgroup.procs"), os.getpid())

    def remove(self):
        """Removes the groups, the deepest first; a group whose last process is just leaving is tried for 2 s."""
        for home in self._homes:
            write(os.path.join(home, "cgroup.procs"), os.getpid())
        self._homes = []
        for folder in reversed(self._made):
            end = time.monotonic() + 2
            while True:
                try:
                    os.rmdir(folder)
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.02)
        self._made = []


def own_path(mount, version):
    """Where this process is below a hierarchy's mount, without a slash in front."""
    for line in read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        wanted = os.path.basename(mount) in controllers.split(",") if version == 1 else not controllers
        if wanted:
            return path.lstrip("/")
    return ""


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def write(path, value):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(value))


def shares():
    """Shares of whatever is mounted here. A folder that only has /sys bound (a chroot) sees no hierarchy: there the
    version 1 hierarchies are mounted in a mount namespace of our own, which ends with us. Unavailable says why not."""
    if os.geteuid() != 0:
        raise Unavailable("only root can set CPU shares")
    found = mounted()
    if not found:
        mount_privately()
        found = mounted()
    if not found:
        raise Unavailable("no control group hierarchy with the cpu controller")
    mounts, version = found
    try:
        return Shares(mounts, version)
    except OSError as error:
        raise Unavailable(f"control groups cannot be made: {error}") from None


def mounted():
    """([folder of cpu, of cpuacct], 1), ([folder], 2), or nothing."""
    by_controller = {}
    unified = None
    with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            front, _, back = line.partition(" - ")
            folder, (kind, _, options) = front.split()[4], back.split()[:3]
            if not os.path.isdir(folder):
                continue
            if kind == "cgroup":
                for option in options.split(","):
                    by_controller.setdefault(option, folder)
            elif kind == "cgroup2":
                with contextlib.suppress(OSError):
                    if "cpu" in read(f"{folder}/cgroup.subtree_control").split():
                        unified = folder
    if "cpu" in by_controller and "cpuacct" in by_controller:
        folders = [by_controller["cpu"], by_controller["cpuacct"]]
        return sorted(set(folders), key=folders.index), 1
    return ([unified], 2) if unified else None


def mount_privately():
    """Mounts cpu and cpuacct below ROOT for this process and its children alone. Leaves all as it was on a failure."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not os.path.isdir(ROOT) or libc.unshare(CLONE_NEWNS) != 0:
        return
    if libc.mount(b"none", b"/sys", None, MS_REC | MS_PRIVATE, None) != 0:
        return  # /sys is no mount point of its own here: ours would be seen by others
    if libc.mount(b"tmpfs", ROOT.encode(), b"tmpfs", 0, b"mode=755") != 0:
        return
    for controller in ("cpu", "cpuacct"):
        folder = f"{ROOT}/{controller}"
        os.mkdir(folder)
        libc.mount(b"cgroup", folder.encode(), b"cgroup", 0, controller.encode())
