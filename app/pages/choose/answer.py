"""Which encoder to take for data of your own: the question, and the decision sheet in words."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import (
    Block,
    Chart,
    Download,
    Finding,
    Link,
    Links,
    Nothing,
    Points,
    Table,
    Text,
)
from theodolite.app.examples import shipped
from theodolite.app.metrics import METRICS
from theodolite.app.pages.board import cost
from theodolite.app.pages.choose import data, improve, setups, sheet as sheets, without_queries
from theodolite.app.pages.choose.candidates import ChooseSpec
from theodolite.app.pages.choose.sheet import ChooseJob, Sheet
from theodolite.app.pages.encoders.service import names
from theodolite.app.published import Published, Static
from theodolite.app.question import Answer, Do, Question
from theodolite.app.report.markdown import of_blocks
from theodolite.app.spec import query
from theodolite.app.web.figures import axis, draw, log_axis, names_beside, plain, scatter
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.chunks import Splitter, base, split_name
from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.errors import UserError
from theodolite.store.hashing import to_json

EXAMPLE = "starter-topics"
"""The data of the sheet that ships."""
MIN_OPTIMISM = 0.05
"""Points of optimism worth a sentence."""
LIKELY = 0.8
"""Probability from which more examples are called enough."""
GOLD = ("label", "score", "grade", "split")
"""Roles of columns that are named after the texts."""
UNDECIDED = {
    "no_labels": "the data has no labels",
    "few_examples": "too few examples are labelled",
    "no_encoder_within_limits": "no encoder is within the limits",
    "encoder_failed": "no encoder could be evaluated",
}
"""Code of a warning -> reason for no decision."""
HEADS = {
    "encoder": "Encoder",
    "score": "Score",
    "low": "95 % from",
    "high": "to",
    "passage_iou": "IoU of passages at 5",
    "ms_per_query": "ms per query",
    "bytes_per_document": "Bytes per document",
    "cut_off": "Share cut off",
    "ms_per_sentence": "ms per sentence",
    "per_second_64": "Sentences/s",
    "dim": "Dimensions",
    "dtype": "Precision",
    "bytes_per_vector": "Bytes per vector",
    "licence": "Licence",
    "remark": "Remark",
}
HUNDREDTHS = ("score", "low", "high", "cut_off", "passage_iou")
"""Columns of two decimals."""


@dataclass(frozen=True, eq=False, repr=False)
class Decision(Answer):
    """A decision sheet, whose fields are read by name, as in `decision["best"]`.

    Attributes:
        spec: what was asked.
        sheet: `best`, `ties`, `cheapest`, `more_examples`, `warnings`, and the numbers behind them;
            empty while nothing is decided.
        plan: what will be measured, in sentences.
        is_shipped: whether it ships with Theodolite.
        is_closed: whether nobody here can start a training.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "encoder": str,
        "score": float | None,
        "low": float | None,
        "high": float | None,
        "ms_per_sentence": float | None,
        "dim": int,
        "dtype": str,
        "bytes_per_vector": float,
        "licence": str | None,
        **dict.fromkeys(setups.MEASURES, float | None),
        "remark": str,
    }

    spec: ChooseSpec
    sheet: Sheet
    plan: Sequence[str] = ()
    is_shipped: bool = False
    is_closed: bool = False

    def __getitem__(self, name: str) -> Any:
        return self.sheet[name]

    @property
    def title(self) -> str:
        """What a report of it is called."""
        return f"Decision on {base(self.spec.data)}"

    @property
    def lack(self) -> str:
        """What the page's button says."""
        return "Train" if self.spec.train else "Choose"

    def rows(self) -> list[dict[str, Any]]:
        """A row per encoder."""
        return [{**row, "remark": self._remark(row)} for row in self.sheet.get("encoders", ())]

    def _remark(self, row: Mapping[str, Any]) -> str:
        marks = {"baseline": [self["baseline"]], "Pareto front": self["front"]}
        usual = ", ".join(mark for mark, names in marks.items() if row["encoder"] in names)
        return str(row["error"] or row["outside"] or usual)

    def facts(self) -> Sheet:
        """The sheet."""
        return self.sheet

    def notes(self) -> list[str]:
        """The decision, what it is based on, and what to read before relying on it."""
        lines = [f"{headline(self.sheet)}.", columns(self["columns"]), *sentences(self.sheet)]
        lines += [f"Warning ({one['code']}): {one['message']}" for one in self["warnings"]]
        return list(filter(None, lines))

    def blocks(self) -> list[Block]:
        """The decision with its warnings, the chart, the numbers."""
        if not self.sheet:
            hint = f"Press {self.lack} to make one; it appears here when the run is done."
            return [_points(self.plan), Nothing("No decision yet", hint)]
        part = f", on {_examples(self.sheet)} held out" * bool(self.sheet.get("improvement"))
        used = columns(self["columns"])
        lead = f"Decision sheet for {base(self['data'])}{part}. {used}".strip()
        warnings = [("", one["message"]) for one in self["warnings"]]
        blocks: list[Block] = [
            Finding(headline(self.sheet), lead, self.is_shipped),
            _points(sentences(self.sheet)),
            Points(warnings, "Before you rely on it"),
        ]
        if self["best"] is None and not self.spec.rankers:
            question = {"in": self["data"], "encoder": [row["encoder"] for row in self["encoders"]]}
            blocks.append(Links([Link("Judge by hand", "judge", question)]))
        if self["best"] and self.sheet.get("by_rule"):
            blocks.append(
                Links(
                    [
                        Link(
                            "Judge these set-ups",
                            "judge",
                            without_queries.session_address(self.sheet),
                        )
                    ]
                )
            )
        if not self.is_closed and (able := improve.encoder_to_train(self.sheet)):
            question = query(replace(self.spec, train=able))
            blocks.append(Links([Link(f"Train {able} on these", "choose", question)]))
        blocks += [*_front(self.sheet), *self._numbers(), *_differences(self.sheet)]
        return [
            *blocks,
            Download("Markdown", "decision-sheet.md", of_blocks(blocks)),
            Download("JSON", "decision-sheet.json", to_json(self.sheet)),
        ]

    def _numbers(self) -> list[Block]:
        rows = sorted(self.rows(), key=lambda row: -(row["score"] or -1e9))
        cheap = self["cheapest"]
        if cheap and cheap["spec"] not in {row["spec"] for row in rows} and _beats_random(self):
            # That of the same weights, in whatever form.
            licences = {row["encoder"].partition("?")[0]: row["licence"] for row in rows}
            more = {"licence": licences.get(cheap["encoder"].partition("?")[0])}
            rows.append({**cheap, **more, "remark": f"cheapest within {_margin(self)}"})
        keys = [key for key in HEADS if any(row.get(key) is not None for row in rows)]
        how = f"Times were measured on {self['machine']}."
        if self["task"] is not None:
            how = f"Task {self['task']} under the protocol {self['protocol']}. {how}"
        heads = HEADS | ({"encoder": "Set-up"} if self.spec.rankers else {})
        table = Table(
            "encoders",
            [heads[key] for key in keys],
            [[row.get(key) for key in keys] for row in rows],
            decimals=dict.fromkeys([HEADS[key] for key in HUNDREDTHS], 2)
            | {HEADS["bytes_per_document"]: 0},
        )
        return [Text("The numbers", how), table]


def headline(sheet: Sheet) -> str:
    """The decision in a line; whether training helped comes first."""
    change = sheet.get("improvement")
    return f"{improve.headline(change)}. {_decision(sheet)}" if change else _decision(sheet)


def _decision(sheet: Sheet) -> str:
    best, ties, cheap = sheet["best"], sheet["ties"], sheet["cheapest"]
    if best is None:
        codes = {one["code"] for one in sheet["warnings"]}
        why = (text for code, text in UNDECIDED.items() if code in codes)
        return f"Undecided: {next(why, 'nothing was scored')}"
    if sheet.get("by_rule"):
        return without_queries.headline(sheet)
    if sheet.get("rankers"):
        return _headline_of_setups(sheet)
    if not _beats_random(sheet):
        return f"No encoder is better than random words on these {_examples(sheet)}"
    if len(_scored_rows(sheet)) < 2:
        return f"{best['encoder']} is the only one to choose"
    others = formats.listed([one["encoder"] for one in ties], 3)
    lead = f"{best['encoder']} {f'ties with {others}' if ties else 'is best'}"
    is_best = not ties and cheap["encoder"] == best["encoder"]
    return lead if is_best else f"{lead}: take {cheap['encoder']}"


def _headline_of_setups(sheet: Sheet) -> str:
    best, cheap = sheet["best"]["encoder"], sheet["cheapest"]["encoder"]
    others = formats.listed([one["encoder"] for one in sheet["ties"]], 3)
    lead = f"{best} ties with {others}" if others else f"{best} is best"
    if best == sheet["baseline"]:
        lead = f"{best} is best: nothing is better than BM25 on these {_examples(sheet)}"
    elif not _beats_random(sheet):
        lead = f"{best} is not shown to be better than {sheet['baseline']}"
    return lead if cheap == best else f"{lead}: take {cheap}"


def columns(used: Mapping[str, str]) -> str:
    """The columns that were used, in a sentence; empty unless a file with columns was brought."""
    roles = sorted(used.items(), key=lambda pair: (pair[0] in GOLD, pair))
    return f"Columns used: {formats.listed(map(' = '.join, roles))}." if used else ""


def sentences(sheet: Sheet) -> list[str]:
    """The findings of a sheet in sentences, the most important first."""
    best, every, over = sheet["best"], _scored_rows(sheet), sheet["against_baseline"]
    if best is None:
        return list(_without_scores(sheet))
    name, how = best["encoder"], "by the paired bootstrap (5 %, all pairs tested at once)"
    parts = [
        *without_queries.sentences(sheet),
        f"{name} scores {formats.score(best['score'])} on {_examples(sheet)} "
        f"({_metric(sheet)}; 95 % interval {_interval(best)}).",
    ]
    if change := sheet.get("improvement"):
        parts.insert(0, improve.sentence(change, sheet["kind"]))
    if sheet["highest"] is not None:
        parts.append(
            f"{formats.score(sheet['highest'])} is the highest possible score here: most labels "
            "have fewer than eleven examples."
        )
    if sheet["ties"]:
        ties = formats.listed(map(_with_score, sheet["ties"]))
        parts.append(f"Not significantly different {how}: {ties}.")
    elif len(every) > 1 and every[1]["encoder"] != sheet["baseline"]:
        parts.append(f"Next comes {_with_score(every[1])}, significantly less {how}.")
    if sheet.get("rankers"):
        parts += [*_cheapest_setup(sheet), *_further(sheet), *_against_words(sheet)]
    elif _beats_random(sheet):
        parts += [*_cheapest(sheet), *_further(sheet)]
        if over is not None and name != sheet["baseline"]:
            parts.append(
                f"Random words ({sheet['baseline']}) score {formats.score(over['score'])}: "
                f"{formats.score(over['delta'])} less than {name} (95 % interval "
                f"{_interval(over)})."
            )
    if len(every) > 1 and sheet["optimism"] >= MIN_OPTIMISM:
        parts.append(
            f"Expect about {sheet['optimism']:.1f} points less on new data: the best of "
            f"{len(every)} was picked on these very examples."
        )
    return parts


def _cheapest(sheet: Sheet) -> Iterator[str]:
    """What is cheaper and shown to be about as good; else what would show it."""
    cheap, best, margin = sheet["cheapest"], sheet["best"], _margin(sheet)
    full = next(row for row in sheet["encoders"] if row["encoder"] == best["encoder"])
    if cheap["spec"] == full["spec"]:
        if more := sheet["nothing_cheaper"]:
            yield f"Nothing cheaper is shown to lose less than {margin}." + bool(more["n"]) * (
                f" With about {formats.count(more['n'])} more examples like these, {_form(more)} "
                f"would be, with {formats.percent(more['power'])} probability."
            )
        return
    busy = {row["encoder"] for row in sheet["encoders"] if row["timed_disturbed"]}
    timed = not busy & {cheap["encoder"], full["encoder"]}
    times = ratio(full["ms_per_sentence"], cheap["ms_per_sentence"])
    size = ratio(full["bytes_per_vector"], cheap["bytes_per_vector"])
    gains = [f"it is {times} times faster"] * bool(times and timed)
    gains += [f"its vectors take 1/{size} of the space"] * bool(size)
    whole = "its full vectors" if cheap["encoder"] == best["encoder"] else best["encoder"]
    delta, low, high = (formats.signed(cheap["behind"][key]) for key in ("delta", "low", "high"))
    yield (
        f"{_form(cheap, always=True)} is shown to lose less than {margin} against {whole} "
        f"(difference {delta}, 95 % interval {low} to {high}): {formats.listed(gains)}."
    )
    if cheap["spec"] != cheap["encoder"]:
        yield f"Its spec is {cheap['spec']}"


def _cheapest_setup(sheet: Sheet) -> Iterator[str]:
    """The fastest and smallest set-up that is shown to be about as good, and what rerankers add."""
    cheap, best, margin = sheet["cheapest"], sheet["best"]["encoder"], _margin(sheet)
    by = {row["encoder"]: row for row in sheet["encoders"]}
    cost = _cost_of(by[cheap["encoder"]])
    if cheap["encoder"] == best:
        yield f"{best} takes {cost}. Nothing cheaper is shown to lose less than {margin}."
    else:
        delta, low, high = (formats.signed(cheap["behind"][key]) for key in _DIFFERENCE)
        yield (
            f"{cheap['encoder']} is shown to lose less than {margin} against {best} (difference "
            f"{delta}, 95 % interval {low} to {high}). It takes {cost}; {best} "
            f"{_cost_of(by[best])}."
        )
    for more in sheet["rerankers"]:
        delta, low, high = (formats.signed(more[key]) for key in _DIFFERENCE)
        yield (
            f"Reranking adds {delta} to {more['first']} (95 % interval {low} to {high}), at "
            f"{_cost_of(by[more['encoder']])} in place of {_cost_of(by[more['first']])}."
        )


_DIFFERENCE = ("delta", "low", "high")
_SHAPES = ("circle", "square", "diamond", "cross", "star", "hexagon")


def _cost_of(row: Mapping[str, Any]) -> str:
    """`0.31 ms a query and 1,024 bytes a document`."""
    if row["ms_per_query"] is None:
        return "a time that was not measured"
    size = formats.count(round(row["bytes_per_document"]))
    return f"{row['ms_per_query']:.3g} ms a query and {size} bytes a document"


def _against_words(sheet: Sheet) -> Iterator[str]:
    """What the best scores more than BM25."""
    over, best = sheet["against_baseline"], sheet["best"]["encoder"]
    if over is not None and best != sheet["baseline"]:
        yield (
            f"BM25 scores {formats.score(over['score'])} ({sheet['baseline']}): {best} scores "
            f"{formats.score(over['delta'])} more (95 % interval {_interval(over)}), which is "
            f"{'' if over['beaten'] else 'not '}significant."
        )


def _further(sheet: Sheet) -> Iterator[str]:
    """How many more examples would end the ties."""
    for more in sheet["more_examples"]:
        many, chance = "20 times as many", f"only {math.floor(100 * more['power'])} %"
        if more["n"] is not None:
            many = f"About {formats.count(more['n'])} more"
            chance = formats.percent(more["power"])
        if more["n"] is not None or 0 < more["power"] < LIKELY:
            yield (
                f"{many} examples like these would tell {more['a']} and {more['b']} apart with "
                f"{chance} probability."
            )


def _without_scores(sheet: Sheet) -> Iterator[str]:
    """How much the neighbours of encoders differ, and what is fastest and smallest."""
    pairs = [one for one in sheet["agreement"] if sheet["baseline"] not in (one["a"], one["b"])]
    pairs = sorted(pairs or sheet["agreement"], key=lambda one: one["shared"])
    shares = [f"{one['a']} and {one['b']} share {formats.percent(one['shared'])}" for one in pairs]
    if shares:
        most = f"; {shares[-1]}, the most of all pairs" if len(shares) > 1 else ""
        yield f"{shares[0]} of a sentence's {pairs[0]['k']} nearest neighbours{most}."
    rows = [row for row in sheet["encoders"] if not (row["error"] or row["outside"])]
    rows = [row for row in rows if row["encoder"] != sheet["baseline"]] or rows
    if len(rows) > 1 and all(row["ms_per_sentence"] for row in rows):
        quick = min(rows, key=lambda row: row["ms_per_sentence"])
        small = min(rows, key=lambda row: row["bytes_per_vector"])
        yield (
            f"Fastest: {quick['encoder']}, {quick['ms_per_sentence']:.3g} ms per sentence. "
            f"Smallest vectors: {small['encoder']}, {small['bytes_per_vector']:,g} bytes."
        )


def _front(sheet: Sheet) -> list[Block]:
    """Score against time with intervals, and the Pareto front; nothing below two encoders."""
    key, unit = (
        ("ms_per_query", "query") if sheet.get("rankers") else ("ms_per_sentence", "sentence")
    )
    rows = [row for row in _scored_rows(sheet) if row[key]]
    if len(rows) < 2:
        return []
    by = {row["encoder"]: row for row in rows}
    best = [name for name in sheet["front"] if name in by]
    quick = next((name for name in best if name != sheet["baseline"]), best[0])
    (score, ms), (less, fewer) = (
        (formats.score(by[name]["score"]), f"{by[name][key]:.3g} ms") for name in (best[-1], quick)
    )
    finding = f"{best[-1]} scores highest ({score} in {ms}) and is fastest"
    if quick != best[-1]:
        finding = (
            f"{best[-1]} scores highest ({score} in {ms}), {quick} is fastest ({less} in {fewer})"
        )
    line = scatter(
        x=[by[name][key] for name in best],
        y=[by[name]["score"] for name in best],
        mode="lines",
        line={"color": SERIES[1], "width": 2, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )
    figure = draw(
        [line, _marks(by, best, key, unit)],
        log_axis(f"ms per {unit} (log)", [row[key] for row in rows]),
        axis(_metric(sheet), zeroline=False),
        height=360,
        left=64,
    )
    chart = Chart(
        figure,
        f"Score against the time of one {unit}. {finding}.",
        name="theodolite-choice",
        columns=["encoder", f"ms per {unit}", "score", "low", "high", "on the front"],
        rows=[
            [name, *(row[of] for of in (key, "score", "low", "high")), name in best]
            for name, row in by.items()
        ],
    )
    lead = (
        f"Score against the time of one {unit}, with 95 % intervals. Dotted: the Pareto front; no "
        "other is both better and faster than one on it."
    )
    shapes = [f"{shape} for {cut or 'whole documents'}" for cut, shape in _shapes(by).items()]
    if len(shapes) > 1:
        lead += f" Shapes tell the chunks: {formats.listed(shapes)}."
    return [Text(finding, lead), chart]


def _shapes(names: Iterable[str]) -> dict[Splitter | None, str]:
    """How documents are cut -> the shape of its points."""
    cuts = dict.fromkeys(split_name(name)[1] for name in names)
    return dict(zip(cuts, cycle(_SHAPES), strict=False))


def _marks(
    by: Mapping[str, Mapping[str, Any]], best: Sequence[str], key: str, unit: str
) -> dict[str, Any]:
    """The points with their intervals; of set-ups the ranker is named."""
    rows, setups, shapes = [*by.values()], [split_name(name) for name in by], _shapes(by)
    return scatter(
        x=[row[key] for row in rows],
        y=[row["score"] for row in rows],
        mode="markers+text",
        **names_beside(
            [ranker for ranker, _ in setups],
            [math.log(row[key]) for row in rows],
            [row["score"] for row in rows],
            first=[at for at, name in enumerate(by) if name in best],
            bars=[(row["low"], row["high"]) for row in rows],
        ),
        cliponaxis=False,
        showlegend=False,
        marker={
            "size": 13,
            "color": [SERIES[name in best] for name in by],
            "symbol": [shapes[cut] for _, cut in setups],
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "thickness": 1.2,
            "color": SERIES[5],
            "array": [row["high"] - row["score"] for row in rows],
            "arrayminus": [row["score"] - row["low"] for row in rows],
        },
        customdata=[[plain(row["encoder"]), _interval(row)] for row in rows],
        hovertemplate=(
            "%{customdata[0]}: %{y:.2f} (%{customdata[1]})<br>%{x:.3g} ms per "
            f"{unit}<extra></extra>"
        ),
    )


def _differences(sheet: Sheet) -> list[Block]:
    """The examples on which the finalists differ most."""
    if not (differ := sheet["differ"]):
        return []
    a, b = differ["a"], differ["b"]
    rows = [
        [" / ".join(one["texts"]) or None, one["label"] or None, one[a], one[b]]
        for one in differ["examples"]
    ]
    what = "1 where the pair's rank by cosine is its rank by score" if differ["graded"] else "1"
    lead = (
        f"{a} does better on {formats.count(differ['ahead'])} of {formats.count(differ['of'])}, "
        f"{b} on {formats.count(differ['behind'])}. Below, how right each is, from 0 to {what}."
    )
    return [
        Text(f"Where {a} and {b} differ most", lead),
        Table("examples", ["Example", "Expected", a, b], rows, decimals={a: 2, b: 2}),
    ]


def _scored_rows(sheet: Sheet) -> list[Mapping[str, Any]]:
    """Rows of the encoders with an interval, best first."""
    rows = [row for row in sheet["encoders"] if row["low"] is not None]
    return sorted(rows, key=lambda row: -row["score"])


def _beats_random(sheet: Any) -> bool:
    over = sheet["against_baseline"]
    return over is None or bool(over["beaten"])


def _metric(sheet: Sheet) -> str:
    return METRICS.get(sheet["metric"], str(sheet["metric"]))


def _examples(sheet: Sheet) -> str:
    return data.in_words(sheet["n"], sheet["kind"]) + " by rule" * bool(sheet.get("by_rule"))


def _with_score(one: Mapping[str, Any]) -> str:
    """`minilm with 81.33 (77.00 to 85.67)`."""
    return f"{one['encoder']} with {formats.score(one['score'])} ({_interval(one)})"


def _interval(one: Mapping[str, Any]) -> str:
    low, high = formats.score(one["low"]), formats.score(one["high"])
    return "unknown" if low == formats.MISSING else f"{low} to {high}"


def _margin(sheet: Any) -> str:
    points = sheet["limits"]["margin"]
    return f"{points:g} {'point' if points == 1 else 'points'}"


def _points(texts: Sequence[str]) -> Points:
    return Points([("", text) for text in texts])


def _form(one: Mapping[str, Any], *, always: bool = False) -> str:
    """`minilm with int8 vectors of 128 dimensions`."""
    if one["spec"] == one["encoder"] and not always:
        return str(one["encoder"])
    vectors = "vectors" if one["dtype"] == "float32" else f"{one['dtype']} vectors"
    return f"{one['encoder']} with {vectors} of {one['dim']} dimensions"


def ratio(a: float | None, b: float | None) -> str:
    """How many times one cost is another, to two digits; empty if not known or below 1.1."""
    if not a or not b or (value := a / b) < 1.1:
        return ""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}".removesuffix(".0")


def prepare(workspace: Workspace, spec: ChooseSpec) -> ChooseSpec:
    """Add a file to the data sets."""
    if not spec.data:  # as a path it would be the folder in which this runs
        raise UserError("No data given.", "Give a file, or a data set's name.", code="missing")
    if base(spec.data) not in workspace.catalog.names():
        table = data.bring(workspace, Path(spec.data), spec.columns)
        return replace(spec, data=table, columns="")
    if spec.columns:
        raise UserError(
            f"{spec.data} is a data set already, whose columns are fixed.",
            "Give its file again, with other columns.",
            code="conflict",
        )
    return spec


def job_of(workspace: Workspace, spec: ChooseSpec) -> ChooseJob:
    """What has to be done."""
    if spec.rankers:
        return ChooseJob(**vars(spec))
    if spec.train:
        name = improve.held_out(spec.data)
        trained = improve.trained_encoder(workspace, name, spec.train)
        specs = (*(spec.encoders or ()), spec.train, trained)
        return ChooseJob(**vars(spec) | {"data": name, "encoders": tuple(dict.fromkeys(specs))})
    encoders = spec.encoders or names(workspace)
    if not encoders:
        raise UserError("No encoder chosen.", "Choose at least one.", code="missing")
    return ChooseJob(**vars(spec) | {"encoders": encoders})


def plan(workspace: Workspace, job: ChooseJob) -> list[str]:
    """What will be measured, in sentences."""
    dataset = workspace.catalog.load(job.data)
    task, rows = data.task_of(workspace, job.data), data.count_examples(dataset)
    used, unlabelled = data.columns_of(workspace, job.data)
    labels = len(data.labels_of(dataset))
    of = f", {formats.plural(labels, 'label')}" if labels else ""
    what = f"{data.in_words(rows, dataset.kind)}{of}, evaluated as {task}."
    if task is None:
        few = f"Fewer than {data.MIN_EXAMPLES} labels" if rows else "No labels"
        what = f"{few}: the sheet will say how encoders differ and what they cost, not who is best."
        if isinstance(dataset, Retrieval) and not job.setups:
            what = (
                "Documents without judged queries: add bm25 to the encoders to compare set-ups on "
                "queries made by rule. Otherwise the sheet says how encoders differ and what they "
                "cost, not who is best."
            )
    if job.setups:
        if task is None:
            what = (
                "No queries with judgements: queries are made from the documents by rule, and the "
                "sheet is a guess until people have marked documents on the page Judge."
            )
        return [what, f"{formats.plural(len(job.setups), 'set-up')}: {formats.listed(job.setups)}."]
    facts = improve.plan(workspace, job.data, job.train) if job.train else [what]
    untimed = len(set(job.measured) - cost.rows_by_encoder(workspace).keys())
    return [
        *[columns(used)] * bool(used),
        *facts,
        *[f"{formats.plural(unlabelled, 'row')} without a label are left out."] * bool(unlabelled),
        f"{formats.plural(len(job.measured), 'encoder')}, among them random words "
        f"({job.baseline}) as the baseline.",
        *[
            f"{formats.plural(untimed, 'encoder')} will be timed: some seconds each, for a "
            "transformer up to a minute."
        ]
        * bool(untimed and not workspace.read_only),
        *job.notices(workspace),
    ]


def answer(workspace: Workspace, spec: ChooseSpec, do: Do) -> Iterator[Decision]:
    """Yield the decision: the stored sheet, one that is made, or the plan of it."""
    job = job_of(workspace, spec)
    job.validate(workspace)
    is_done = job.is_stored(workspace) or do(job)
    sheet = sheets.stored(workspace, job)
    if sheet is not None:
        if sheet.get("by_rule"):  # marks may have come since
            sheet = {**sheet, "judged": without_queries.newest_session(workspace, sheet)}
            more = [
                {"code": code, "message": text} for code, text in without_queries.warnings(sheet)
            ]
            sheet |= {"warnings": [*more, *sheet["warnings"]]}
        yield Decision(job, sheet, is_closed=workspace.read_only)
    elif is_done:
        raise UserError("The sheet could not be made.", "The log has the details.", code="failed")
    elif example := shipped.read(workspace, sheets.KIND, spec.data):
        yield Decision(job, example, is_shipped=True, is_closed=workspace.read_only)
    else:
        yield Decision(job, {}, plan(workspace, job))


CHOOSE = Question(
    "choose",
    ChooseSpec,
    answer,
    Decision,
    (
        "choose reviews.csv --columns text=review,label=stars",
        "choose questions.csv -e minilm -e wordllama --max-ms 5 --out sheet.html",
        "choose handbook --rankers 'bm25,minilm,fuse(bm25,minilm)' --chunks whole,recursive,800",
    ),
    queues=True,
    report_name="decision",
    prepare=prepare,
)


def _stored_sheets(published: Published) -> Iterator[tuple[ChooseSpec, Sheet]]:
    """Questions with a stored sheet to publish, by the published names; the newest first."""
    for row in published.source.store.derived.list(sheets.KIND):
        sheet = row["info"]
        if sheet["data"] in published.texts and set(sheet["asked"]) <= published.encoders.keys():
            spec = ChooseSpec(sheet["data"], sheet["asked"], **sheet["limits"])
            with suppress(UserError):  # the data set was removed
                if sheets.key(published.source, spec) == row["key"]:
                    yield ChooseSpec(**published.renamed(vars(spec))), sheet


def _carry(published: Published) -> None:
    """Publish the sheets of published encoders on data whose texts are published."""
    for spec, sheet in _stored_sheets(published):
        with suppress(UserError):
            key = sheets.key(published.workspace, spec)
            published.workspace.store.derived.put(key, sheets.KIND, published.renamed(sheet))


def _views(published: Published) -> Iterator[tuple[str, ChooseSpec]]:
    """Every sheet, and the shipped example if its encoders and data are published."""
    specs = [spec for spec, _ in _stored_sheets(published)]
    example = shipped.read(published.workspace, sheets.KIND, EXAMPLE)
    if example and not any(spec.data == EXAMPLE for spec in specs):
        encoders = [name for name in example["asked"] if name in published.encoders.values()]
        specs += [ChooseSpec(EXAMPLE, encoders)] * (len(encoders) > 1)
    for spec in specs:
        limits = [str(v) for name, v in query(spec).items() if name not in ("data", "encoder")]
        yield " · ".join([spec.data, *limits]), spec


PUBLISHED = Static(CHOOSE, _views, _carry)
