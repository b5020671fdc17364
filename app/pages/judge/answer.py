"""What the marks of a session say of its encoders."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np

from theodolite.app import formats
from theodolite.app.blocks import Block, Chart, Download, Finding, Link, Links, Points, Table, Text
from theodolite.app.components.chart import drawing
from theodolite.app.examples import shipped
from theodolite.app.pages.judge import export, second
from theodolite.app.pages.judge.session import SETTLED, Session, opened, shown
from theodolite.app.pages.judge.spec import StatusSpec
from theodolite.app.question import Answer, Do, Question
from theodolite.app.web.figures import axis, clear_colour, draw, scatter
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

MIN_TO_DOUBT = 20
"""Identical marks of a judge from which a warning is given."""
MAX_ROWS = 200
"""Marks in a document; its file has all."""
_FACTS = (
    *("id", "title", "mode", "marks", "left", "judges", "enough", "alpha", "disagreements"),
    *("second", "warnings"),
)


@dataclass(frozen=True, eq=False, repr=False)
class Judgement(Answer):
    """The difference of each pair of encoders, in points out of 100.

    Attributes:
        board: made by `board_of`.
        names: whether the encoders are named; else they are A, B, …, in an order shuffled by the
            session's seed.
        marks: a row for each mark, if they are listed.
        qrels: the marks in TREC's format, for those who see the names.
        dataset: that the marks were saved as; empty for none.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "a": str,
        "b": str,
        "difference": float,
        "low": float,
        "high": float,
        "verdict": str | None,
        "without_second": dict[str, float] | None,
    }

    board: Mapping[str, Any]
    names: bool = True
    marks: Sequence[Mapping[str, Any]] = ()
    qrels: str = ""
    dataset: str = ""

    @property
    def called(self) -> dict[str, str]:
        """Encoder -> its name, or letter."""
        letters = {name: f"Encoder {chr(65 + i)}" for i, name in enumerate(self.board["blind"])}
        return {name: name if self.names else letter for name, letter in letters.items()}

    @property
    def title(self) -> str:
        """What a report of it is called."""
        order = dict.fromkeys(pair[side] for pair in self.rows() for side in "ab")
        whose = formats.listed(order if self.names else sorted(order))
        return f"Judgement of {whose} on {self.board['collection']}"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each pair."""
        return [
            {
                name: self.called.get(value, value) if isinstance(value, str) else value
                for name, value in pair.items()
                if name != "path"
            }
            for pair in self.board["pairs"]
        ]

    def table_columns(self) -> list[str]:
        """What fits into a terminal."""
        return ["a", "b", "difference", "low", "high", "verdict"]

    def facts(self) -> dict[str, Any]:
        """The status; a title may name the encoders."""
        known = {name: self.board[name] for name in _FACTS if self.names or name != "title"}
        return known | {"pairs": self.rows()}

    @property
    def finding(self) -> Finding:
        """Whether enough is judged, and how much that is."""
        board = self.board
        many = formats.plural(board["marks"] + board["left"], "mark")
        detail = f"{board['marks']:,} of at most {many} on {board['collection']}."
        if len(board["judges"]) > 1:
            agree = formats.score(board["alpha"])
            detail += f" {len(board['judges'])} judges, Krippendorff's alpha {agree}."
        enough = "You have judged enough." if board["enough"] else "Not enough yet."
        return Finding(enough, detail)

    def notes(self) -> list[str]:
        """What a terminal says below the table."""
        pairs = [text for pair in self.board["pairs"] if (text := self._pair(pair)[1])]
        model = second.in_words(self.board["second"]) if self.board["second"] else ()
        alone = [text for text in pairs if "Without" in text]
        said = [self.finding.text, self.finding.detail, *alone, *model, *self.board["warnings"]]
        return list(said)

    def blocks(self) -> list[Block]:
        """The conclusion, each pair with its path over the marks, and what to do with them."""
        order = self.board["blind"]
        pairs = sorted(
            self.board["pairs"],
            key=lambda pair: sorted((order.index(pair["a"]), order.index(pair["b"]))),
        )
        blocks: list[Block] = [self.finding]
        for pair in pairs:
            words, numbers, path = self._pair(pair)
            blocks.append(Text(words, numbers))
            blocks += [Chart(_chart(path, words))] * (len(path) > 1)
        said: list[tuple[str, str]] = [("", text) for text in self.board["warnings"]]
        if model := self.board["second"]:
            texts = second.in_words(model)
            said += [("", f"Second judge: {model['model']}. {' '.join(texts)}")]
        if self.board["marks"]:
            said.append(
                (
                    "",
                    "First minus second, in points out of 100, after each mark. The band is a 95 % "
                    "confidence sequence: it holds for all pairs together, however often you look.",
                )
            )
        blocks.append(Points(said))
        if self.qrels and self.names:
            blocks.append(Download("Download qrels", export.QRELS, self.qrels))
        if self.dataset:
            links = [
                Link(self.dataset, "data", {"set": self.dataset}),
                Link("Evaluate on it", "evaluate", {"task": self.dataset}),
            ]
            blocks += [Text("", "Saved as a data set, which is also a task:"), Links(links)]
        if self.marks:
            columns = list(self.marks[0])
            rows = [list(row.values()) for row in self.marks]
            blocks += [
                Text("What was judged", "In the order in which it was asked."),
                Table("marks", columns, rows, shown=MAX_ROWS),
            ]
        return blocks

    def _pair(self, pair: Mapping[str, Any]) -> tuple[str, str, list[tuple[float, ...]]]:
        """A pair in words and numbers, and its path, in the order of the (blind) names."""
        order, called = self.board["blind"], self.called
        turn = order.index(pair["a"]) > order.index(pair["b"])

        def turned(middle: float, low: float, high: float) -> tuple[float, ...]:
            return (0.0 - middle, -high, -low) if turn else (middle, low, high)

        first, other = (called[pair[side]] for side in ("ba" if turn else "ab"))
        path = [turned(*one) for one in pair["path"]]
        words = f"{first} or {other}: undecided"
        if pair["verdict"] == "alike":
            words = f"{first} and {other} differ by less than {self.board['margin']:g} points"
        elif pair["verdict"]:
            better = called[pair["verdict"]]
            words = f"{better} is better than {other if better == first else first}"
        numbers = _interval(*path[-1]) if len(path) > 1 else ""
        if alone := pair.get("without_second"):
            apart = _interval(*turned(*(alone[key] for key in ("difference", "low", "high"))))
            numbers += f". Without the second judge: {apart}"
        return words, numbers, path


def _interval(middle: float, low: float, high: float) -> str:
    return f"{formats.signed(middle)} points, {formats.signed(low)} to {formats.signed(high)}"


def _chart(path: Sequence[tuple[float, ...]], words: str) -> dict[str, Any]:
    """Estimate and interval over the marks."""
    middle, low, high = (list(values) for values in zip(*path, strict=True))
    settled = path[len(path) // 8 :]
    top = max(5.0, *(abs(end) for _, *ends in settled for end in ends))
    marks = list(range(len(path)))
    plain = {"x": marks, "mode": "lines", "showlegend": False, "hoverinfo": "skip"}
    figure = draw(
        [
            scatter(y=high, line={"width": 0}, **plain),
            scatter(
                y=low,
                line={"width": 0},
                fill="tonexty",
                fillcolor=clear_colour(SERIES[0], 0.2),
                **plain,
            ),
            scatter(
                y=middle,
                line={"color": SERIES[0], "width": 2},
                **plain | {"hoverinfo": "x+y"},
            ),
        ],
        axis("marks"),
        axis("points", range=[-top, top]),
        height=220,
        left=48,
    )
    return drawing(
        figure,
        f"{words}.",
        name="theodolite-judgement",
        columns=["marks", "difference", "low", "high"],
        rows=[[at, *one] for at, one in enumerate(path)],
    )


def board_of(found: Session) -> dict[str, Any]:
    """The state of a session as JSON: differences in points, first minus second.

    `path` of each pair has estimate, low and high in points after each mark; `blind` has the
    encoders in an order shuffled by the session's seed.
    """
    pairs: list[dict[str, Any]] = [
        {
            "a": a,
            "b": b,
            **_points(one),
            "verdict": found.verdict(i) or None,
            "path": (100.0 * one.path).round(2).tolist(),
        }
        for i, ((a, b), one) in enumerate(zip(found.pairs, found.estimates, strict=True))
    ]
    if found.second is not None:
        for pair, alone in zip(pairs, found.unaided, strict=True):
            pair["without_second"] = _points(alone)
    order = np.random.default_rng([found.spec.seed, 2]).permutation(len(found.spec.encoders))
    agreement, at = alpha(found), len(found.values) - 1
    last = asdict(shown(found, at)) | {"mark": float(found.values[at])} if at >= 0 else None
    return {
        "id": found.id,
        "title": found.title,
        "mode": found.spec.mode,
        "marks": len(found.values),
        "left": found.left,
        "judges": judges(found),
        "pairs": pairs,
        "enough": found.enough,
        "alpha": None if math.isnan(agreement) else agreement,
        "disagreements": disagreements(found),
        "second": second.status(found),
        "warnings": list(_warnings(found)),
        "margin": found.spec.margin,
        "collection": found.spec.collection,
        "last": last,
        "blind": [found.spec.encoders[i] for i in order],
    }


def _points(one: Any) -> dict[str, float]:
    return {name: 100.0 * getattr(one, name) for name in ("difference", "low", "high")}


def judges(found: Session) -> dict[str, int]:
    """Judge -> number of their marks."""
    names = sorted({name for at in found.marks.values() for name in at if name != SETTLED})
    return {name: sum(name in at for at in found.marks.values()) for name in names}


def alpha(found: Session) -> float:
    """Krippendorff's alpha of the judges; nan if no two judged the same document."""
    from theodolite.engine.stats import agreement

    names, many = judges(found), len(found.draws)
    if len(names) < 2:
        return math.nan
    marks = [[found.marks.get(i, {}).get(name, np.nan) for i in range(many)] for name in names]
    return agreement.alpha(np.array(marks, float))


def disagreements(found: Session) -> list[int]:
    """Positions of unsettled disagreements between judges."""
    return [
        position
        for position, at in found.marks.items()
        if SETTLED not in at and len(set(at.values())) > 1
    ]


def _warnings(found: Session) -> Iterator[str]:
    for name, many in judges(found).items():
        graded = {at[name] for at in found.marks.values() if name in at}
        if many >= MIN_TO_DOUBT and len(graded) == 1:
            yield f"All {many} marks of {name} are the same, so they cannot separate the encoders."
    if open_ := disagreements(found):
        yield (
            f"Judges disagree on {formats.plural(len(open_), 'document')}: the mean of their "
            "marks counts until this is settled."
        )


def _marks(found: Session, called: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row for each mark; of two lists the first encoder's comes first, whichever side it had."""
    rows = []
    for position, value in enumerate(found.values.tolist()):
        question = shown(found, position)
        row: dict[str, Any] = {"query": question.query}
        if found.spec.mode == "relevance":
            row |= {"document": question.texts[0][0], "relevant": value}
        else:
            pair = found.pairs[found.pool.keys[found.draws[position].unit][1]]
            lists = question.texts[::-1] if found.swapped(position) else question.texts
            first, other = ("\n".join(texts) for texts in lists)
            row |= {
                "encoder_a": called[pair[0]],
                "encoder_b": called[pair[1]],
                "list_a": first,
                "list_b": other,
                "a_is_better": value,
            }
        rows.append(row)
    return rows


def judgement(workspace: Workspace, session: str, *, names: bool) -> Judgement:
    """The judgement of a session, the one that ships without a session.

    Those who see the names are told what can be done with the marks.
    """
    if not session:
        kept = shipped.read("judge")
        if kept is None:
            raise UserError("There is no session yet.", "Start one first.", code="no-result")
        return Judgement(kept.answer)
    found = opened(workspace, session)
    qrels, name = "", ""
    if names and found.spec.mode == "relevance" and (found.values != 0.5).any():
        qrels, name = export.files(found)[export.QRELS], export.usual_name(found)
    saved = f"upload:{name}" if name and workspace.store.uploads.get(name) else ""
    return Judgement(board_of(found), names, (), qrels, saved)


def answer(workspace: Workspace, spec: StatusSpec, do: Do) -> Iterator[Judgement]:
    """Yield the judgement of a session, with all marks."""
    said = judgement(workspace, spec.session, names=not spec.blind)
    if spec.session:
        said = replace(said, marks=_marks(opened(workspace, spec.session), said.called))
    yield said


STATUS = Question(
    "status",
    StatusSpec,
    answer,
    Judgement,
    ("judge status 36e4305ecb44",),
    group="judge",
    report_name="judgement",
)
