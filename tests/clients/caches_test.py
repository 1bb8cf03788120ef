# SPDX-License-Identifier: MIT
"""Tile caches that ask WMS: MapProxy and MapCache, each one server with a source for every column."""

import os
import shutil
import urllib.request

from case import COLUMNS, ClientCase, everywhere, fresh_folder, run
from lib import processes, webservers
from pictures import pixels

TILES = ("0/0", "1/0", "2/1", "3/1")  # x/y from the south west; four by two make the world
MAPPROXY_SECONDS = 20


def fetched(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read()
    except OSError as problem:
        raise processes.Failed(f"{url}: {problem}") from problem


def name_of(url):
    return next(name for name, own in COLUMNS.urls().items() if own == url)


def mapproxy_configuration():
    sources, caches, layers = "", "", ""
    for name, url in COLUMNS.urls().items():
        sources += f"  {name}_source:\n    type: wms\n    req: {{url: '{url}&', layers: countries}}\n"
        sources += "    supported_srs: ['EPSG:4326']\n"
        caches += f"  {name}_cache: {{grids: [world], sources: [{name}_source], meta_size: [1, 1], meta_buffer: 0, "
        caches += "disable_storage: true}\n"
        layers += f"- {{name: {name}, title: {name}, sources: [{name}_cache]}}\n"
    grid = "  world: {srs: 'EPSG:4326', bbox: [-180, -90, 180, 90], origin: ll, tile_size: [128, 128]}\n"
    return f"services: {{tms: {{}}}}\nlayers:\n{layers}caches:\n{caches}sources:\n{sources}grids:\n{grid}"


def mapcache_configuration(folder):
    parts = ""
    for name, url in COLUMNS.urls().items():
        escaped = url.replace("&", "&amp;")
        parts += (
            f'<cache name="{name}_disk" type="disk"><base>{folder}/{name}</base></cache>\n'
            f'<source name="{name}_source" type="wms"><getmap><params><FORMAT>image/png</FORMAT>'
            f"<LAYERS>countries</LAYERS></params></getmap><http><url>{escaped}</url></http></source>\n"
            f'<tileset name="{name}"><source>{name}_source</source><cache>{name}_disk</cache><grid>world</grid>'
            "<format>PNG</format><metatile>1 1</metatile></tileset>\n"
        )
    return (
        '<mapcache>\n<grid name="world"><extent>-180 -90 180 90</extent><srs>EPSG:4326</srs><units>dd</units>'
        "<size>128 128</size><resolutions>2.8125 1.40625 0.703125</resolutions></grid>\n"
        f'{parts}<service type="tms" enabled="true"/><errors>report</errors><lock_dir>{folder}</lock_dir>\n'
        "</mapcache>\n"
    )


class Caches(ClientCase):
    def test_mapproxy(self):
        scene = COLUMNS.scene
        port = processes.free_port()
        configuration = scene.write("mapproxy/mapproxy.yaml", mapproxy_configuration())
        command = ["mapproxy-util", "serve-develop", "-b", f"127.0.0.1:{port}", configuration]
        server = scene.start("mapproxy/server", command, env={"PYTHONDONTWRITEBYTECODE": "1"})
        self.addCleanup(server.stop)
        server.wait_for(lambda: processes.answers("127.0.0.1", port), MAPPROXY_SECONDS, "MapProxy")
        base = f"http://127.0.0.1:{port}/tms/1.0.0"
        self.line(
            "MapProxy",
            lambda url: [pixels(fetched(f"{base}/{name_of(url)}/EPSG4326/1/{tile}.png")) for tile in TILES],
            everywhere(),
        )

    def test_mapcache(self):
        scene = COLUMNS.scene
        folder = fresh_folder("tiles")
        os.chmod(folder, 0o777)  # the web server runs as another user
        configuration = scene.write("mapcache/mapcache.xml", mapcache_configuration(folder))

        def seeded(url):
            name = name_of(url)
            shutil.rmtree(f"{folder}/{name}", ignore_errors=True)
            run(["mapcache_seed", "-c", configuration, "-t", name, "-g", "world", "-z", "2,2", "-n", "1"])
            return [pixels(fetched(f"{base}/{name}@world/2/{tile}.png")) for tile in TILES]

        web = webservers.Apache(
            scene,
            "mapcache/web",
            "127.0.0.1",
            processes.free_port(),
            {"/mapcache": webservers.Cgi("/usr/lib/cgi-bin/mapcache", {"MAPCACHE_CONFIG_FILE": configuration})},
        ).start()
        self.addCleanup(web.stop)
        base = f"http://{web.authority}/mapcache/tms/1.0.0"

        def served(url):
            shutil.rmtree(f"{folder}/{name_of(url)}", ignore_errors=True)
            return [pixels(fetched(f"{base}/{name_of(url)}@world/2/{tile}.png")) for tile in TILES]

        self.line("MapCache, `mapcache_seed`", seeded, everywhere())
        self.line("MapCache, server", served, everywhere())
