"""How long MTEB's tasks take: ours against plain mteb, same encoder and data, in one run.

    THEODOLITE_DATA=... python -m benchmarks.mteb [--all | --only NAME ...] [--encoders SPEC ...]

Measures a small set of each type in the data folder's `mteb/`, or all sets. The latter takes hours,
so each result can be logged at once (`--log FILE`); a run with the same log continues it.

Ours is `evaluate` under `mteb-v2`, cold with an empty vector cache and warm with a full one. Plain
mteb is `mteb.evaluate` with the encoder as its users have it: all-MiniLM-L6-v2 by
sentence-transformers, or wordllama's own `embed`. It keeps no vectors, so the warm ratio compares
ours without encoding to mteb with it. Reading data and weights counts for neither side, nor do
imports: each type of task runs once before.

Scores are compared with those of mteb on its own vectors; if they differ, since vectors may differ
in the last bit, with those of mteb on ours, marked `same vectors`. On a CPU the clock is CPU
seconds.
"""

import argparse
import json
import logging
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch

import numpy as np

from benchmarks.claims import at_least, claim
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.types import DatasetInfo
from theodolite.engine.encoders import MemoryCache, load
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.encoders.cached import CachedEncoder
from theodolite.engine.encoders.packaged import (
    MINILM,
    MINILM_FILES,
    WORDLLAMA,
    WORDLLAMA_FILES,
    verified_folder,
)
from theodolite.engine.evaluate import evaluate
from theodolite.engine.mteb import conversion
from theodolite.engine.mteb.model import Model, texts
from theodolite.engine.mteb.package import lazy_import, package
from theodolite.engine.results import Result
from theodolite.engine.tasks import get

T = TypeVar("T")

PROTOCOL, SEED = "mteb-v2", 42
ENCODERS = ("wordllama", "minilm")
COLD, WARM = {"wordllama": 2.0, "minilm": 1.0}, 6.7
ROUNDS = ("cold", "plain", "warm")
"""Fields of a row with one cost per round."""
SAME, COSINE, COMPARED = 1e-6, 0.999999, 64
TASK = {"Classification": "/few-shot", "Clustering": "/cluster"}
"""Task suffix of labelled sentences by mteb's type; other sets are one task of the same name."""
SMALL = (
    *("biosses", "tweeteval_irony", "tweet", "rte3"),
    *("xquad/en", "trecqa", "tatoeba/afr-eng", "summeval"),
)
"""One small set per type."""


class Cost(NamedTuple):
    """Seconds of one run."""

    encoding: float
    scoring: float

    @property
    def whole(self) -> float:
        """Encoding and scoring together."""
        return self.encoding + self.scoring


class Row(NamedTuple):
    """Measurements of a set: costs per round, agreement of the scores, lowest cosine of vectors."""

    name: str
    type: str
    cold: list[Cost]
    plain: list[Cost]
    warm: list[Cost]
    same: str
    note: str
    cosine: float


class WordLlama:
    """The wordllama package as a model of mteb's."""

    def __init__(self) -> None:
        from wordllama import WordLlama as Package

        self.package = Package.load(
            cache_dir=verified_folder(WORDLLAMA, WORDLLAMA_FILES), disable_download=True
        )
        self.mteb_model_meta = lazy_import("models.model_meta.ModelMeta").create_empty(
            {"name": "wordllama/l2_supercat", "revision": "1"}
        )

    def encode(self, inputs: Any, **options: Any) -> np.ndarray:
        """Encode all texts of a loader in one call."""
        return np.asarray(self.package.embed(texts(inputs, "a task")))

    def similarity(self, left: Any, right: Any) -> Any:
        """Cosines of all pairs."""
        return lazy_import("similarity_functions.cos_sim")(left, right)

    def similarity_pairwise(self, left: Any, right: Any) -> Any:
        """Cosines of corresponding rows."""
        return lazy_import("similarity_functions.pairwise_cos_sim")(left, right)


class Bench:
    """An encoder in both forms: ours, and that for plain mteb."""

    def __init__(self, spec: str, device: str, catalog: Catalog) -> None:
        mine = load(spec, cache=MemoryCache(), device=device)
        assert isinstance(mine, CachedEncoder)  # noqa: S101 - for the type checker
        self.spec, self.mine, self.catalog = spec, mine, catalog
        self.clock = time.process_time if device == "cpu" else time.perf_counter
        self.peer: Any
        self.embed: Callable[[list[str]], np.ndarray]
        if spec == "minilm":
            from sentence_transformers import SentenceTransformer

            model = SentenceTransformer(str(verified_folder(MINILM, MINILM_FILES)), device=device)
            wrapper = lazy_import(
                "models.sentence_transformer_wrapper.SentenceTransformerEncoderWrapper"
            )
            self.peer = wrapper(model)
            self.embed = partial(model.encode, show_progress_bar=False)
        else:
            self.peer = WordLlama()
            self.embed = self.peer.package.embed
        mine.encode(["weights are read at the first call"])
        self.embed(["weights are read at the first call"])

    def timed(self, model: Any, work: Callable[[], T]) -> tuple[Cost, T]:
        """Run once; return the cost, with the model's `encode` timed separately, and the result."""
        plain, encoding = model.encode, 0.0

        @wraps(plain)
        def encode(*args: Any, **options: Any) -> Any:
            nonlocal encoding
            begun = self.clock()
            vectors = plain(*args, **options)
            encoding += self.clock() - begun
            return vectors

        with patch.object(model, "encode", encode):
            start = self.clock()
            found = work()
            spent = self.clock() - start
        return Cost(encoding, spent - encoding), found

    def measure(self, info: DatasetInfo, rounds: int) -> Row:
        """Measure a set."""
        name = info.name + TASK.get(info.type or "", "")
        data = self.catalog.load(info.name)
        cold, plain, warm = [], [], []
        for _ in range(rounds):
            self.mine.cache = MemoryCache()
            us = partial(by_us, self.mine, name, self.catalog)
            them = partial(by_mteb, self.peer, _made(name, self.catalog))
            cold.append(self.timed(self.mine, us)[0])
            spent, theirs = self.timed(self.peer, them)
            plain.append(spent)
            spent, result = self.timed(self.mine, us)
            warm.append(spent)
        same = "yes" if difference(result, theirs) <= SAME else self._same_vectors(name, result)
        stopped = result.details.get("fits_not_converged", 0)
        note = f"logistic regression stopped unconverged ({stopped} fits)" if stopped else ""
        cosine = self._cosine(data.sentences)
        return Row(info.name, info.type or "", cold, plain, warm, same, note, cosine)

    def _same_vectors(self, name: str, result: Result) -> str:
        """Compare a result with mteb's on our vectors, in a word."""
        apart = difference(result, by_mteb(Model(self.mine), _made(name, self.catalog)))
        return "same vectors" if apart <= SAME else f"no ({apart:.1e})"

    def _cosine(self, sentences: Sequence[str]) -> float:
        """The lowest cosine of our vectors to the peer's, over some sentences."""
        some = list(dict.fromkeys(sentences))[:: max(1, len(sentences) // COMPARED)]
        left, right = self.mine.encode(some), np.asarray(self.embed(some))
        lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        known = lengths > 0
        if not known.any():
            return 1.0
        return float(((left * right).sum(1)[known] / lengths[known]).min())


def by_us(encoder: Encoder, name: str, catalog: Catalog) -> Result:
    """Evaluate one task with our code.

    Raises:
        RuntimeError: the task failed.
    """
    (result,) = evaluate(encoder, [name], protocol=PROTOCOL, seed=SEED, data=catalog)
    if result.error:
        raise RuntimeError(f"{name}: {result.error}")
    return result


def by_mteb(model: Any, made: Any) -> Mapping[str, Any]:
    """Evaluate one task with mteb, with its defaults: batches of 32, no predictions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = package().evaluate(
            model,
            made,
            cache=None,
            co2_tracker=False,
            show_progress_bar=False,
            encode_kwargs={"batch_size": 32, "show_progress_bar": False},
        )
    ((scores,),) = found.task_results[0].scores.values()
    return dict(scores)


def _made(name: str, catalog: Catalog) -> Any:
    """A new task of mteb's on our data; one per run, as mteb releases the data afterwards."""
    task = get(name, catalog)
    return conversion.make(task, catalog.load(task.dataset), SEED)


def difference(result: Result, theirs: Mapping[str, Any]) -> float:
    """The largest difference between our scores and mteb's, on a scale of 0 to 1."""
    return max(abs(one.score / 100 - theirs[one.metric]) for one in result.scores)


def warm_up(infos: Sequence[DatasetInfo], catalog: Catalog) -> None:
    """Run each type once with both, so that imports are not timed."""
    package()
    logging.getLogger("mteb").setLevel(logging.ERROR)
    encoder = load("random:16")
    for info in {info.type: info for info in infos if info.name in SMALL}.values():
        name = info.name + TASK.get(info.type or "", "")
        by_us(encoder, name, catalog)
        by_mteb(Model(encoder), _made(name, catalog))


def report(spec: str, rows: Sequence[Row], clock: str) -> None:
    """Print a table: median encoding + scoring seconds over the rounds, and ratios."""
    print(f"\n{spec}, {clock} seconds, encoding + scoring, {len(rows[0].cold)} round(s)")
    print(
        f"{'set':18}{'type':19}{'ours cold':>15}{'mteb':>15}{'ours warm':>15}"
        f"{'cold':>7}{'warm':>7}  scores"
    )
    for row in rows:
        cells = "".join(f"{_cell(costs):>15}" for costs in (row.cold, row.plain, row.warm))
        cold, warm = (statistics.median(ratios([row], which)) for which in ("cold", "warm"))
        print(
            f"{row.name:18}{row.type:19}{cells}{cold:6.1f}x{warm:6.1f}x  "
            f"{'; '.join(filter(None, (row.same, row.note)))}"
        )
    print(
        f"{sum(not row.same.startswith('no') for row in rows)} of {len(rows)} sets have mteb's "
        f"scores to {SAME:g}"
    )


def _cell(costs: Sequence[Cost]) -> str:
    encoding, scoring = (statistics.median(side) for side in zip(*costs, strict=True))
    return f"{encoding:.2f} + {scoring:.2f}"


def ratios(rows: Sequence[Row], which: str) -> list[float]:
    """Plain mteb's seconds over ours, for all sets together, one ratio per round."""
    mine = np.array([[cost.whole for cost in getattr(row, which)] for row in rows])
    plain = np.array([[cost.whole for cost in row.plain] for row in rows])
    return [float(one) for one in plain.sum(0) / np.maximum(mine.sum(0), 1e-9)]


def claims(spec: str, rows: Sequence[Row], clock: Any) -> bool:
    """Print a line per claim; return whether all targets are met."""
    lowest = min(row.cosine for row in rows)
    met = [at_least("lowest cosine to the peer's vectors", lowest, COSINE)]
    for which, target in (("cold", COLD[spec]), ("warm", WARM)):
        each = {row.name: statistics.median(ratios([row], which)) for row in rows}
        worst = min(each, key=lambda name: each[name])
        reach = sum(one >= target for one in each.values())
        print(
            f"{which}: {reach} of {len(rows)} sets reach {target:g} by themselves, the lowest "
            f"being {worst} at {each[worst]:.2f}"
        )
        met.append(claim(f"mteb.{which}.{spec}", ratios(rows, which), target, clock))
    return all(met) and not any(row.same.startswith("no") for row in rows)


def logged(log: Path | None, spec: str) -> dict[str, Row]:
    """The logged rows of an encoder by data set."""
    if log is None or not log.exists():
        return {}
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    rows = [Row(**line["row"]) for line in lines if line["encoder"] == spec]
    return {
        row.name: row._replace(
            **{which: [Cost(*cost) for cost in getattr(row, which)] for which in ROUNDS}
        )
        for row in rows
    }


def measured(
    spec: str, device: str, catalog: Catalog, infos: Sequence[DatasetInfo], options: Any
) -> list[Row]:
    """Measure every set with an encoder and log it; logged sets are not run again."""
    known = logged(options.log, spec)
    bench = Bench(spec, device, catalog)
    for done, info in enumerate(infos, 1):
        if info.name in known:
            continue
        known[info.name] = row = bench.measure(info, options.rounds)
        print(f"{spec}: {done} of {len(infos)} sets", file=sys.stderr)
        if options.log is not None:
            with options.log.open("a") as file:
                file.write(json.dumps({"encoder": spec, "row": row._asdict()}) + "\n")
    return [known[info.name] for info in infos]


def main() -> int:
    """Measure, print tables and a JSON line per claim; return 1 if a target is missed."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these sets")
    parser.add_argument("--all", action="store_true", help="every set: hours")
    parser.add_argument("--encoders", nargs="+", choices=ENCODERS, default=ENCODERS)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--log", type=Path, metavar="FILE", help="keep each set, and go on there")
    options = parser.parse_args()
    root = os.environ.get("THEODOLITE_DATA")
    if not root or not (Path(root) / "mteb").is_dir():
        print("THEODOLITE_DATA names no folder with `mteb/`: nothing to measure on.")
        return 0
    device = "cuda" if torch.cuda.is_available() else "cpu"
    clock = "cpu" if device == "cpu" else "wall"
    met = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "mteb").symlink_to((Path(root) / "mteb").resolve())
        catalog = Catalog(Path(folder))  # only the sets in `mteb/`
        every = [info for info in catalog.list() if info.type and info.origin == "folder"]
        wanted = options.only or ([info.name for info in every] if options.all else SMALL)
        unknown = set(wanted) - {info.name for info in every}
        if unknown:
            parser.error(f"no such set in {root}/mteb: {', '.join(sorted(unknown))}")
        infos = [info for info in every if info.name in wanted]
        types = {info.type for info in infos}
        warm_up([info for info in every if info.type in types], catalog)
        for spec in options.encoders:
            rows = measured(spec, device, catalog, infos, options)
            report(spec, rows, clock)
            met.append(claims(spec, rows, clock))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
