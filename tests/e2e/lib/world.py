# SPDX-License-Identifier: MIT
"""The world map laid out in a folder of its own, as one host has it: links to the data, copies of what is filled in."""

import os

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
DATA = os.path.join(ROOT, "tests", "data")
TEMPLATES = os.path.join(ROOT, "templates", "world")


def lay_out(folder, balancer="", onlineresource=""):
    """Fills `folder` (made if need be) and returns the environment of its mapserv. `balancer` is what the pages' forms
    put before /cgi-bin/mapserv: 'http://127.0.0.1:8080', or '' where a balancer stands on each host. `onlineresource`
    is the URL that capabilities name; '' leaves it to mapserv."""
    os.makedirs(os.path.join(folder, "tmp"), exist_ok=True)
    for name, target in (("world", DATA), ("fonts", DATA), ("field.asc", DATA), ("services.map", DATA)):
        os.symlink(os.path.join(target, name), os.path.join(folder, name))
    os.symlink(TEMPLATES, os.path.join(folder, "templates"))
    map_file = os.path.join(folder, "world.map")
    fill(os.path.join(DATA, "world.map"), map_file, "@BALANCER@", balancer)
    if onlineresource:
        fill(map_file, map_file, "# @ONLINERESOURCE@", f'"ows_onlineresource" "{onlineresource}?map=WORLD&"')
    fill(os.path.join(TEMPLATES, "error.html"), os.path.join(folder, "tmp", "error.html"), "@BALANCER@", balancer)
    configuration = os.path.join(folder, "mapserver.conf")
    fill(os.path.join(DATA, "mapserver.conf.in"), configuration, "@DATA@", folder)
    return {"MAPSERVER_CONFIG_FILE": configuration}


def fill(source, target, mark, value):
    with open(source, encoding="utf-8") as file:
        text = file.read()
    with open(target, "w", encoding="utf-8") as file:
        file.write(text.replace(mark, value))


def queries():
    """The lines of queries.txt, as bytes."""
    with open(os.path.join(DATA, "queries.txt"), "rb") as file:
        return [line for line in file.read().split(b"\n") if line and not line.startswith(b"# ")]
