# SPDX-License-Identifier: MIT
"""What clients are told where no host can answer: each in its own format."""

import collections
import json
import xml.etree.ElementTree

from lib import client
from lib.balancer import Balancer
from lib.case import SceneCase


class Nowhere:
    """A fleet whose only host has weight 0."""

    script, probe_port = "/cgi-bin/mapserv", 9
    hosts = (collections.namedtuple("Named", "name url")("nobody", "http://127.0.0.1:9"),)


class Exceptions(SceneCase):
    @classmethod
    def build(cls):
        cls.balancer = Balancer(
            cls.scene, Nowhere(), watch="on-demand", host_options={"nobody": "weight=0 probe=none"}
        ).start()

    def ask(self, target, **how):
        answer = client.ask("127.0.0.1", self.balancer.port, f"/cgi-bin/mapserv{target}", **how)
        self.assertEqual((answer.status, answer.header("Retry-After")), (503, "5"))
        return answer

    def test_people_get_a_page(self):
        for query in ("?map=WORLD&mode=browse", "?mode=map", "", "/WORLD/ogcapi?f=html"):
            answer = self.ask(query)
            self.assertEqual(answer.header("Content-Type"), "text/html; charset=utf-8")
            self.assertIn(b"Every map host has weight 0", answer.body)

    def test_map_clients_get_an_exception_of_their_service_and_version(self):
        se_xml, xml_type = "application/vnd.ogc.se_xml; charset=utf-8", "text/xml; charset=utf-8"
        ogc, ows = "{http://www.opengis.net/ogc}ServiceException", "{http://www.opengis.net/ows%s}ExceptionText"
        for query, content_type, version, text in (
            ("SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap", se_xml, "1.1.1", "ServiceException"),
            ("SERVICE=WMS&VERSION=1.3.0&REQUEST=GetMap&EXCEPTIONS=INIMAGE", xml_type, "1.3.0", ogc),
            ("SERVICE=WFS&VERSION=1.0.0&REQUEST=GetFeature", xml_type, "1.2.0", ogc),
            ("SERVICE=WFS&VERSION=1.1.0&REQUEST=GetFeature", xml_type, "1.1.0", ows % ""),
            ("SERVICE=WFS&VERSION=2.0.0&REQUEST=GetFeature", xml_type, "2.0.0", ows % "/1.1"),
            ("SERVICE=WCS&VERSION=1.0.0&REQUEST=GetCoverage", se_xml, "1.2.0", ogc),
            ("SERVICE=WCS&VERSION=1.1.1&REQUEST=GetCoverage", xml_type, "1.1.1", ows % "/1.1"),
            ("SERVICE=WCS&VERSION=2.0.1&REQUEST=GetCoverage", xml_type, "2.0.1", ows % "/2.0"),
            ("SERVICE=SOS&VERSION=1.0.0&REQUEST=GetObservation", xml_type, "1.0.0", ows % "/1.1"),
        ):
            with self.subTest(query):
                answer = self.ask(f"?map=WORLD&{query}")
                self.assertEqual(answer.header("Content-Type"), content_type)
                report = xml.etree.ElementTree.fromstring(answer.body)
                self.assertEqual(report.get("version"), version)
                self.assertIn("Every map host has weight 0", report.find(f".//{text}").text)

    def test_json_where_it_is_asked(self):
        answer = self.ask("?SERVICE=WMS&VERSION=1.3.0&REQUEST=GetMap&EXCEPTIONS=application/json")
        self.assertIn("weight 0", json.loads(answer.body)["exceptions"][0]["text"])
        answer = self.ask("/WORLD/ogcapi/collections")
        self.assertEqual(answer.header("Content-Type"), "application/problem+json")
        self.assertEqual(json.loads(answer.body)["status"], 503)

    def test_a_posted_document_gets_one(self):
        headers = [("Content-Type", "text/xml")]
        answer = self.ask("", method="POST", body=b"<GetFeature/>", headers=headers)
        self.assertTrue(xml.etree.ElementTree.fromstring(answer.body).tag.endswith("ExceptionReport"))
