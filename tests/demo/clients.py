# SPDX-License-Identifier: MIT
"""Map clients: they arrive at random at a given mean rate, ask a balancer, follow its redirect and draw the map.

Each request carries a number of its own (demo=N), by which the hosts' access logs tell which of them arrived where.
"""

import http.client
import queue
import random
import threading
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

WORKERS = 48
TIMEOUT = 20.0


@dataclass
class Record:
    """What became of one request. Instants are seconds since 1970."""

    number: int
    asked_at: float
    redirected_at: float = 0.0  # 0: it never was
    redirect_seconds: float = 0.0
    host: str = ""  # its authority, as the redirect named it
    done_at: float = 0.0
    error: str = ""

    @property
    def failed(self):
        return bool(self.error)

    @property
    def seconds(self):
        return self.done_at - self.asked_at


def request_pool(seed=1999):
    """Queries as map clients send them: WMS pictures and tiles of many places and sizes, classic maps, legends."""
    chance = random.Random(seed)
    pool = []
    for _ in range(40):
        width = chance.choice((256, 300, 400))
        west, south = chance.uniform(-170, 100), chance.uniform(-60, 30)
        span = chance.choice((20, 40, 60))
        layers = chance.choice(("countries,rivers,lakes", "countries,lakes,cities", "graticule,countries,labels"))
        form = chance.choice(("image/png", "image/png", "image/jpeg"))
        pool.append(
            "map=WORLD&SERVICE=WMS&VERSION=1.1.1&REQUEST=GetMap&STYLES=&SRS=EPSG:4326"
            f"&LAYERS={layers}&BBOX={west:.2f},{south:.2f},{west + span:.2f},{south + span:.2f}"
            f"&WIDTH={width}&HEIGHT={width}&FORMAT={form}"
        )
    for _ in range(12):
        west, south = chance.uniform(-170, 100), chance.uniform(-60, 30)
        extent = f"{west:.2f}+{south:.2f}+{west + 50:.2f}+{south + 25:.2f}"
        pool.append(f"map=WORLD&mode=map&layers=all&mapext={extent}&mapsize=400+200")
    for _ in range(10):
        pool.append(f"map=WORLD&mode=tile&tilemode=gmap&layers=all&tile={chance.randrange(8)}+{chance.randrange(8)}+3")
    pool.append("map=WORLD&SERVICE=WMS&VERSION=1.1.1&REQUEST=GetLegendGraphic&LAYER=cities&FORMAT=image/png")
    chance.shuffle(pool)
    return pool


def fetch(authority, target):
    """GET over a connection of its own: status, headers, length of the body."""
    connection = http.client.HTTPConnection(authority, timeout=TIMEOUT)
    try:
        connection.request("GET", target, headers={"User-Agent": "mapbalance-demo"})
        response = connection.getresponse()
        return response.status, response.headers, len(response.read())
    finally:
        connection.close()


def ask_one_of(balancers, target):
    """Asks the first of them that takes the connection, as a client does that finds several addresses for a name."""
    for authority in balancers[:-1]:
        try:
            return fetch(authority, target)
        except ConnectionRefusedError:
            continue
    return fetch(balancers[-1], target)


class Clients:
    """Runs from start() to stop(). `balancers` are authorities; each request begins with another one at random."""

    def __init__(self, balancers, seed=2026):
        self.balancers = balancers
        self.records = []  # finished ones, appended by the workers
        self.rate = 0.0  # requests a second; 0 pauses
        self._chance = random.Random(seed)
        self._pool = request_pool()
        self._tasks = queue.SimpleQueue()
        self._sent = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(WORKERS)]
        self._threads.append(threading.Thread(target=self._arrive, daemon=True))

    def start(self):
        for thread in self._threads:
            thread.start()

    def stop(self):
        """Lets the requests that are under way finish; those that no client has begun are dropped."""
        self._stop.set()
        for _ in range(WORKERS):
            self._tasks.put(None)
        for thread in self._threads:
            thread.join(TIMEOUT + 5)

    def _arrive(self):
        due = time.monotonic()
        while not self._stop.is_set():
            if self.rate <= 0:
                time.sleep(0.05)
                due = time.monotonic()
                continue
            due += self._chance.expovariate(self.rate)
            time.sleep(max(0.0, due - time.monotonic()))
            query = self._pool[self._sent % len(self._pool)]
            order = self._chance.sample(self.balancers, len(self.balancers))
            self._sent += 1
            self._tasks.put((self._sent, query, order))

    def _work(self):
        while True:
            task = self._tasks.get()
            if task is None or self._stop.is_set():
                return
            self.records.append(draw_a_map(*task))


def draw_a_map(number, query, balancers):
    """One request, from the question to the picture."""
    record = Record(number, asked_at=time.time())
    began = time.monotonic()
    try:
        status, headers, _ = ask_one_of(balancers, f"/cgi-bin/mapserv?{query}&demo={number}")
        record.redirect_seconds = time.monotonic() - began
        if status != 302:
            record.error = f"the balancer answered {status}, wanted 302"
        else:
            record.redirected_at = time.time()
            url = urlsplit(headers["Location"])
            record.host = url.netloc
            status, headers, _ = fetch(url.netloc, f"{url.path}?{url.query}")
            if status != 200 or not headers.get("Content-Type", "").startswith("image/"):
                record.error = f"{url.netloc} answered {status} {headers.get('Content-Type')}, wanted an image"
    except (OSError, http.client.HTTPException) as error:
        record.error = f"{record.host or 'balancer'}: {type(error).__name__} {error}"
        if not record.redirected_at:
            record.redirect_seconds = time.monotonic() - began
    record.done_at = time.time()
    return record


def draw_all_the_time(authorities, script, seconds):
    """Three clients for each host that ask it directly, over and over: the maps drawn, and the time it took."""
    pool = request_pool()
    counts = [0] * (3 * len(authorities))
    end = time.monotonic() + seconds

    def draw(worker):
        turn = worker * 7
        while time.monotonic() < end:
            fetch(authorities[worker % len(authorities)], f"{script}?{pool[turn % len(pool)]}")
            turn += 1
            counts[worker] += 1

    threads = [threading.Thread(target=draw, args=(worker,), daemon=True) for worker in range(len(counts))]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts), time.monotonic() - began
