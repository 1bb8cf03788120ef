# SPDX-License-Identifier: MIT
"""Web servers with one file of etc/ each, in a main configuration as Debian ships it, cut down to what is needed."""

import os
import signal

from lib import processes
from places import AS_ROOT, Places, give_to_web_server


class Setup:
    """One row: a web server and whatever its file starts beside it. `kind` is a class below, `file` a path below etc/."""

    longest_query = 32000

    def __init__(self, scene, file, address, port, changes, variant=""):
        self.file, self.variant = file, variant
        self.row = f"{file} ({variant})" if variant else file
        self.name = file.replace("/", "-").removesuffix(".conf") + variant
        self.scene, self.address, self.port = scene, address, port
        self.places = Places(scene, self.name, address, port, changes)
        self.folder = self.places.folder
        give_to_web_server(self.folder)
        self.started_by = file  # whose commands start what stands beside the web server
        self.server = None

    def start(self):
        self.places.start_commands(self.started_by)
        configuration = self.scene.write(f"{self.name}/main.conf", self.main(self.places.file(self.file)))
        self.server = self.scene.start(f"{self.name}/server", self.command(configuration))
        self.server.wait_for(
            lambda: processes.answers(self.address, self.port), 10, f"a web server; {self.log()}"
        )
        return self

    def stop(self):
        if self.server:
            self.server.stop()
        for process in self.started():
            processes.wait_until(lambda pid=process: end(pid), 3, f"the end of {process}")

    def log(self):
        try:
            with open(f"{self.folder}/error.log", encoding="utf-8", errors="replace") as file:
                return file.read()[-2000:]
        except FileNotFoundError:
            return ""

    def started(self):
        """What its commands left running (ours since it detached itself)."""
        return [pid for pid in processes.descendants(os.getpid()) if uses(pid, self.folder)]

    def reload(self):
        os.kill(self.server.pid, self.RELOAD)

    def has_reloaded(self):
        raise NotImplementedError


def uses(pid, folder):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as line, open(f"/proc/{pid}/environ", "rb") as environment:
            return folder.encode() in line.read() + environment.read()
    except OSError:
        return False


def end(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, os.WNOHANG)
    except (ProcessLookupError, ChildProcessError):
        return True
    return False


class Nginx(Setup):
    RELOAD = signal.SIGHUP

    def command(self, configuration):
        return ["nginx", "-e", f"{self.folder}/error.log", "-p", self.folder, "-c", configuration]

    def main(self, file):
        temporary = "".join(
            f"{kind}_temp_path {self.folder}/{kind};\n" for kind in ("client_body", "fastcgi", "proxy", "scgi", "uwsgi")
        )
        user = "user www-data;\n" if AS_ROOT else ""
        return (
            f"{user}worker_processes 2;\ndaemon off;\npid {self.folder}/pid;\nerror_log {self.folder}/error.log;\n"
            f"events {{ worker_connections 768; }}\nhttp {{\naccess_log {self.folder}/access.log;\n{temporary}"
            f"types {{ image/png png; text/html html; }}\ninclude {file};\n}}\n"
        )

    def reload(self):
        self.before = set(processes.children(self.server.pid))
        super().reload()

    def has_reloaded(self):
        return bool(set(processes.children(self.server.pid)) - self.before)


class Lighttpd(Setup):
    RELOAD = signal.SIGUSR1

    def command(self, configuration):
        return ["lighttpd", "-D", "-f", configuration]

    def main(self, file):
        user = 'server.username = "www-data"\nserver.groupname = "www-data"\n' if AS_ROOT else ""
        return (
            f'server.modules = ( "mod_indexfile", "mod_access", "mod_alias", "mod_redirect" )\n{user}'
            f'server.bind = "{self.address}"\nserver.port = {self.port}\nserver.document-root = "{self.folder}"\n'
            f'server.errorlog = "{self.folder}/error.log"\nserver.upload-dirs = ( "{self.folder}" )\n'
            'mimetype.assign = ( ".png" => "image/png", ".html" => "text/html" )\n'
            f'include "{file}"\n'
        )

    def has_reloaded(self):
        return "graceful" in self.log().lower()


class Apache(Setup):
    RELOAD = signal.SIGUSR1
    MODULES = "/usr/lib/apache2/modules"

    def modules(self):
        """What the file says that it needs. As a variant mod_cgi serves in the place of mod_cgid."""
        named = [name.strip() for name in self.places.said(self.file, "Modules: ").split(",")]
        return [self.variant if self.variant and name == "cgid" else name for name in named]

    @property
    def longest_query(self):
        return 8100 if "cgid" in self.modules() else 32000

    def command(self, configuration):
        return ["apache2", "-d", self.folder, "-f", configuration, "-D", "FOREGROUND"]

    def main(self, file):
        named = self.modules()
        modules = "".join(
            f"LoadModule {name}_module {self.MODULES}/mod_{name}.so\n"
            for name in dict.fromkeys(["mpm_event", "authz_core", "mime", "reqtimeout", *named])
        )
        user = "User www-data\nGroup www-data\n" if AS_ROOT else ""
        own = f"FcgidIPCDir {self.folder}/sockets\nFcgidProcessTableFile {self.folder}/shared\n" if "fcgid" in named else ""
        own += f"ScriptSock {self.folder}/cgisock\n" if "cgid" in named else ""
        return (
            f"{modules}{user}ServerName localhost\nListen {self.address}:{self.port}\nPidFile {self.folder}/pid\n"
            f"ErrorLog {self.folder}/error.log\nLogLevel info\nDocumentRoot {self.folder}\nTypesConfig /dev/null\n"
            f"AddType image/png .png\nDefaultRuntimeDir {self.folder}\nMutex file:{self.folder} default\n{own}"
            "RequestReadTimeout header=20-40,minrate=500 body=10,minrate=500\n"
            '<Directory "/">\n  Require all denied\n</Directory>\n'
            f"<VirtualHost *:{self.port}>\n  Include {file}\n</VirtualHost>\n"
        )

    def has_reloaded(self):
        return "Doing graceful restart" in self.log()


def of(scene, row, address, port, changes):
    """`row`: a file of etc/, and perhaps a variant in parentheses behind it."""
    file, _, variant = row.rstrip(")").partition(" (")
    kind = {"nginx": Nginx, "lighttpd": Lighttpd, "apache": Apache}[file.partition("/")[0]]
    return kind(scene, file, address, port, changes, variant)
