# SPDX-License-Identifier: MIT
"""nginx, lighttpd and Apache in the foreground, each with a configuration written for one scene.

A route maps a script ('/cgi-bin/mapserv', and the paths below it) to FastCgi(socket), Cgi(program, environment) or, of
lighttpd and Apache (mod_fcgid), Spawned(program, environment): a FastCGI program that the web server starts itself.
All log '<seconds since 1970> <status> <method> <uri>' a request: nginx at once and with the client's bytes, Apache with
bytes above 0x7E escaped, lighttpd after up to some seconds.
"""

import collections
import os
import shutil

from . import processes

FastCgi = collections.namedtuple("FastCgi", "socket")
Cgi = collections.namedtuple("Cgi", "program environment")
Spawned = collections.namedtuple("Spawned", "program environment")
Entry = collections.namedtuple("Entry", "time status method uri")

PARAMETERS = """
    fastcgi_param QUERY_STRING $query_string;
    fastcgi_param REQUEST_METHOD $request_method;
    fastcgi_param CONTENT_TYPE $content_type;
    fastcgi_param CONTENT_LENGTH $content_length;
    fastcgi_param REQUEST_URI $request_uri;
    fastcgi_param SERVER_PROTOCOL $server_protocol;
    fastcgi_param GATEWAY_INTERFACE CGI/1.1;
    fastcgi_param REMOTE_ADDR $remote_addr;
    fastcgi_param REMOTE_PORT $remote_port;
    fastcgi_param SERVER_ADDR $server_addr;
    fastcgi_param SERVER_PORT $server_port;
    fastcgi_param SERVER_NAME $server_addr;
    fastcgi_param HTTPS $https if_not_empty;
"""


class WebServer:
    """A running one. `files` maps URL prefixes to folders; `front_page` is where '/' leads; `included` are files of
    configuration for all of the server."""

    def __init__(
        self, scene, name, address, port, routes, *, files=None, front_page=None, cgroup=None, included=()
    ):
        self.scene, self.name, self.address, self.port = scene, name, address, port
        self.routes = routes  # script -> FastCgi or Cgi; a longer script stands before its prefix
        self.files = files or {}
        self.front_page = front_page
        self.included = included
        self.cgroup = cgroup
        self.folder = scene.path(name)
        self.access_log = scene.path(name, "access.log")
        self.process = None
        os.makedirs(self.folder, exist_ok=True)

    @property
    def authority(self):
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"

    def start(self):
        configuration = self.scene.write(f"{self.name}/server.conf", self.configuration())
        self.process = self.scene.start(f"{self.name}/server", self.command(configuration), cgroup=self.cgroup)
        self.process.wait_for(
            lambda: processes.answers(self.address, self.port), 10, f"a web server at {self.authority}"
        )
        return self

    def stop(self):
        self.process.stop()

    def entries(self, start=0):
        """The access log from byte `start` on, complete lines only: the entries and the next start."""
        try:
            with open(self.access_log, "rb") as log:
                log.seek(start)
                text = log.read()
        except FileNotFoundError:
            return [], start
        whole = text[: text.rfind(b"\n") + 1]
        entries = []
        for line in whole.splitlines():
            time, status, method, uri = line.split(b" ", 3)
            entries.append(Entry(float(time), int(status), method.decode("ascii", "replace"), uri))
        return entries, start + len(whole)


class Nginx(WebServer):
    """keep_connections: 0 opens one for each request; else so many are kept to each FastCGI socket. temporary_files:
    whether it takes what a slow client does not yet (up to 1 GB each). tls: (certificate, key) files, for https."""

    def __init__(self, *where, keep_connections=0, temporary_files=True, tls=None, **how):
        super().__init__(*where, **how)
        self.tls = tls
        self.keep_connections = keep_connections
        self.temporary_files = temporary_files

    def command(self, configuration):
        return ["nginx", "-e", f"{self.folder}/error.log", "-p", self.folder, "-c", configuration]

    def _location(self, number, script):
        route = self.routes[script]
        target = f"app{number}" if self.keep_connections else f"unix:{route.socket}"
        keep = "fastcgi_keep_conn on;" if self.keep_connections else ""
        return (
            f"  location ~ ^(?<script{number}>{script})(?<path{number}>/.*)?$ {{\n"
            f"    fastcgi_pass {target};\n    {keep}{PARAMETERS}"
            f"    fastcgi_param SCRIPT_NAME $script{number};\n    fastcgi_param PATH_INFO $path{number};\n  }}\n"
        )

    def _certificate(self):
        return f"  ssl_certificate {self.tls[0]};\n  ssl_certificate_key {self.tls[1]};\n" if self.tls else ""

    def configuration(self):
        numbered = list(enumerate(self.routes))
        upstreams = "".join(
            f"upstream app{n} {{ server unix:{self.routes[script].socket}; keepalive {self.keep_connections}; }}\n"
            for n, script in numbered
            if self.keep_connections
        )
        locations = "".join(self._location(*route) for route in numbered)
        files = "".join(f"  location {prefix} {{ alias {folder}/; }}\n" for prefix, folder in self.files.items())
        front = f"  location = / {{ return 302 '{self.front_page}'; }}\n" if self.front_page else ""
        included = "".join(f"  include {path};\n" for path in self.included)
        temporary = "".join(
            f"{kind}_temp_path {self.folder}/{kind};\n" for kind in ("client_body", "fastcgi", "proxy", "scgi", "uwsgi")
        )
        if not self.temporary_files:
            temporary += "fastcgi_max_temp_file_size 0;\n"
        user = "user root;\n" if os.geteuid() == 0 else ""
        return (
            f"{user}worker_processes 1;\ndaemon off;\npid {self.folder}/pid;\nerror_log {self.folder}/error.log;\n"
            f"events {{ worker_connections 4096; }}\nhttp {{\n{temporary}"
            f"log_format raw escape=none '$msec $status $request_method $request_uri';\n"
            f"access_log {self.access_log} raw;\n"
            f"types {{ image/png png; image/jpeg jpg; text/html html; text/css css; text/javascript js; }}\n{upstreams}"
            f"server {{\n  listen {self.authority}{' ssl' if self.tls else ''};\n{self._certificate()}  server_name _;\n  client_max_body_size 64m;\n"
            f"{included}{locations}{files}{front}}}\n}}\n"
        )


class Lighttpd(WebServer):
    def command(self, configuration):
        return ["lighttpd", "-D", "-f", configuration]

    def configuration(self):
        fast = {script: route for script, route in self.routes.items() if isinstance(route, FastCgi)}
        plain = {script: route for script, route in self.routes.items() if isinstance(route, Cgi)}
        spawned = {script: route for script, route in self.routes.items() if isinstance(route, Spawned)}
        servers = ",\n".join(
            [
                f'  "{script}" => (( "socket" => "{route.socket}", "check-local" => "disable" ))'
                for script, route in fast.items()
            ]
            + [
                f'  "{script}" => (( "socket" => "{self.folder}/spawned{number}", "check-local" => "disable",\n'
                f'    "bin-path" => "{route.program}", "max-procs" => 1, "bin-environment" => ( '
                + ", ".join(f'"{key}" => "{value}"' for key, value in route.environment.items())
                + " ) ))"
                for number, (script, route) in enumerate(spawned.items())
            ]
        )
        aliases = ",\n".join(
            [f'  "{prefix}" => "{folder}/"' for prefix, folder in self.files.items()]
            + [f'  "{script}" => "{route.program}"' for script, route in plain.items()]
        )
        cgi = "".join(f'$HTTP["url"] =~ "^{script}(/|$)" {{ cgi.assign = ( "" => "" ) }}\n' for script in plain)
        variables = ", ".join(
            f'"{key}" => "{value}"' for route in plain.values() for key, value in route.environment.items()
        )
        front = f'url.redirect = ( "^/$" => "{self.front_page}" )\n' if self.front_page else ""
        return (
            'server.modules = ( "mod_alias", "mod_redirect", "mod_setenv", "mod_fastcgi", "mod_cgi" )\n'
            'server.modules += ( "mod_accesslog" )\n'
            f'server.bind = "{self.address}"\nserver.port = {self.port}\n'
            f'server.document-root = "{self.folder}"\nserver.errorlog = "{self.folder}/error.log"\n'
            f'server.upload-dirs = ( "{self.folder}" )\n'
            f'accesslog.filename = "{self.access_log}"\naccesslog.format = "%{{sec}}t.%{{msec_frac}}t %s %m %U%q"\n'
            'mimetype.assign = ( ".png" => "image/png", ".html" => "text/html" )\n'
            f"fastcgi.server = (\n{servers}\n)\nalias.url = (\n{aliases}\n)\n{cgi}"
            + (f"setenv.set-environment = ( {variables} )\n" if variables else "")
            + front
            + "".join(f'include "{path}"\n' for path in self.included)
        )


class Apache(WebServer):
    """FastCGI by mod_proxy_fcgi, what it starts itself by mod_fcgid, CGI by mod_cgid."""

    MODULES = "/usr/lib/apache2/modules"

    def command(self, configuration):
        program = shutil.which("apache2") or "/usr/sbin/apache2"
        return [program, "-d", self.folder, "-f", configuration, "-D", "FOREGROUND"]

    def configuration(self):
        names = "mpm_event authz_core alias env setenvif headers proxy proxy_fcgi cgid mime dir".split()
        if any(isinstance(route, Spawned) for route in self.routes.values()):
            names.append("fcgid")
        modules = "".join(f"LoadModule {name}_module {self.MODULES}/mod_{name}.so\n" for name in names)
        routes = ""
        for script, route in self.routes.items():
            if isinstance(route, FastCgi):
                # Without a file of that name Apache would take the last part of the path for PATH_INFO.
                there = self.scene.write(f"{self.name}/scripts{script}", "")
                routes += f'Alias "{script}" "{there}"\n<Location "{script}">\n'
                routes += f'  SetHandler "proxy:unix:{route.socket}|fcgi://localhost"\n</Location>\n'
            elif isinstance(route, Spawned):
                routes += f'Alias "{script}" "{route.program}"\n'
                routes += f'<Location "{script}">\n  SetHandler fcgid-script\n</Location>\n'
                routes += "".join(f'FcgidInitialEnv {key} "{value}"\n' for key, value in route.environment.items())
                sockets = os.path.join(self.folder, "sockets")  # made by the user that Apache becomes
                os.makedirs(sockets, exist_ok=True)
                os.chmod(sockets, 0o777)
                routes += f"FcgidIPCDir {sockets}\nFcgidProcessTableFile {sockets}/shared\n"
            else:
                routes += f'ScriptAlias "{script}" "{route.program}"\n<Location "{script}">\n'
                routes += "".join(f'  SetEnv {key} "{value}"\n' for key, value in route.environment.items())
                routes += "</Location>\n"
        files = "".join(f'Alias "{prefix}" "{folder}/"\n' for prefix, folder in self.files.items())
        user = "User www-data\nGroup www-data\n" if os.geteuid() == 0 else ""
        front = f'RedirectMatch 302 "^/$" "{self.front_page}"\n' if self.front_page else ""
        return (
            f"{modules}{user}ServerName localhost\nListen {self.authority}\n"
            f"PidFile {self.folder}/pid\nScriptSock {self.folder}/cgisock\n"
            f"ErrorLog {self.folder}/error.log\nDocumentRoot {self.folder}\nTypesConfig /dev/null\n"
            f"DefaultRuntimeDir {self.folder}\nMutex file:{self.folder} default\n"
            "<IfModule mpm_event_module>\n  StartServers 1\n  ServerLimit 4\n</IfModule>\n"
            f'LogFormat "%{{sec}}t.%{{msec_frac}}t %>s %m %U%q" raw\nCustomLog {self.access_log} raw\n'
            '<Directory "/">\n  Require all granted\n  Options +ExecCGI\n</Directory>\n'
            f"{routes}{files}{front}"
            + "".join(f"Include {path}\n" for path in self.included)
        )


KINDS = {"nginx": Nginx, "lighttpd": Lighttpd, "apache": Apache}
