# SPDX-License-Identifier: MIT
"""The files of etc/ as a set-up uses them: what they call 'yours to change' is changed, and nothing else. The commands
that a comment gives ('#     $ ...') are the ones that are run."""

import os
import shlex

from lib import processes, world

ETC = os.path.join(world.ROOT, "etc")
AS_ROOT = os.geteuid() == 0
AS_WEB_SERVER = ["setpriv", "--reuid=www-data", "--regid=www-data", "--init-groups", "--"] if AS_ROOT else []


def give_to_web_server(path):
    if AS_ROOT:
        os.chown(path, 33, 33)


class Places:
    """Where one set-up has what the files name: its folder in the scene, its address and port."""

    def __init__(self, scene, name, address, port, others):
        self.scene, self.name, self.address, self.port = scene, name, address, port
        self.folder, self.run = scene.path(name), scene.path(name, "run")
        for folder in (self.run, f"{self.run}/balance", f"{self.run}/lighttpd"):
            os.makedirs(folder)
            give_to_web_server(folder)
        self.changes = {
            "/run/balance/": f"{self.run}/balance/",
            "/run/lighttpd/": f"{self.run}/lighttpd/",
            "/run/fcgiwrap.socket": f"{self.run}/fcgiwrap.socket",
            "/run/mapserv.sock": f"{self.run}/mapserv.sock",
            "listen 80;": f"listen {address}:{port};",
            **others,
        }

    def changed(self, text):
        for theirs, ours in self.changes.items():
            text = text.replace(theirs, ours)
        return text

    def file(self, name):
        """A file of etc/, changed, in the scene: its path."""
        with open(os.path.join(ETC, name), encoding="utf-8") as file:
            return self.scene.write(f"{self.name}/etc/{name}", self.changed(file.read()))

    def said(self, name, mark):
        """What the comment of a file says behind `mark`, to the end of its sentence."""
        with open(os.path.join(ETC, name), encoding="utf-8") as file:
            comment = " ".join(line.lstrip("# ").rstrip() for line in file if line.startswith("#"))
        return comment.partition(mark)[2].partition(".")[0]

    def commands(self, name):
        """The commands that a file gives, but for those that make folders."""
        with open(os.path.join(ETC, name), encoding="utf-8") as file:
            lines = [line.partition("$ ")[2] for line in file if line.startswith("#     $ ")]
        commands = [shlex.split(self.changed(line)) for line in lines if not line.startswith("install ")]
        if not AS_ROOT:
            commands = [without_users(command) for command in commands]
        return commands

    def start_commands(self, name):
        """Runs them, as the web server's user unless they change user themselves, until their sockets are there."""
        for number, command in enumerate(self.commands(name)):
            user = [] if "-u" in command else AS_WEB_SERVER
            started = self.scene.start(f"{self.name}/command-{number}", [*user, *command])
            path = next(word.removeprefix("unix:") for word in command if word.removeprefix("unix:").startswith(self.run))
            processes.wait_until(lambda path=path: os.path.exists(path), 5, f"{path}; it said: {started.said()}")


def without_users(command):
    kept, skip = [], False
    for word in command:
        if not skip and word not in ("-u", "-g"):
            kept.append(word)
        skip = word in ("-u", "-g")
    return kept
