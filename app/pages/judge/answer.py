"""What the marks of a session say of its encoders."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from theodolite.app import formats
from theodolite.app.blocks import (
    Block,
    Card,
    Chart,
    Download,
    Finding,
    Hit,
    Hits,
    HitsColumn,
    Link,
    Links,
    Points,
    Table,
    Text,
)
from theodolite.app.examples import shipped
from theodolite.app.pages.judge import export
from theodolite.app.pages.judge.session import MARKS, Session, open_session
from theodolite.app.published import Published, Static, stored_answer
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.app.web.figures import axis, clear_colour, draw, scatter
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.judging import second as judges
from theodolite.engine.stats import agreement

KIND = "judgement"
MIN_TO_DOUBT = 20
"""Identical marks of a judge from which a warning is given."""
MAX_ROWS = 200
"""Marks in a document; its file has all."""
LABELS = {
    "relevant": "Relevant",
    "not": "Not relevant",
    "left": "Left is better",
    "neither": "No difference",
    "right": "Right is better",
}
"""Mark -> its words."""
HIDDEN = ("margin", "collection", "last", "blind")
"""Parts of a board that are no facts."""
EDGES = ("difference", "low", "high")


@dataclass(frozen=True)
class StatusSpec(Spec):
    """Show what the marks so far say of each pair of encoders.

    All intervals hold together at 95 %, even if you look after every mark. As JSON, a row for each
    pair comes first, and the whole status last.
    """

    session: Annotated[str, Field("Session", "See `judge list`.")]
    blind: Annotated[
        bool, Field("Blind", "Call the encoders A, B, …: for those who still judge.")
    ] = False


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
    in_terminal: ClassVar = ("a", "b", *EDGES, "verdict")

    board: Mapping[str, Any]
    names: bool = True
    marks: Sequence[Mapping[str, Any]] = ()
    qrels: str = ""
    dataset: str = ""

    @property
    def called(self) -> dict[str, str]:
        """Encoder -> its name, or letter."""
        blind = enumerate(self.board["blind"])
        return {name: name if self.names else f"Encoder {chr(65 + i)}" for i, name in blind}

    @property
    def title(self) -> str:
        """What a report of it is called."""
        as_given = [pair[side] for pair in self.board["pairs"] for side in ("a", "b")]
        called = list(dict.fromkeys(as_given)) if self.names else sorted(self.called.values())
        return f"Judgement of {formats.listed(called)} on {self.board['collection']}"

    def rows(self) -> list[dict[str, Any]]:
        """A row for each pair."""
        called = self.called
        return [
            {
                name: called.get(value, value) if isinstance(value, str) else value
                for name, value in pair.items()
                if name != "path"
            }
            for pair in self.board["pairs"]
        ]

    def facts(self) -> dict[str, Any]:
        """The status; a title may name the encoders."""
        hidden = HIDDEN if self.names else (*HIDDEN, "title")
        return {
            name: self.rows() if name == "pairs" else value
            for name, value in self.board.items()
            if name not in hidden
        }

    @property
    def finding(self) -> Finding:
        """Whether enough is judged, and how much that is."""
        board = self.board
        many = formats.plural(board["marks"] + board["left"], "mark")
        detail = f"{board['marks']:,} of at most {many} on {board['collection']}."
        if len(board["judges"]) > 1:
            alpha = formats.score(board["alpha"])
            detail += f" {len(board['judges'])} judges, Krippendorff's alpha {alpha}."
        return Finding("Enough has been judged." if board["enough"] else "Not enough yet.", detail)

    def notes(self) -> list[str]:
        """What a terminal says below the table."""
        alone = [numbers for _, numbers, _ in self._pairs() if "Without" in numbers]
        return [self.finding.text, self.finding.detail, *alone, *self._remarks()]

    def _remarks(self) -> Iterator[str]:
        """What is to be known of the judges."""
        yield from self.board["warnings"]
        if (model := self.board["second"]) is None:
            return
        every = model["marked"] + model["unmarked"] + model["left"]
        yield (
            f"Second judge: {model['model']}. It has marked {model['marked']:,} of {every:,} "
            f"documents; {model['unmarked']:,} could not be read, {model['left']:,} are left."
        )
        if both := model["agreement"]:
            share, low, high = (formats.percent(both[name]) for name in ("share", "low", "high"))
            kappa, sensitivity, specificity = map(
                formats.score, (both["kappa"], both["sensitivity"], both["specificity"])
            )
            yield (
                f"On {formats.plural(both['documents'], 'document')} marked by both, it agrees "
                f"with the person in {share} ({low} to {high}); Cohen's kappa "
                f"{kappa}, sensitivity {sensitivity}, specificity {specificity}."
            )

    def blocks(self) -> list[Block]:
        """The conclusion, each pair with its path over the marks, and what to do with them."""
        blocks: list[Block] = [self.finding]
        for words, numbers, path in self._pairs():
            blocks.append(Text(words, numbers))
            blocks += [_chart(path, words)] * (len(path) > 1)
        how = (
            "First minus second, in points out of 100, after each mark. The band is a 95 % "
            "confidence sequence: it holds for all pairs together, however often you look."
        )
        remarks = [*self._remarks(), *[how] * bool(self.board["marks"])]
        blocks.append(Points([("", text) for text in remarks]))
        if self.qrels:
            blocks.append(Download("Download qrels", export.QRELS, self.qrels))
        blocks += self.saved()
        if self.marks:
            rows = [list(row.values()) for row in self.marks]
            blocks += [
                Text("What was judged", "In the order in which it was asked."),
                Table("marks", list(self.marks[0]), rows, shown=MAX_ROWS),
            ]
        return blocks

    def saved(self) -> list[Block]:
        """The data set that the marks were saved as, if they were."""
        if not self.dataset:
            return []
        links = [
            Link(self.dataset, "data", {"set": self.dataset}),
            Link("Evaluate on it", "evaluate", {"task": self.dataset}),
        ]
        return [Text("", "Saved as a data set, which is also a task:"), Links(links)]

    def _pairs(self) -> Iterator[tuple[str, str, list[Sequence[float]]]]:
        """Of each pair, in the order of the names that are shown: words, numbers, and the path."""
        order, called = self.board["blind"], self.called

        def sides(pair: Mapping[str, Any]) -> list[str]:
            return sorted((pair["a"], pair["b"]), key=order.index)

        for pair in sorted(self.board["pairs"], key=lambda one: [*map(order.index, sides(one))]):
            first, other = sides(pair)
            turn = first != pair["a"]
            path = [_turn(row, turn) for row in pair["path"]]
            words = f"{called[first]} or {called[other]}: undecided"
            if pair["verdict"] == "alike":
                margin = self.board["margin"]
                words = f"{called[first]} and {called[other]} differ by less than {margin:g} points"
            elif better := pair["verdict"]:
                worse = other if better == first else first
                words = f"{called[better]} is better than {called[worse]}"
            numbers = _interval(path[-1]) if len(path) > 1 else ""
            if alone := pair.get("without_second"):
                without = _interval(_turn([alone[name] for name in EDGES], turn))
                numbers += f". Without the second judge: {without}"
            yield words, numbers, path


def _turn(row: Sequence[float], turn: bool) -> Sequence[float]:
    """A difference and its interval, of the other encoder if it is turned."""
    middle, low, high = row
    return (0.0 - middle, -high, -low) if turn else row


def _interval(row: Sequence[float]) -> str:
    middle, low, high = map(formats.signed, row)
    return f"{middle} points, {low} to {high}"


def _chart(path: Sequence[Sequence[float]], words: str) -> Chart:
    """Estimate and interval over the marks."""
    middle, low, high = (list(values) for values in zip(*path, strict=True))
    top = max(5.0, *(abs(end) for _, *ends in path[len(path) // 8 :] for end in ends))
    plain = {"x": list(range(len(path))), "mode": "lines", "showlegend": False, "hoverinfo": "skip"}
    band = {"line": {"width": 0}, "fillcolor": clear_colour(SERIES[0], 0.2)}
    line = {"line": {"color": SERIES[0], "width": 2}, "hoverinfo": "x+y"}
    traces = [
        scatter(y=high, **plain | band),
        scatter(y=low, fill="tonexty", **plain | band),
        scatter(y=middle, **plain | line),
    ]
    return Chart(
        draw(traces, axis("marks"), axis("points", range=[-top, top]), height=220, left=48),
        f"{words}.",
        name="theodolite-judgement",
        columns=["marks", *EDGES],
        rows=[[at, *one] for at, one in enumerate(path)],
    )


def board_of(session: Session) -> dict[str, Any]:
    """The state of a session as JSON: differences in points, first minus second.

    `path` of each pair has estimate, low and high in points after each mark; `blind` has the
    encoders in an order shuffled by the session's seed.
    """
    pairs: list[dict[str, Any]] = [
        {"a": a, "b": b, **_points(one), "verdict": verdict or None, "path": path.tolist()}
        for (a, b), one, verdict in zip(
            session.pairs, session.estimates, session.verdicts, strict=True
        )
        for path in [(100.0 * one.path).round(2)]
    ]
    if session.second is not None:
        for pair, alone in zip(pairs, session.estimate(heard=False), strict=True):
            pair["without_second"] = _points(alone)
    encoders, last = session.spec.encoders, None
    order = np.random.default_rng([session.spec.seed, 2]).permutation(len(encoders))
    alpha = _alpha(session)
    if len(session.values):
        at = len(session.values) - 1
        side = -1.0 if session.swapped(at) else 1.0
        last = asdict(session.question(at)) | {"mark": side * float(session.values[at])}
    return {
        "id": session.id,
        "title": session.title,
        "mode": session.spec.mode,
        "marks": len(session.values),
        "left": session.left,
        "judges": session.judges,
        "pairs": pairs,
        "enough": all(session.verdicts),
        "alpha": None if math.isnan(alpha) else alpha,
        "disagreements": session.disagreements,
        "second": _second(session),
        "warnings": list(_warnings(session)),
        "margin": session.spec.margin,
        "collection": session.spec.collection,
        "last": last,
        "blind": [encoders[i] for i in order],
    }


def _points(one: Any) -> dict[str, float]:
    return {name: 100.0 * getattr(one, name) for name in EDGES}


def _alpha(session: Session) -> float:
    """Krippendorff's alpha of the judges; nan if no two judged the same document."""
    if len(session.judges) < 2:
        return math.nan
    rows = [[at.get(judge, np.nan) for at in session.marks.values()] for judge in session.judges]
    return agreement.alpha(np.array(rows))


def _second(session: Session) -> dict[str, Any] | None:
    """Progress and agreement of the second judge; None without one."""
    if session.second is None:
        return None
    judged = [draw.unit for draw in session.draws[: len(session.values)]]
    both = judges.agreement(session.values, session.second.grades[judged])
    marked, answered = (int((of > 0).sum()) for of in (session.second.grades, session.second.ids))
    return {
        "model": session.spec.second,
        "marked": marked,
        "unmarked": answered - marked,
        "left": len(session.keys) - answered,
        "agreement": both
        and {k: None if math.isnan(value) else value for k, value in asdict(both).items()},
    }


def _warnings(session: Session) -> Iterator[str]:
    if session.is_by_rule and not session.is_own:
        yield (
            "No person asked these queries: they were made by rule. Your marks say which documents "
            "answer them, but not what people will ask; for that, write queries of your own."
        )
    for name, many in session.judges.items():
        if (
            many >= MIN_TO_DOUBT
            and len({at.get(name) for at in session.marks.values()} - {None}) == 1
        ):
            yield f"All {many} marks of {name} are the same, so they cannot separate the encoders."
    if session.disagreements:
        yield (
            f"Judges disagree on {formats.plural(len(session.disagreements), 'document')}: the "
            "mean of their marks counts until this is settled."
        )


def question_block(query: str, texts: Sequence[Sequence[str]]) -> Block:
    """A query with the document, or the two lists, that are judged."""
    if len(texts) == 1:
        return Text(query, texts[0][0])
    place = {text: i for i, text in enumerate(dict.fromkeys([*texts[0], *texts[1]]))}
    columns = [
        HitsColumn(side, [[Hit(place[text], text, None) for text in one]], is_encoder=False)
        for side, one in zip(("Left", "Right"), texts, strict=True)
    ]
    return Hits([query], columns)


def last_mark(board: Mapping[str, Any]) -> list[Block]:
    """The last question with its mark; nothing before the first."""
    if not (last := board["last"]):
        return []
    known = MARKS[board["mode"]]
    word = min(known, key=lambda one: abs(known[one] - last["mark"]))
    text = f"The last mark: {LABELS[word].lower()}."
    return [
        Card("The last question", [question_block(last["query"], last["texts"]), Text("", text)])
    ]


def judgement(workspace: Workspace, session: str, *, names: bool) -> Judgement:
    """The judgement of a session, stored or published; the one that ships without a session.

    Those who see the names are told what can be done with the marks.
    """
    if not session:
        example = shipped.read(workspace, KIND)
        if example is None:
            raise UserError("There is no session yet.", "Start one first.", code="no-result")
        return Judgement(example)
    if board := stored_answer(workspace, KIND, session):
        return Judgement(board)
    state = open_session(workspace, session)
    result = Judgement(board_of(state), names)
    name = export.usual_name(state)
    with suppress(UserError):  # lists were judged, or nothing yet
        qrels = export.files(state)[export.QRELS] if names else ""
        saved = names and workspace.store.uploads.get(name)
        result = replace(result, qrels=qrels, dataset=f"upload:{name}" if saved else "")
    return result


def _marks(session: Session, called: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """A row for each mark; of two lists the first encoder's comes first, whichever side it had."""
    for position, value in enumerate(session.values.tolist()):
        question = session.question(position)
        if session.spec.mode == "relevance":
            yield {
                "query": question.query,
                "document": question.texts[0][0],
                "relevant": value,
            }
            continue
        pair = session.pairs[session.keys[session.draws[position].unit][1]]
        lists = question.texts[::-1] if session.swapped(position) else question.texts
        yield {
            "query": question.query,
            **{f"encoder_{side}": called[name] for side, name in zip("ab", pair, strict=True)},
            **{f"list_{side}": "\n".join(one) for side, one in zip("ab", lists, strict=True)},
            "a_is_better": value,
        }


def answer(workspace: Workspace, spec: StatusSpec, do: Do) -> Iterator[Judgement]:
    """Yield the judgement of a session, with all marks."""
    result = judgement(workspace, spec.session, names=not spec.blind)
    if spec.session:
        session = open_session(workspace, spec.session)
        result = replace(result, marks=list(_marks(session, result.called)))
    yield result


STATUS = Question(
    "status",
    StatusSpec,
    answer,
    Judgement,
    ("judge status 36e4305ecb44",),
    group="judge",
    report_name="judgement",
)


def _carry(published: Published) -> None:
    """Publish the sessions of published encoders on data whose texts are published."""
    for row in published.source.store.judgements.list():
        spec = row["spec"]
        is_public = row["marks"] and set(spec["encoders"]) <= published.encoders.keys()
        if not is_public or spec["collection"] not in published.texts:
            continue
        with suppress(UserError):  # its texts are not published
            published.workspace.catalog.load(published.texts[spec["collection"]])
            session = open_session(published.source, row["id"])
            # Judges are numbered instead of named.
            called = {name: f"judge {i}" for i, name in enumerate(session.judges, 1)}
            marks = {
                position: {called.get(name, name): mark for name, mark in at.items()}
                for position, at in session.marks.items()
            }
            board = board_of(replace(session, marks=marks))
            if board["second"]:  # the address of its server is private
                board["second"] |= {"model": board["second"]["model"].rpartition("#")[2]}
            published.keep(KIND, row["id"], board | {"id": "", "title": row["title"]})


def _views(published: Published) -> Iterator[tuple[str, StatusSpec]]:
    """Every published session, the newest first; else the shipped example."""
    sessions = [row["id"] for row in published.source.store.judgements.list()]
    boards = {one: stored_answer(published.workspace, KIND, one) for one in sessions}
    for session, board in boards.items():
        if board:
            yield board["title"], StatusSpec(session)
    board = judgement(published.workspace, "", names=True).board
    if not any(boards.values()) and set(board["blind"]) <= set(published.encoders.values()):
        with suppress(UserError):
            published.workspace.catalog.load(board["collection"])
            yield "Example", StatusSpec("")


def _blocks(workspace: Workspace, spec: StatusSpec) -> Sequence[Block]:
    """What all marks say, and the last question."""
    result = judgement(workspace, spec.session, names=True)
    return [*result.blocks(), *last_mark(result.board)]


PUBLISHED = Static(STATUS, _views, _carry, _blocks)
