# SPDX-License-Identifier: MIT
"""A network and a view of the files of our own, for this process and what it starts from then on: there packets can be
dropped, names left unresolved and disks filled without anybody else noticing. Needs root."""

import ctypes
import os
import subprocess

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 0x4000, 0x40000


class Unavailable(Exception):
    """Why there is none."""


def _check(result, attempt):
    if result != 0:
        raise Unavailable(f"{attempt}: {os.strerror(ctypes.get_errno())}")


def enter():
    """Leaves the machine's network for an empty one with a loopback, and keeps mounts from here on to itself."""
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.unshare(CLONE_NEWNS | CLONE_NEWNET), "no namespaces of our own")
    _check(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mounts cannot be kept apart")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def mount_file(ours, place):
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.mount(ours.encode(), os.path.realpath(place).encode(), None, MS_BIND, None), f"cannot mount {place}")


def mount_memory(folder, size):
    """A file system of so many bytes."""
    os.makedirs(folder, exist_ok=True)
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, f"size={size},mode=755".encode()), f"cannot mount {folder}")


def make_read_only(folder):
    libc = ctypes.CDLL(None, use_errno=True)
    _check(libc.mount(None, folder.encode(), None, MS_REMOUNT | MS_RDONLY, None), f"cannot remount {folder}")


def unmount(folder):
    ctypes.CDLL(None, use_errno=True).umount2(folder.encode(), 2)


def silence(address):
    """Every packet to this address vanishes from now on."""
    rules = (
        "add table inet faults; add chain inet faults in { type filter hook input priority 0; }; "
        f"add rule inet faults in ip daddr {address} drop"
    )
    subprocess.run(["nft", rules], check=True)


def end_silence():
    subprocess.run(["nft", "delete table inet faults"], check=True)
