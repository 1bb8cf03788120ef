# SPDX-License-Identifier: MIT
"""Clients that know OGC services: GDAL's WMS and OGR's WFS driver, OWSLib. Most begin with the capabilities."""

import json
import re

import requests
from case import LEAVES, ClientCase, everywhere, fresh_folder, run
from lib import processes
from owslib.wfs import WebFeatureService
from owslib.wms import WebMapService
from pictures import pixels

# Without the balancer's URL in the mapfiles a redirected client reads a host's name in the capabilities.
BY_CAPABILITIES = everywhere(redirect=LEAVES)
TILES = """<GDAL_WMS>
  <Service name="WMS"><Version>1.1.1</Version><ServerUrl>{url}</ServerUrl><SRS>EPSG:4326</SRS>
    <ImageFormat>image/png</ImageFormat><Layers>countries</Layers></Service>
  <DataWindow><UpperLeftX>-180</UpperLeftX><UpperLeftY>90</UpperLeftY><LowerRightX>180</LowerRightX>
    <LowerRightY>-90</LowerRightY><SizeX>256</SizeX><SizeY>128</SizeY></DataWindow>
  <BandsCount>3</BandsCount><BlockSizeX>64</BlockSizeX><BlockSizeY>64</BlockSizeY>
</GDAL_WMS>"""


def translated(source):
    """The pixels of what GDAL reads there."""
    target = f"{fresh_folder('gdal')}/picture.png"
    run(["gdal_translate", "-q", "-of", "PNG", "-outsize", "256", "128", source, target])
    with open(target, "rb") as file:
        return pixels(file.read())


def gdal_fixed(url):
    return translated(TILES.format(url=url.replace("&", "&amp;") + "&amp;"))


def gdal_from_capabilities(url):
    found = json.loads(run(["gdalinfo", "-json", f"WMS:{url}&version=1.1.1"]))["metadata"]["SUBDATASETS"]
    name = next(value for value in found.values() if re.search("LAYERS=countries&", value))
    return translated(name)


def ogr(url):
    target = f"{fresh_folder('ogr')}/cities.json"
    run(["ogr2ogr", "-f", "GeoJSON", target, f"WFS:{url}", "cities"])
    with open(target, encoding="utf-8") as file:
        features = json.load(file)["features"]
    return sorted((feature["properties"]["name"], *feature["geometry"]["coordinates"]) for feature in features)


def quietly(ask):
    """What OWSLib raises, as Failed."""
    try:
        return ask()
    except (requests.RequestException, ValueError, AttributeError, LookupError, SyntaxError) as problem:
        raise processes.Failed(f"{type(problem).__name__}: {problem}") from problem


def owslib_wms(version, method):
    def session(url):
        # It posts a form without saying so, which MapServer itself does not take.
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if method == "Post" else None
        service = quietly(lambda: WebMapService(url, version=version, headers=headers))
        return [
            pixels(
                quietly(
                    lambda box=box: service.getmap(
                        layers=["countries"],
                        styles=[""],
                        srs="EPSG:4326",
                        bbox=box,
                        size=(120, 60),
                        format="image/png",
                        bgcolor="#CFE3EF",
                        method=method,
                    )
                ).read()
            )
            for box in ((-180, -90, 180, 90), (-10, 35, 40, 60), (60, 0, 140, 40))
        ]

    return session


def names_in(gml):
    names = re.findall(rb"<ms:name>([^<]+)</ms:name>", gml)
    if len(names) < 3:
        raise processes.Failed(f"no cities in {gml[:300]!r}")
    return sorted(names)


def owslib_wfs(version, method):
    def session(url):
        service = quietly(lambda: WebFeatureService(url, version=version))
        first = quietly(lambda: service.getfeature(typename=["cities"], maxfeatures=5, method=method)).read()
        every = quietly(lambda: service.getfeature(typename=["cities"], method=method)).read()
        return names_in(first), names_in(every)

    return session


class Services(ClientCase):
    def test_gdal_wms(self):
        self.line("GDAL WMS, fixed URL", gdal_fixed, everywhere())
        self.line("GDAL WMS, from capabilities", gdal_from_capabilities, BY_CAPABILITIES)

    def test_ogr_wfs(self):
        self.line("OGR WFS", ogr, everywhere())

    def test_owslib_wms(self):
        self.line("OWSLib WMS, GET", owslib_wms("1.1.1", "Get"), BY_CAPABILITIES)
        self.line("OWSLib WMS, POST", owslib_wms("1.1.1", "Post"), BY_CAPABILITIES)

    def test_owslib_wfs(self):
        self.line("OWSLib WFS, GET", owslib_wfs("1.1.0", "Get"), BY_CAPABILITIES)
        self.line("OWSLib WFS, POST", owslib_wfs("1.1.0", "Post"), BY_CAPABILITIES)
