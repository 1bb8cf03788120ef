# SPDX-License-Identifier: MIT
"""Other relays in front of the same hosts, with retries on and the time-outs that our tests give the balancer."""

import shutil

from . import processes, webservers

HAPROXY = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/sbin:/bin")


class _Nginx(webservers.Nginx):
    def __init__(self, scene, name, port, hosts):
        super().__init__(scene, name, "127.0.0.1", port, {})
        self.hosts = hosts

    def configuration(self):
        servers = "".join(f"  server {host.web.authority};\n" for host in self.hosts)
        relay = (
            "  location / {\n    proxy_pass http://hosts;\n    proxy_http_version 1.1;\n"
            '    proxy_set_header Connection "";\n    proxy_connect_timeout 2s;\n    proxy_read_timeout 3s;\n'
            "    proxy_next_upstream error timeout http_502 http_503 http_504;\n  }\n"
        )
        own = super().configuration()
        own = own.replace("server {\n", f"upstream hosts {{\n  least_conn;\n{servers}  keepalive 32;\n}}\nserver {{\n", 1)
        return own.replace("  server_name _;\n", "  server_name _;\n" + relay, 1)


def nginx(scene, hosts):
    """Starts nginx with least_conn and proxy_next_upstream; its port."""
    return _Nginx(scene, "peer-nginx", processes.free_port(), hosts).start().port


def haproxy(scene, hosts):
    """Starts HAProxy with leastconn, checks every 250 ms, redispatch and retry-on; its port."""
    port = processes.free_port()
    servers = "".join(f"  server {host.name} {host.web.authority} check inter 250ms\n" for host in hosts)
    file = scene.write(
        "peer-haproxy/haproxy.cfg",
        "global\n  maxconn 1000\ndefaults\n  mode http\n  timeout connect 2s\n  timeout client 30s\n  timeout server 3s\n"
        "  retries 3\n  option redispatch 1\n  retry-on conn-failure empty-response response-timeout 502 503 504\n"
        f"frontend front\n  bind 127.0.0.1:{port}\n  default_backend hosts\n"
        f"backend hosts\n  balance leastconn\n{servers}",
    )
    process = scene.start("peer-haproxy/server", [HAPROXY, "-db", "-f", file])
    process.wait_for(lambda: processes.answers("127.0.0.1", port), 5, "haproxy")
    return port
