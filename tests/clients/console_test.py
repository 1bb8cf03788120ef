# SPDX-License-Identifier: MIT
"""curl, wget, Python's requests and urllib, and node's fetch: GET and POST."""

import base64
import json
import urllib.error
import urllib.request

import requests
from case import WORKS, ClientCase, everywhere, fails, fresh_folder, run
from lib import processes
from pictures import check_picture

WMS = "service=WMS&version=1.1.1&request=GetMap&styles=&srs=EPSG:4326&format=image/png&layers=countries"
GETS = (
    f"{WMS}&bbox=-180,-90,180,90&width=120&height=60",
    f"{WMS}&bbox=-10,35,40,60&width=100&height=50",
    "mode=map&layers=countries&mapsize=90+45",
    "service=WFS&version=1.1.0&request=GetFeature&typename=cities&outputformat=geojson&maxfeatures=20",
)
FORM, XML = "application/x-www-form-urlencoded", "text/xml"
FEATURES = (
    '<wfs:GetFeature xmlns:wfs="http://www.opengis.net/wfs" service="WFS" version="1.1.0" maxFeatures="20" '
    'outputFormat="geojson"><wfs:Query typeName="cities"/></wfs:GetFeature>'
)
POSTS = ((GETS[0], FORM), (GETS[1], FORM), (FEATURES, XML))


def answers_are_right(answers):
    """Pictures, and features at the end."""
    for picture in answers[:-1]:
        check_picture(picture)
    try:
        count = len(json.loads(answers[-1])["features"])
    except ValueError as problem:
        raise processes.Failed(f"no features: {answers[-1]!r:.300}") from problem
    if count != 20:
        raise processes.Failed(f"{count} features; wanted 20")
    return answers


def node(exchanges):
    """[url, body, type] -> bytes, in one process."""
    program = """
      const answers = [];
      for (const [url, body, type] of JSON.parse(process.argv[1])) {
        const how = body ? {method: "POST", body, headers: {"Content-Type": type}} : {};
        const answer = await fetch(url, how);
        answers.push(Buffer.from(await answer.arrayBuffer()).toString("base64"));
      }
      console.log(JSON.stringify(answers));"""
    printed = run(["node", "--input-type=module", "-e", program, json.dumps(exchanges)])
    return [base64.b64decode(answer) for answer in json.loads(printed)]


class Console(ClientCase):
    def gets(self, client, get, wanted=None):
        self.line(
            client, lambda url: answers_are_right([get(f"{url}&{query}") for query in GETS]), wanted or everywhere()
        )

    def posts(self, client, post, wanted=None):
        self.line(client, lambda url: answers_are_right([post(url, *what) for what in POSTS]), wanted or everywhere())

    def test_curl(self):
        self.gets("`curl -L`, GET", lambda url: run(["curl", "-sSfL", url]))
        self.posts(
            "`curl -L`, POST",
            lambda url, body, kind: run(["curl", "-sSfL", "--data", body, "-H", f"Content-Type: {kind}", url]),
        )

    def test_a_client_that_follows_no_redirect(self):
        # It shows people the body of the redirect.
        wanted = everywhere(fails("no picture"), relay=WORKS)
        self.gets("`curl` without `-L`, GET", lambda url: run(["curl", "-sSf", url]), wanted)

    def test_python_urllib(self):
        def ask(url, body=None, kind=""):
            request = urllib.request.Request(url, body and body.encode(), {"Content-Type": kind})
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return answer.read()
            except urllib.error.URLError as problem:
                raise processes.Failed(str(problem)) from problem

        self.gets("Python urllib, GET", ask)
        no_307 = fails("307")
        self.posts("Python urllib, POST", ask, everywhere(redirect=no_307, redirect_set=no_307))

    def test_wget(self):
        file = f"{fresh_folder('wget')}/body"

        def post(url, body, kind):
            with open(file, "w", encoding="utf-8") as out:
                out.write(body)
            return run(["wget", "-qO-", f"--post-file={file}", f"--header=Content-Type: {kind}", url])

        self.gets("wget, GET", lambda url: run(["wget", "-qO-", url]))
        self.posts("wget, POST", post)

    def test_python_requests(self):
        with requests.Session() as session:
            session.trust_env = False
            self.gets("Python requests, GET", lambda url: session.get(url, timeout=20).content)
            self.posts(
                "Python requests, POST",
                lambda url, body, kind: session.post(url, body, headers={"Content-Type": kind}, timeout=20).content,
            )

    def test_node(self):
        self.line(
            "node fetch, GET",
            lambda url: answers_are_right(node([[f"{url}&{query}", "", ""] for query in GETS])),
            everywhere(),
        )
        self.line(
            "node fetch, POST",
            lambda url: answers_are_right(node([[url, *what] for what in POSTS])),
            everywhere(),
        )

