"""Response times of the pages with fifty simultaneous visitors, whose requests are all new.

    python -m benchmarks.visitors [--seconds 20] [--rounds 3] [--rate 12] [--visitors 50]
                                  [--store FOLDER]

The app runs in a separate process, as with `theodolite --demo`, on the loopback interface, with a
store of three encoders, invented results, and the starter topics encoded and mapped. Each visitor
has an address, as behind a proxy, and is rate-limited like any visitor. Requests fall due at the
times of a Poisson process, regardless of earlier ones (an open loop), in equal shares:

- search: a new sentence, three encoders;
- compare: a new choice of encoders and tasks;
- map: another encoder's map, then the neighbours of a point not clicked before;
- decode: a new sentence, three encoders, beam search, the page's default;
- pages: each page of the app in turn.

A request is made by an idle visitor with the page already open; its time is from when it was due to
the end of the answer. First each kind is requested once, all at the same time: this loads models
and is reported separately. With `--store`, an existing store is used again, and completed if
necessary.

Memory is measured after each round. Threads and models are allocated in the first; from then on it
must stay flat. `--rounds 9` makes some 2,160 requests.
"""

import argparse
import asyncio
import random
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil

from benchmarks.claims import at_most, within
from benchmarks.startup import served
from tests.fakes.stores import invent
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.search import service as retrieval
from theodolite.app.workspace import STARTER_ENCODERS, Workspace

LIMIT = 2.0
"""Limit on the 95th percentile of the seconds to an answer, for every kind."""
GIVEN_UP = 60.0
COLLECTION = "starter-topics"
INVENTED = [f"random:{32 + place}" for place in range(10)]
TASKS = (
    "MR",
    "CR",
    "SUBJ",
    "MPQA",
    "SST2",
    "TREC",
    "MRPC",
    "Length",
    "WordContent",
    "Depth",
    "TopConstituents",
    "BigramShift",
)
EVENTS: dict[str, tuple[str, str]] = {
    "search": ("search-button", "click"),
    "compare": ("baseline", "input"),
    "map": ("min_dist", "input"),
    "decode": ("decode-button", "click"),
}
OPENED: dict[str, dict[str, list[str]]] = {"compare": {"encoder": INVENTED}}
"""The query of a tab's address, by kind."""
KINDS = (*EVENTS, "pages")
POINTS = 2000
SETTLED_SECONDS = 3.0
"""From the visitors' disconnection until the server has noticed it."""
DESCRIPTORS_MORE = 120
"""Most additional descriptors, of idle threads and their store connections; macOS allows 256."""
MEBIBYTES_MORE = 500.0
"""Most additional memory of threads and open tabs, independently of the duration."""
MEBIBYTES_A_ROUND = 10.0
"""Most median growth per round after the first, for memory to count as flat."""
VISITORS = """
import sys
from pathlib import Path
from theodolite.app import ui
from theodolite.app.workspace import Workspace
workspace = Workspace(Path(sys.argv[2]), demo=True)
ui.launch(workspace, port=int(sys.argv[1]), open_browser=False)
"""
WORDS = {
    "how": "old young tired happy quiet small tall clever careful famous angry friendly".split(),
    "who": "dog teacher singer farmer doctor child painter sailor neighbour student cat".split(),
    "does": "sleeps sings waits works laughs reads writes runs dances cooks swims cries".split(),
    "where": "near behind under inside outside beside above before".split(),
    "what": "house river bridge school garden station market church hotel forest lake".split(),
}


ADDRESS: ContextVar[str] = ContextVar("address")
"""Address of the visitor who makes the current request."""


async def sign(request: httpx.Request) -> None:
    """Add the visitor's address to a request, as a proxy does."""
    request.headers["X-Forwarded-For"] = ADDRESS.get("127.0.0.1")


@dataclass
class Times:
    """Seconds from due to answered, by round and kind; MiB after each round; failures."""

    rounds: list[dict[str, list[float]]] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def of(self, kind: str) -> list[float]:
        """Seconds of one kind in all rounds."""
        return [seconds for one in self.rounds for seconds in one[kind]]


def fill(store: Path) -> None:
    """Fill a store with the data of a demo."""
    workspace = Workspace(store)
    for name in STARTER_ENCODERS:
        encoders.add(workspace, name)
        retrieval.nearest(workspace, name, COLLECTION, ["a first query"], retrieval.Limits(1))
        MapSpec(name, COLLECTION, "quick").make(workspace)
    for name, accuracy in zip(INVENTED, np.linspace(0.6, 0.9, len(INVENTED)), strict=True):
        for task in TASKS:
            invent(workspace, name, task, float(accuracy))
    workspace.close()


class Site:
    """A client of the app, which fires events by their elements."""

    def __init__(self, client: httpx.AsyncClient, config: dict[str, Any], seed: int) -> None:
        self.client, self.chance = client, random.Random(seed)
        self._events = [one for one in config["dependencies"] if one["backend_fn"]]
        self._names = {one["id"]: one["props"].get("elem_id") for one in config["components"]}
        self._values = {one["id"]: one["props"].get("value") for one in config["components"]}
        self._asked: set[str] = set()
        self.pages = cycle([path for path, *_ in config["pages"]])
        self.encoders = cycle(STARTER_ENCODERS)

    async def fire(self, session: str, element: str, event: str, **values: Any) -> str:
        """Send an event as the page would; return everything received."""
        found = self._event(element, event, values)
        data = [values.get(self._names[one] or "") for one in found["inputs"]]
        return await self._answer(session, found["id"], data, {})

    async def open(
        self, session: str, element: str, event: str, query: dict[str, list[str]]
    ) -> None:
        """Load the page of an event: the app refuses choices that it did not offer."""
        wanted = set(self._event(element, event, {})["inputs"])
        for one in self._events:
            loads = any(name == "load" for _, name in one["targets"])
            if loads and wanted & set(one["outputs"]):
                data = [self._values[number] for number in one["inputs"]]
                await self._answer(session, one["id"], data, query)

    async def _answer(
        self, session: str, number: int, data: list[Any], query: dict[str, list[str]]
    ) -> str:
        body = {"fn_index": number, "data": data, "session_hash": session}
        joined = await self.client.post("gradio_api/queue/join", json=body, params=query)
        joined.raise_for_status()
        url, about = "gradio_api/queue/data", {"session_hash": session}
        said = ""
        async with self.client.stream("GET", url, params=about) as lines:
            async for line in lines.aiter_lines():
                said += line
                if '"process_completed"' in line:
                    if '"success":true' not in line or "t-notice t-bad" in said:
                        raise RuntimeError(line[:300])
                    return said
        raise RuntimeError("no answer")

    def _event(self, element: str, event: str, values: dict[str, Any]) -> dict[str, Any]:
        """The event of an element that takes all of these values."""
        for one in self._events:
            fired = {(self._names.get(target), name) for target, name in one["targets"]}
            taken = {self._names.get(number) for number in one["inputs"]}
            if (element, event) in fired and taken >= values.keys():
                return dict(one)
        raise RuntimeError(f"no event of {element} takes {sorted(values)}")

    def sentence(self) -> str:
        """A sentence that was not used before."""

        def draw() -> str:
            how, who, does, where, what = (self.chance.choice(words) for words in WORDS.values())
            return f"The {how} {who} {does} {where} the {self.chance.choice(WORDS['how'])} {what}."

        return str(self.new(draw))

    def new(self, draw: Callable[[], Any]) -> Any:
        """Draw until the value was not drawn before."""
        while True:
            drawn = draw()
            if repr(drawn) not in self._asked:
                self._asked.add(repr(drawn))
                return drawn


class Visitor:
    """A visitor with each of the pages open in a tab."""

    def __init__(self, site: Site, number: int) -> None:
        self.site = site
        self._address = f"10.0.{number // 250}.{number % 250 + 1}"
        self.tabs = {kind: f"{site.chance.getrandbits(48):x}" for kind in EVENTS}

    async def open(self) -> None:
        """Open the tabs."""
        ADDRESS.set(self._address)
        for kind, asked in EVENTS.items():
            await self.site.open(self.tabs[kind], *asked, OPENED.get(kind, {}))

    async def ask(self, kind: str) -> None:
        """Make one request of a kind."""
        ADDRESS.set(self._address)
        await getattr(self, kind)()

    async def search(self) -> None:
        """Search with three encoders."""
        await self._fire(
            "search",
            query=self.site.sentence(),
            data=COLLECTION,
            by="meaning",
            k=10,
            only=[],
            unlike="",
            encoders=list(STARTER_ENCODERS),
        )

    async def compare(self) -> None:
        """Compare some encoders on some tasks."""
        draw = self.site.chance.sample
        chosen, tasks = self.site.new(lambda: (draw(INVENTED, 3), draw(TASKS, 6)))
        await self._fire(
            "compare",
            encoders=chosen,
            baseline=chosen[0],
            protocol="",
            tasks=tasks,
            published=[],
        )

    async def map(self) -> None:
        """Open a map, and the neighbours of a point."""
        encoder = next(self.site.encoders)
        shown = await self._fire(
            "map",
            encoder=encoder,
            data=COLLECTION,
            method="pca",
            neighbours=15,
            min_dist=0.1,
            seed="0",
            **{"following-run": ""},
        )
        url = re.findall(r"theodolite/map/\w+", shown)[-1]
        _, number = self.site.new(lambda: (encoder, self.site.chance.randrange(POINTS)))
        (await self.site.client.get(f"{url}/point", params={"id": number})).raise_for_status()

    async def decode(self) -> None:
        """Decode a sentence with three encoders."""
        await self._fire(
            "decode",
            sentence=self.site.sentence(),
            encoders=list(STARTER_ENCODERS),
            method="beam",
            beams=5,
            temperature=1,
            share=0.9,
            seed=0,
            corrections=0,
        )

    async def pages(self) -> None:
        """Get the HTML of a page."""
        (await self.site.client.get(next(self.site.pages))).raise_for_status()

    async def _fire(self, kind: str, **values: Any) -> str:
        return await self.site.fire(self.tabs[kind], *EVENTS[kind], **values)


async def load(
    visitors: list[Visitor], options: argparse.Namespace, server: psutil.Process
) -> Times:
    """Make the requests of all rounds, without a pause between rounds."""
    free: asyncio.Queue[Visitor] = asyncio.Queue()
    for visitor in visitors:
        free.put_nowait(visitor)
    times = Times([{kind: [] for kind in KINDS} for _ in range(options.rounds)])
    chance = random.Random(options.seed)
    began = time.perf_counter()

    async def ask(due: float, kind: str) -> None:
        visitor = await free.get()
        try:
            await asyncio.wait_for(visitor.ask(kind), GIVEN_UP)
        except (httpx.HTTPError, RuntimeError, TimeoutError) as error:
            times.failed.append(f"{kind}: {error!r}"[:400])
        took = time.perf_counter() - began - due
        times.rounds[int(due / options.seconds)][kind].append(took)
        free.put_nowait(visitor)

    asking = []
    for due, kind in dues(chance, options.rate, options.seconds * options.rounds):
        if due > options.seconds * (len(times.memory) + 1):
            times.memory.append(held(server)[1])
        await asyncio.sleep(max(0.0, began + due - time.perf_counter()))
        asking.append(asyncio.create_task(ask(due, kind)))
    await asyncio.gather(*asking)
    times.memory.append(held(server)[1])
    return times


def dues(chance: random.Random, rate: float, seconds: float) -> Iterator[tuple[float, str]]:
    """Yield due times and kinds of requests: random permutations of the kinds, one by one."""
    now, waiting = 0.0, list[str]()
    while (now := now + chance.expovariate(rate)) < seconds:
        waiting = waiting or chance.sample(KINDS, len(KINDS))
        yield now, waiting.pop()


async def firsts(visitor: Visitor) -> dict[str, float]:
    """Seconds of the first answer of each kind, all requested at the same time."""

    async def one(kind: str) -> tuple[str, float]:
        began = time.perf_counter()
        await visitor.ask(kind)
        return kind, time.perf_counter() - began

    return dict(await asyncio.gather(*(one(kind) for kind in KINDS)))


def held(server: psutil.Process) -> tuple[int, float]:
    """File descriptors and resident MiB of the server."""
    return server.num_fds(), server.memory_info().rss / 2**20


async def visited(address: str, options: argparse.Namespace) -> bool:
    """Put a running app under load and report; return whether all targets are met."""
    (server,) = psutil.Process().children()
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=options.visitors)
    signed: dict[str, Any] = {"event_hooks": {"request": [sign]}}
    async with httpx.AsyncClient(
        base_url=address, timeout=GIVEN_UP, limits=limits, **signed
    ) as client:
        config = (await client.get("config")).raise_for_status().json()
        site = Site(client, config, options.seed)
        visitors = [Visitor(site, number) for number in range(options.visitors)]
        for visitor in visitors:
            await visitor.open()
        first = await firsts(visitors[0])
        before, used = held(server), server.cpu_times()
        times = await load(visitors, options, server)
        spent = server.cpu_times()
    await asyncio.sleep(SETTLED_SECONDS)
    after = held(server)
    return report(times, first, before, after, spent.user + spent.system - used.user - used.system)


def report(
    times: Times,
    first: dict[str, float],
    before: tuple[int, float],
    after: tuple[int, float],
    cpu: float,
) -> bool:
    """Print a table and a line per claim; return whether all targets are met."""
    print(f"{'':10}{'first':>8}{'p50':>8}{'p95':>8}{'most':>8}{'answers':>9}   seconds")
    for kind, took in first.items():
        found = times.of(kind)
        print(
            f"{kind:10}{took:8.2f}{statistics.median(found):8.2f}{p95(found):8.2f}"
            f"{max(found):8.2f}{len(found):9}"
        )
    print(
        f"server: {cpu:.1f} CPU s; {before[0]} descriptors before, {after[0]} after; "
        f"{before[1]:.0f} MiB before, {after[1]:.0f} MiB after"
    )
    print("MiB after each round: " + ", ".join(f"{mib:.0f}" for mib in times.memory))
    for failure in times.failed[:5]:
        print(f"failed: {failure}")
    grown = np.diff(times.memory)
    met = [
        at_most("requests that failed", len(times.failed), 0),
        at_most("descriptors more", after[0] - before[0], DESCRIPTORS_MORE),
        at_most("MiB more", after[1] - before[1], MEBIBYTES_MORE),
        at_most(
            "MiB more a round", float(np.median(grown)) if len(grown) else 0.0, MEBIBYTES_A_ROUND
        ),
        *(
            within(f"visitors.{kind}.p95", LIMIT, [p95(one[kind]) for one in times.rounds])
            for kind in first
        ),
    ]
    return all(met)


def p95(seconds: list[float]) -> float:
    """The 95th percentile."""
    return float(np.quantile(seconds, 0.95))


def main() -> int:
    """Measure and report; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--rate", type=float, default=12.0, help="requests a second")
    parser.add_argument("--seconds", type=float, default=20.0, help="of a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    if options.rate * options.seconds < 2 * len(KINDS):
        parser.error("so few requests that a round may lack a kind")
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or Path(folder)
        fill(store)
        with served(VISITORS, store) as address:
            met = asyncio.run(visited(address, options))
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
