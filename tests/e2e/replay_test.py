# SPDX-License-Identifier: MIT
"""Every request gets through the balancer what it gets of a host that is asked directly: status, content type and body,
but for the names of those who answered and what differs from answer to answer anyway. Once with each class's own answer
(a redirect is followed) and once with everything relayed."""

import gzip
import re
import unittest
from urllib.parse import quote

from lib import client, fleet, world
from lib.balancer import Balancer
from lib.case import FORM, XML, SceneCase, wait_until_usable

SCRIPT = b"/cgi-bin/mapserv"

BOX = "bbox=-20,35,40,70"
WMS_MAP = f"layers=countries,cities&styles=&{BOX}&width=120&height=80&format=image/png"
BOX_FILTER = (
    "<Filter><BBOX><PropertyName>msGeometry</PropertyName><Box><coordinates>0,45 10,50</coordinates></Box></BBOX></Filter>"
)
FEATURES = (
    '<wfs:GetFeature xmlns:wfs="http://www.opengis.net/wfs" service="WFS" version="1.1.0" maxFeatures="2">'
    '<wfs:Query typeName="cities"/></wfs:GetFeature>'
)
STYLE = (
    '<StyledLayerDescriptor version="1.0.0"><NamedLayer><Name>countries</Name><UserStyle><FeatureTypeStyle><Rule>'
    '<PolygonSymbolizer><Fill><CssParameter name="fill">#00ff00</CssParameter></Fill></PolygonSymbolizer></Rule>'
    "</FeatureTypeStyle></UserStyle></NamedLayer></StyledLayerDescriptor>"
)


def wms():
    for version, srs in (("1.1.1", "srs"), ("1.3.0", "crs")):
        head = f"map=WORLD&service=WMS&version={version}"
        picture = f"{head}&{srs}=EPSG:4326&{WMS_MAP}"
        yield f"{head}&request=GetCapabilities"
        yield f"{picture}&request=GetMap"
        yield f"{picture}&request=GetMap&transparent=true&bgcolor=0xff0000"
        yield picture.replace("image/png", "image/jpeg") + "&request=GetMap"
        yield picture.replace("image/png", "application/nothing") + "&request=GetMap"
        yield picture.replace("countries,cities", "nowhere") + "&request=GetMap"
        yield picture.replace("countries,cities", "nowhere") + "&request=GetMap&exceptions=application/vnd.ogc.se_inimage"
        yield picture.replace("countries,cities", "nowhere") + "&request=GetMap&exceptions=INIMAGE"
        for kind in ("XML", "BLANK", "application/vnd.ogc.se_xml", "application/vnd.ogc.se_blank", "JSON"):
            yield picture.replace("countries,cities", "nowhere") + f"&request=GetMap&exceptions={kind}"
        for kind in ("image/png;%20mode=8bit", "image/svg%2Bxml", "application/openlayers", "image/tiff", "application/pdf"):
            yield picture.replace("image/png", kind) + "&request=GetMap"
        yield f"{picture}&request=GetMap&sld_body={quote(STYLE)}"
        yield f"{picture}&request=GetMap&sld_body={quote(STYLE * 4)}"
        yield picture.replace("width=120&height=80", "width=2000&height=1500") + "&request=GetMap"
        yield picture.replace(BOX, "bbox=9,9,1,1") + "&request=GetMap"
        yield picture.replace("EPSG:4326", "EPSG:99999") + "&request=GetMap"
        yield picture.replace("width=120", "width=99999") + "&request=GetMap"
        for kind in ("text/plain", "text/html", "application/vnd.ogc.gml", "no/such"):
            yield (
                f"{picture}&request=GetFeatureInfo&query_layers=countries,cities&info_format={kind}&feature_count=3"
                "&x=60&y=40&i=60&j=40"
            )
        yield f"{head}&request=GetLegendGraphic&layer=cities&format=image/png&sld_version=1.1.0"
        yield f"{head}&request=GetLegendGraphic&layer=nowhere&format=image/png&sld_version=1.1.0"
        yield f"{head}&request=GetStyles&layers=cities&sld_version=1.1.0"
        yield f"{head}&request=DescribeLayer&layers=cities&sld_version=1.1.0"
        yield f"{head}&request=GetNothing"
    yield "map=WORLD&request=GetCapabilities"
    yield "map=WORLD&service=WMS"
    yield "map=WORLD&wmtver=1.0.0&request=capabilities"
    for sequence in (1, 2):
        yield f"map=WORLD&service=WMS&request=GetCapabilities&updatesequence={sequence}"
    for service in ("WMTS", "CSW", "nothing"):
        yield f"map=WORLD&service={service}&request=GetCapabilities"


def wfs():
    for version, names in (("1.0.0", "typename"), ("1.1.0", "typename"), ("2.0.0", "typenames")):
        head = f"map=WORLD&service=WFS&version={version}"
        yield f"{head}&request=GetCapabilities"
        yield f"{head}&request=DescribeFeatureType"
        yield f"{head}&request=DescribeFeatureType&{names}=cities"
        yield f"{head}&request=DescribeFeatureType&{names}=nowhere"
        for more in ("", "&maxfeatures=3", "&count=3", "&count=2&startindex=4", "&outputformat=geojson", "&outputformat=csv"):
            yield f"{head}&request=GetFeature&{names}=cities{more}"
        yield f"{head}&request=GetFeature&{names}=cities,lakes&maxfeatures=2&count=2"
        yield f"{head}&request=GetFeature&{names}=nowhere"
        yield f"{head}&request=GetFeature&{names}=cities&outputformat=none"
        yield f"{head}&request=GetFeature&{names}=cities&{BOX}"
        yield f"{head}&request=GetFeature&{names}=cities&filter={BOX_FILTER}".replace("<", "%3C").replace(">", "%3E")
        yield f"{head}&request=GetNothing"
    yield "map=WORLD&service=WFS&version=2.0.0&request=ListStoredQueries"
    yield "map=WORLD&service=WFS&version=2.0.0&request=DescribeStoredQueries"
    yield "map=WORLD&service=WFS&version=2.0.0&request=GetPropertyValue&typenames=cities&valuereference=name&count=3"
    yield "map=WORLD&service=WFS&version=2.0.0&request=GetFeature&typenames=cities&resulttype=hits"


SUBSET = "subset=long(-20,40)&subset=lat(35,70)"


def coverages():
    for version in ("1.0.0", "1.1.0", "1.1.1", "2.0.0", "2.0.1"):
        head = f"map=SERVICES&service=WCS&version={version}"
        yield f"{head}&request=GetCapabilities"
        yield f"{head}&request=DescribeCoverage"
        for name in ("field", "nowhere"):
            yield f"{head}&request=DescribeCoverage&coverage={name}&identifiers={name}&coverageid={name}"
            named = f"{head}&request=GetCoverage&coverage={name}&identifier={name}&coverageid={name}"
            for kind in ("GEOTIFF", "image/tiff", "none"):
                yield (
                    f"{named}&crs=EPSG:4326&{BOX}&width=10&height=10&format={kind}&{SUBSET}"
                    "&boundingbox=-20,35,40,70,urn:ogc:def:crs:EPSG::4326"
                )
        yield f"{head}&request=GetNothing"
    yield "map=SERVICES&service=WCS&acceptversions=1.1.0,2.0.0&request=GetCapabilities"
    yield "map=SERVICES&service=WCS"


def observations():
    head = "map=SERVICES&service=SOS&version=1.0.0"
    sensor = "outputformat=text/xml;%20subtype=%22sensorML/1.0.0%22"
    observed = "observedproperty=population&responseformat=text/xml;%20subtype=%22om/1.0.0%22"
    yield "map=SERVICES&service=SOS&request=GetCapabilities"
    yield f"{head}&request=GetCapabilities"
    yield f"{head}&request=DescribeSensor&procedure=urn:mapbalance:stations&{sensor}"
    yield f"{head}&request=DescribeSensor&procedure=nobody&{sensor}"
    yield f"{head}&request=DescribeSensor&procedure=x&outputformat=text/xml"
    for offering in ("stations", "nowhere"):
        yield f"{head}&request=GetObservation&offering={offering}&{observed}&bbox=0,45,5,50"
    yield f"{head}&request=GetObservation&offering=stations&observedproperty=y&responseformat=text/xml"
    yield f"{head}&request=DescribeObservationType&observedproperty=population"
    yield f"{head}&request=GetNothing"


def pages():
    layers = "map=WORLD&layers=countries+cities&mapsize=120+80"
    click = "imgxy=60+40&imgsize=120+80&imgext=-20+35+40+70"
    for mode in ("map", "browse", "legend", "reference", "scalebar", "legendicon", "query", "nquery", "coordinate", "none"):
        yield f"{layers}&mode={mode}"
        yield f"{layers}&mode={mode}&mapext=-20+35+40+70"
    for mode in ("query", "nquery", "featurequery", "zoomin", "zoomout"):
        yield f"{layers}&mode={mode}&{click}"
        yield f"{layers}&mode={mode}&{click}&qlayer=cities"
    for mode in ("featurenquery", "itemfeaturequery", "itemfeaturenquery", "indexquery"):
        for more in ("", f"&{click}&qlayer=countries&slayer=cities&qitem=iso_a3&qstring=FRA&shapeindex=3"):
            yield f"{layers}&mode={mode}{more}"
    yield f"{layers}&mode=nquery&qlayer=cities&mapxy=2+48&buffer=3"
    yield f"{layers}&mode=map&mapxy=2+48&scale=50000000"
    yield f"{layers}&mode=map&map.layer[cities]=STATUS+OFF"
    yield f"{layers}&mode=map&template=openlayers"
    yield f"{layers}&mode=browse&template=openlayers"
    yield f"{layers}&mode=itemquery&qlayer=countries&qitem=iso_a3&qstring=FRA"
    yield f"{layers}&mode=itemnquery&qlayer=countries&qitem=iso_a3&qstring=FRA"
    yield f"{layers}&mode=itemquery&qlayer=nowhere&qitem=iso_a3&qstring=FRA"
    yield f"{layers}&mode=legendicon&icon=cities,0"
    yield f"{layers}&mode=map&map.imagetype=jpeg"
    yield f"{layers}&mode=map&iso=FRA"
    yield f"{layers}&mode=map&iso=wrong"
    yield layers
    for scheme, tile in (("gmap", "1+1+2"), ("gmap", "0+0+0"), ("ve", "021"), ("gmap", "x+y+z")):
        yield f"map=WORLD&layers=countries&mode=tile&tilemode={scheme}&tile={tile}"
    yield "map=WORLD&layers=countries+cities&mode=tile&tilemode=gmap&tile=1+1+2&map.imagetype=mvt"
    yield "map=NOWHERE&mode=map"
    yield "mode=map"
    yield ""
    yield "map=/etc/passwd&mode=map"


def documents():
    for version, space in (("1.0.0", "wfs"), ("1.1.0", "wfs"), ("2.0.0", "wfs/2.0")):
        names = "typeNames" if version == "2.0.0" else "typeName"
        limit = 'count="3"' if version == "2.0.0" else 'maxFeatures="3"'
        root = f'xmlns:wfs="http://www.opengis.net/{space}" service="WFS" version="{version}"'
        yield f"<wfs:GetCapabilities {root}/>"
        yield f"<wfs:DescribeFeatureType {root}><wfs:TypeName>cities</wfs:TypeName></wfs:DescribeFeatureType>"
        yield f'<wfs:GetFeature {root} {limit}><wfs:Query {names}="cities"/></wfs:GetFeature>'
        yield f'<?xml version="1.0"?>\n<!-- c --><wfs:GetFeature {root}><wfs:Query {names}="cities"/></wfs:GetFeature>'
        yield f'<wfs:GetFeature {root} {limit}><wfs:Query {names}="nowhere"/></wfs:GetFeature>'
        yield f"<wfs:Transaction {root}/>"
    for version in ("1.1.0", "2.0.0"):
        corners = "<gml:lowerCorner>0 45</gml:lowerCorner><gml:upperCorner>10 50</gml:upperCorner>"
        box = f'<gml:Envelope srsName="EPSG:4326">{corners}</gml:Envelope>'
        where = f"<ogc:BBOX><ogc:PropertyName>msGeometry</ogc:PropertyName>{box}</ogc:BBOX>"
        yield (
            f'<wfs:GetFeature xmlns:wfs="http://www.opengis.net/wfs" xmlns:ogc="http://www.opengis.net/ogc" '
            f'xmlns:gml="http://www.opengis.net/gml" service="WFS" version="{version}">'
            f'<wfs:Query typeName="cities" typeNames="cities"><ogc:Filter>{where}</ogc:Filter></wfs:Query></wfs:GetFeature>'
        )
    envelope = "soap:Envelope xmlns:soap='http://www.w3.org/2003/05/soap-envelope'"
    yield f"<{envelope}><soap:Body>{FEATURES}</soap:Body></soap:Envelope>"
    yield "<broken"
    yield "no document at all"


def service_documents():
    for space, version in (("1.1", "1.1.0"), ("2.0", "2.0.1")):
        root = f'xmlns="http://www.opengis.net/wcs/{space}" service="WCS" version="{version}"'
        yield f"<GetCapabilities {root}/>"
        yield f"<DescribeCoverage {root}><Identifier>field</Identifier><CoverageId>field</CoverageId></DescribeCoverage>"
        yield (
            f"<GetCoverage {root}><CoverageId>field</CoverageId><Identifier>field</Identifier>"
            "<format>image/tiff</format></GetCoverage>"
        )
    root = 'xmlns="http://www.opengis.net/sos/1.0" service="SOS" version="1.0.0"'
    yield f"<GetCapabilities {root}/>"
    yield f"<DescribeSensor {root}><procedure>urn:mapbalance:stations</procedure></DescribeSensor>"
    yield f"<GetObservation {root}><offering>stations</offering></GetObservation>"
    yield f"<InsertObservation {root}/>"


# What else clients call a document or a form. MapServer goes by it: the answers differ.
TYPES = (
    "application/xml",
    "text/xml; charset=UTF-8",
    "text/xml;charset=iso-8859-1",
    'application/soap+xml; charset=utf-8; action="urn:x"',
    "application/gml+xml; version=3.2",
    "text/plain;charset=UTF-8",
    "application/json",
    "multipart/form-data; boundary=xx",
    "application/octet-stream",
    "APPLICATION/XML",
)


def uploads():
    """(target, headers, body) of POSTs that are told by their headers, and of such as only look like one."""
    here = SCRIPT + b"?map=WORLD"
    picture = f"map=WORLD&service=WMS&version=1.1.1&srs=EPSG:4326&{WMS_MAP}&request=GetMap".encode()
    style = quote(STYLE).encode()
    for kind in TYPES:
        for body in (FEATURES.encode(), picture):
            yield here, (("Content-Type", kind),), body
    yield here, (), FEATURES.encode()
    yield SCRIPT, (("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8"),), picture
    yield SCRIPT, (FORM,), picture + b"&sld_body=" + style
    yield SCRIPT, (FORM,), picture + b"&sld_body=" + style * 4
    yield SCRIPT + b"?" + picture, (FORM,), b"layers=lakes&layers=rivers"
    yield here + b"&service=WMS", (FORM,), b"request=GetCapabilities"
    yield here + b"&service=WFS&request=GetCapabilities", (XML,), FEATURES.encode()
    yield here, (XML, ("Content-Encoding", "gzip")), gzip.compress(FEATURES.encode(), mtime=0)
    yield here, (XML, ("Expect", "100-continue")), FEATURES.encode()
    yield here, (FORM, ("Content-Length", "0")), b""
    yield here, (("Content-Length", "0"),), b""
    yield SCRIPT, (FORM, ("Cookie", "map=WORLD; mode=map")), b"layers=countries"
    yield SCRIPT + b"/WORLD/ogcapi/collections/cities/items", (("Content-Type", "application/geo+json"),), b"{}"


def with_headers():
    """(target, headers) of GETs whose headers could make a difference."""
    picture = f"map=WORLD&service=WMS&version=1.1.1&srs=EPSG:4326&{WMS_MAP}&request=GetMap"
    targets = (
        f"?{picture}",
        "?map=WORLD&service=WMS&request=GetCapabilities",
        "?map=WORLD&service=WFS&version=1.1.0&request=GetFeature&typename=cities&maxfeatures=3",
        "/WORLD/ogcapi/collections/cities/items?limit=2",
        "/WORLD/ogcapi",
    )
    for header in (
        ("Range", "bytes=0-99"),
        ("If-None-Match", '"x"'),
        ("If-Modified-Since", "Mon, 30 Nov 2026 10:00:00 GMT"),
        ("Accept-Encoding", "gzip, br"),
        ("Accept", "text/html,application/xhtml+xml"),
        ("Accept", "application/json"),
        ("Accept-Language", "de, en;q=0.5"),
        ("Cookie", "layers=lakes; PHPSESSID=1"),
        ("Authorization", "Basic eA=="),
    ):
        for target in targets:
            yield SCRIPT + target.encode(), (header,)


def ogc_api():
    for path in ("", "/", "/conformance", "/collections", "/collections/cities", "/collections/cities/items", "/api"):
        for form in ("json", "html"):
            yield f"/WORLD/ogcapi{path}?f={form}&limit=3"
    yield "/WORLD/ogcapi/collections/nowhere?f=json"
    yield "/WORLD/ogcapi/collections/cities/items?f=json&limit=2&offset=4"
    for path in ("/collections/cities/items/0", "/collections/cities/items/999999", "/nothing", "/static/none.css"):
        yield f"/WORLD/ogcapi{path}?f=json"
    for query in ("bbox=0,40,10,50", "limit=0", "limit=abc", "limit=2&offset=99999", "crs=x", "f=xml"):
        yield f"/WORLD/ogcapi/collections/cities/items?{query}"
    yield "/WORLD"
    yield "/NOWHERE/ogcapi?f=json"


def requests():
    """(method, target, headers, body), all as bytes where a request is."""
    queries = [query.encode() for kind in (wms, wfs, coverages, observations, pages) for query in kind()]
    for query in queries + world.queries():
        yield "GET", SCRIPT + b"?" + query, (), b""
    for query in queries:
        yield "POST", SCRIPT, (FORM,), query
    for document in documents():
        yield "POST", SCRIPT + b"?map=WORLD", (XML,), document.encode()
    for document in service_documents():
        yield "POST", SCRIPT + b"?map=SERVICES", (XML,), document.encode()
    for target, headers, body in uploads():
        yield "POST", target, headers, body
    for target, headers in with_headers():
        yield "GET", target, headers, b""
    for method in ("PUT", "DELETE", "PATCH"):
        yield method, SCRIPT + b"?map=WORLD", (), b""
    for path in ogc_api():
        yield "GET", SCRIPT + path.encode(), (), b""


class Replay(SceneCase):
    @classmethod
    def build(cls):
        cls.fleet = fleet.Fleet(cls.scene, 2, workers=2, first_address=41).start()
        cls.balancers = {
            mode: Balancer(cls.scene, cls.fleet, name=mode, keep_connections=4, lines=f"mode = {mode}\n").start()
            for mode in ("auto", "relay")
        }
        for balancer in cls.balancers.values():
            wait_until_usable(balancer, 2)
        places = [host.web.authority for host in cls.fleet.hosts]
        places += [f"{balancer.address}:{balancer.port}" for balancer in cls.balancers.values()]
        cls.places = re.compile("|".join(re.escape(place) for place in places).encode())

    def unified(self, answer):
        body = self.places.sub(b"AUTHORITY", answer.body)
        for host in self.fleet.hosts:
            body = body.replace(host.folder.encode(), b"FOLDER")
        body = re.sub(rb"\b(?:world|[a-z]+)?1\d{9,}\b", b"ID", body)  # seconds since 1970 and a process id
        body = re.sub(rb'timeStamp="[^"]*"', b'timeStamp=""', body)
        return answer.status, answer.header("Content-Type"), body

    def replay(self, mode):
        balancer, host = self.balancers[mode], self.fleet.hosts[0]
        counts = {"all": 0, "fine": 0, "relayed": 0}
        for method, target, headers, body in requests():
            with self.subTest(mode=mode, method=method, target=target, body=body[:200]):
                how = {"method": method, "headers": headers, "body": body}
                direct = client.ask(host.address, self.fleet.port, target, **how)
                through = client.ask("127.0.0.1", balancer.port, target, **how)
                # Another Location is MapServer's own.
                redirected = any((through.header("Location") or "").startswith(host.url) for host in self.fleet.hosts)
                if redirected:
                    through = client.ask(*through.location, **how)
                self.assertEqual(self.unified(through), self.unified(direct))
                counts["all"] += 1
                counts["fine"] += direct.status == 200 and b"MapServer Message" not in direct.body
                counts["relayed"] += not redirected
        return counts

    def test_each_class_has_its_answer(self):
        counts = self.replay("auto")
        self.assertGreater(counts["all"], 800)
        self.assertGreater(counts["fine"], 200)
        self.assertGreater(counts["relayed"], 200)

    def test_everything_relayed(self):
        counts = self.replay("relay")
        self.assertGreater(counts["all"], 800)
        self.assertEqual(counts["relayed"], counts["all"])


if __name__ == "__main__":
    unittest.main()
