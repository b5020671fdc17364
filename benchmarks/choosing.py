"""Whether a decision sheet is right: what it recommends, its intervals, and what it promises.

    python -m benchmarks.choosing [--data ~/data] [--sheets 270] [--promises 1000] [--seed 2026]

**Sheets** of 300 rows are drawn from four labelled sets, and decided as `theodolite choose` does,
on seven encoders and their smaller forms. The truth is the accuracy on the rows left over, of a
classifier trained on the sheet's rows. **Promises**: sheets of 100, 300 and 1,000 rows are drawn
from real predictions; if one promises a verdict with some more examples, a new sheet of so many
rows is drawn and decided. The seed was fixed before the first run. Nothing here is about speed.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.claims import at_least, at_most
from theodolite.app.pages.choose.candidates import Candidate, Dtype, cheapest
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.types import LabelledSentences
from theodolite.engine.encoders import load
from theodolite.engine.encoders.steps import binary, fit_int8
from theodolite.engine.progress import nobody
from theodolite.engine.stats.bootstrap import Sample
from theodolite.engine.stats.choice import REFIT, behind, choose
from theodolite.engine.stats.power import to_show, to_tell_apart
from theodolite.engine.tasks.classification import PENALTY, measure_repeatedly

SETS = ("stackoverflow", "SUBJ", "search_snippets", "emotion")
GLOVE = "vectors/glove.6B.50d.5k.txt.gz"
COSTS = {
    "random:64": 0.08,
    "words:glove": 0.09,
    "random:256": 0.1,
    "wordllama": 0.2,
    "wordllama?pooling=max": 0.2,
    "minilm": 9.0,
    "minilm + wordllama": 9.2,
}
"""Encoder -> milliseconds for a sentence, about what they take: they only order the encoders."""
KEPT = 4000
"""Rows taken of each set, a sheet's among them."""
ROWS, MARGIN = 300, 2.0
SEEN = (100, 300, 1000)
"""Rows of the sheets that promise."""
FORMS = 4
"""An encoder's vectors, in int8, half of them in int8, binary."""
MOST_WRONG, COVERAGE = 0.05, 0.93
PROMISED = (0.75, 0.88)
"""Share of the promises of 80 % that must come true."""

Vectors = dict[str, np.ndarray]


@dataclass
class Counts:
    """What was right, by name: a list of booleans each."""

    of: dict[str, list[bool]] = field(default_factory=dict)

    def add(self, name: str, right: bool) -> None:
        """Count one."""
        self.of.setdefault(name, []).append(bool(right))

    def share(self, name: str) -> float:
        """The share that was right; NaN without any."""
        return float(np.mean(self.of[name])) if self.of.get(name) else float("nan")


def populations(root: Path) -> Iterator[tuple[str, LabelledSentences, Vectors]]:
    """Yield some rows of each set, with their vectors by every encoder."""
    catalog = Catalog(root)
    for name in SETS:
        data = catalog.load(name)
        assert isinstance(data, LabelledSentences)  # noqa: S101
        rows = np.random.default_rng(2026).permutation(len(data.labels))[:KEPT]
        texts = [data.sentences[i] for i in rows]
        found = vectors_of(name, texts, root)
        found["minilm + wordllama"] = np.hstack([found["minilm"], found["wordllama"]])
        yield name, LabelledSentences(name, texts, [data.labels[i] for i in rows]), found


def vectors_of(name: str, texts: list[str], root: Path) -> Vectors:
    """Encode the rows of a set by each encoder that is not put together from others."""
    specs = {encoder: encoder for encoder in COSTS if "+" not in encoder}
    specs["words:glove"] = f"words:{root / GLOVE}"
    return {encoder: load(spec).encode(texts) for encoder, spec in specs.items()}


class Sheet:
    """A decision on some rows of a set, and the truth on the others."""

    def __init__(self, data: LabelledSentences, vectors: Vectors, rng: np.random.Generator) -> None:
        order = rng.permutation(len(data.labels))
        labels = np.array(data.labels)
        names, counts = np.unique(labels[order[:ROWS]], return_counts=True)
        usual = np.isin(labels, names[counts >= 5])
        self.rows = np.array([i for i in order[:ROWS] if usual[i]])
        self.rest = np.array([i for i in order[ROWS:] if usual[i]])
        self.labels, self._vectors = labels, vectors
        self.data = LabelledSentences("sheet", [str(i) for i in self.rows], list(labels[self.rows]))

    def candidate(self, encoder: str) -> Candidate:
        """An encoder, measured on the rows."""
        dim = self._vectors[encoder].shape[1]
        costs = {"latency_p50": COSTS[encoder]}
        made = Candidate(encoder, encoder, {"dim": dim}, None, None, costs, None, "", dim)
        return self._measured(made, self._vectors[encoder])

    def shrunk(self, one: Candidate, dtype: Dtype, dim: int) -> Candidate:
        """The encoder with smaller vectors, measured on the rows."""
        first = self._vectors[one.encoder][:, :dim].astype(np.float64)
        made = (fit_int8(first[self.rows]) if dtype == "int8" else binary)(first)
        spec = f"{one.encoder} | dims:{dim},first | quantise:{dtype}"
        form = Candidate(one.encoder, spec, one.row, None, None, one.costs, None, "", dim, dtype)
        self._vectors = {**self._vectors, spec: made}
        return self._measured(form, made)

    def _measured(self, one: Candidate, vectors: np.ndarray) -> Candidate:
        made = measure_repeatedly(self.data, vectors[self.rows], 1111, nobody)
        sample = Sample(np.asarray(made.examples["correct"], dtype=np.float64))
        return replace(one, sample=sample)

    def truth(self, spec: str) -> float:
        """Accuracy on the rows left over, trained on the sheet's."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        model = make_pipeline(StandardScaler(), LogisticRegression(C=PENALTY, max_iter=500))
        vectors = self._vectors[spec].astype(np.float64)
        model.fit(vectors[self.rows], self.labels[self.rows])
        return 100.0 * float(model.score(vectors[self.rest], self.labels[self.rest]))


def decided(sheet: Sheet, counts: Counts) -> None:
    """Decide a sheet, and count what holds of it."""
    scored = {encoder: sheet.candidate(encoder) for encoder in COSTS}
    samples = {name: one.sample for name, one in scored.items() if one.sample is not None}
    chosen = choose(samples, REFIT)
    best = scored[chosen.names[0]]
    taken, _ = cheapest(best, scored, MARGIN, REFIT, lambda _: None, sheet.shrunk)
    truth = {name: sheet.truth(name) for name in scored}
    for name, (_, low, high) in chosen.intervals.items():
        counts.add("a row's own interval", low <= truth[name] <= high)
    for name, one in chosen.behind.items():
        apart = truth[name] - truth[best.encoder]
        counts.add("an encoder's difference from the best", one.low <= apart <= one.high)
    top = max(truth, key=lambda name: truth[name])
    counts.add("the true best is best or ties", top in (best.encoder, *chosen.ties))
    cheaper = taken["spec"] != best.encoder
    counts.add("something cheaper is recommended", cheaper)
    counts.add("another encoder is recommended", taken["encoder"] != best.encoder)
    if cheaper:
        lost, bounds = sheet.truth(taken["spec"]) - truth[best.encoder], taken["behind"]
        counts.add("a recommended form's difference", bounds["low"] <= lost <= bounds["high"])
    counts.add("worse than the margin", cheaper and lost < -MARGIN)


def predictions(data: LabelledSentences, vectors: Vectors) -> np.ndarray:
    """Whether encoders in `FORMS` forms are right, by a classifier of 300 rows: bool (forms, n)."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    labels, found = np.array(data.labels), []
    for full in vectors.values():
        wide = full.astype(np.float64)
        half = wide[:, : wide.shape[1] // 2]
        for x in (wide, fit_int8(wide[:ROWS])(wide), fit_int8(half[:ROWS])(half), binary(wide)):
            model = make_pipeline(StandardScaler(), LogisticRegression(C=PENALTY, max_iter=500))
            model.fit(x[:ROWS], labels[:ROWS])
            found.append(model.predict(x[ROWS:]) == labels[ROWS:])
    return np.stack(found)


def promised(right: np.ndarray, seen: int, rng: np.random.Generator, counts: Counts) -> None:
    """Draw a sheet; if it promises, draw and decide a new one of as many rows as it asks for."""

    def drawn(forms: np.ndarray, n: int) -> dict[str, Sample]:
        rows = rng.integers(0, forms.shape[1], n)
        return {str(i): Sample(form[rows].astype(np.float64)) for i, form in enumerate(forms)}

    at = FORMS * int(rng.integers(len(right) // FORMS))
    own, whole = right[at : at + FORMS], right[::FORMS]  # of one encoder; of each the full vectors
    some = right[rng.permutation(len(right))[: rng.integers(2, 8)]]
    near = own[rng.permutation(FORMS)[:2]]
    for what, several in (("told apart", some), ("two forms of an encoder told apart", near)):
        first = choose(drawn(several, seen))
        if not first.ties:
            continue
        other = first.ties[rng.integers(len(first.ties))]
        more = to_tell_apart(first.behind[other])
        counts.add(f"ties that promise, {what}", more.n is not None)
        if more.n is not None:
            again = choose(drawn(several, seen + more.n))
            counts.add(what, frozenset((first.names[0], other)) in again.apart)
    for what, several in (
        ("smaller vectors shown within the margin", own),
        ("vectors in int8 shown within the margin", own[:2]),
        *(  # few of these promise
            ("an encoder shown within the margin", whole[rng.permutation(len(whole))[:3]])
            for _ in range(8)
        ),
    ):
        forms = drawn(several, seen)
        best = max(forms, key=lambda name: forms[name].statistic)
        found = behind(forms[best], {name: form for name, form in forms.items() if name != best})
        if not found or any(one.within(MARGIN) for one in found.values()):
            continue
        asked = {name: to_show(one, MARGIN) for name, one in found.items()}
        name = min(asked, key=lambda name: asked[name].n or np.inf)
        if (n := asked[name].n) is not None:
            again = drawn(several, seen + n)
            new = behind(again[best], {name: again[name] for name in found})
            counts.add(what, new[name].within(MARGIN))


def report(sheets: Counts, promises: Counts) -> bool:
    """Print what held; return whether all claims do, of what was drawn."""
    from scipy.stats import binom

    for counts in (sheets, promises):
        for name, found in counts.of.items():
            print(f"{name:54} {100 * counts.share(name):6.1f} % of {len(found):,}")
    right = True
    if n := len(sheets.of.get("worse than the margin", ())):
        most = float(binom.ppf(0.95, n, MOST_WRONG)) / n
        right = at_least(
            "sheets without a form worse than the margin",
            1 - sheets.share("worse than the margin"),
            1 - most,
        )
    intervals = (
        "a row's own interval",
        "a recommended form's difference",
        "an encoder's difference from the best",
    )
    for name in filter(sheets.of.__contains__, intervals):
        right &= at_least(f"coverage, {name}", sheets.share(name), COVERAGE)
    for name in promises.of:
        if not name.startswith("ties that promise"):
            right &= at_least(f"promises of 80 %, {name}", promises.share(name), PROMISED[0])
    cautious = ("told apart", "smaller vectors shown within the margin")
    for name in filter(promises.of.__contains__, cautious):
        share = promises.share(name)
        right &= at_most(f"  {name}, not too cautious", share, PROMISED[1])
    return right


def main() -> int:
    """Draw the sheets; return 1 if a claim fails."""
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--data", type=Path, default=os.environ.get("THEODOLITE_DATA"))
    given.add_argument("--sheets", type=int, default=270, help="in all")
    given.add_argument("--promises", type=int, default=1000, help="sheets that may promise")
    given.add_argument("--seed", type=int, default=2026)
    asked = given.parse_args()
    warnings.simplefilter("ignore")
    sheets, promises = Counts(), Counts()
    for place, (name, data, vectors) in enumerate(populations(Path(asked.data))):
        rng = np.random.default_rng([asked.seed, place])
        for _ in range(len(range(place, asked.sheets, len(SETS)))):
            decided(Sheet(data, vectors, rng), sheets)
        right, rng = predictions(data, vectors), np.random.default_rng([asked.seed, place, 1])
        for number in range(place, asked.promises, len(SETS)):
            promised(right, SEEN[number // len(SETS) % len(SEEN)], rng, promises)
        print(f"{name}: done", flush=True)
    return 0 if report(sheets, promises) else 1


if __name__ == "__main__":
    sys.exit(main())
