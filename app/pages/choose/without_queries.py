"""Documents without queries: set-ups are scored on queries by rule, which marks of Judge correct.

A score on queries that nobody asked is a guess. Its sheet says so, and calls nothing best, until a
person has marked documents that the set-ups return: see `engine.judging.surrogate`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from theodolite.app import formats
from theodolite.app.pages.choose import data, setups
from theodolite.app.pages.judge.session import open_session
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import by_rule
from theodolite.engine.tasks.retrieval import judged_queries

MIN_MARKS = 10
"""Fewest marks that correct a sheet."""
ENOUGH = (20, 50)
"""Marks that a person is asked for."""
KINDS = {
    "known": "queries of words from a document",
    "cloze": "sentences taken out of their documents",
    "written": "queries that a language model wrote",
}
"""Start of a query's id -> what such queries are."""


def task_of(workspace: Workspace, name: str) -> str:
    """The task that scores set-ups on documents: by what people asked, else by queries by rule."""
    loaded: Any = workspace.catalog.load(name)
    if by_rule.are_written(getattr(loaded, "queries", ())):
        return by_rule.join(name)
    return data.task_of(workspace, name) or by_rule.join(name)


def is_made(task: str | None) -> bool:
    """Whether the queries of a task are made by rule."""
    return by_rule.split_name(task or "")[1]


def firsts(workspace: Workspace, task: str, every: Sequence[setups.SetUp]) -> list[dict[str, Any]]:
    """For each kind of queries: how many, and which set-up comes first with what score."""
    loaded: Any = workspace.catalog.load(task)
    kinds = [key.partition(":")[0] for key in judged_queries(loaded)[1]]
    lists = []
    for kind in dict.fromkeys(kinds):
        at = [i for i, one in enumerate(kinds) if one == kind]
        scores = {
            one.name: 100.0 * float(one.sample.values[at].mean()) for one in every if one.sample
        }
        first = max(scores, key=scores.__getitem__)
        lists.append({"kind": kind, "n": len(at), "encoder": first, "score": scores[first]})
    return lists


def newest_session(workspace: Workspace, sheet: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the newest session on the queries of a sheet says of its set-ups; None without one.

    Differences in points, first minus second, with intervals for looking once.
    """
    specs = {row["encoder"] for row in sheet["encoders"]}
    for row in workspace.store.judgements.list():
        spec = row["spec"]
        if spec["collection"] != sheet["task"] or not specs.issuperset(spec["encoders"]):
            continue
        session = open_session(workspace, row["id"])
        if session.is_by_rule and len(session.values) >= MIN_MARKS:
            pairs = zip(session.pairs, session.at_one_look(), strict=True)
            return {
                "session": row["id"],
                "marks": len(session.values),
                "queries": len(session.queries),
                "own": session.is_own,
                "pairs": [
                    {"a": a, "b": b}
                    | dict(zip(_ENDS, (100.0 * value for value in one), strict=True))
                    for (a, b), one in pairs
                ],
            }
    return None


_ENDS = ("difference", "low", "high")


def headline(sheet: Mapping[str, Any]) -> str:
    """What marks say of the order; without any, what the rule says, as a guess."""
    if not (marks := sheet.get("judged")):
        return f"By rule, {sheet['best']['encoder']} comes first: nobody has judged that yet"
    decided = (pair for pair in marks["pairs"] if pair["low"] > 0 or pair["high"] < 0)
    worse = {_order(pair)[1] for pair in decided}
    names = dict.fromkeys(pair[side] for pair in marks["pairs"] for side in "ab")
    able, many = [name for name in names if name not in worse], formats.count(marks["marks"])
    if len(able) == 1:
        return f"{able[0]} is best, by {many} marks"
    return f"{many} marks cannot tell {formats.listed(able)} apart"


def sentences(sheet: Mapping[str, Any]) -> Iterator[str]:
    """What marks say of each pair, and what each kind of queries says."""
    if marks := sheet.get("judged"):
        whose = "queries of your own" if marks["own"] else "queries by rule"
        for pair in marks["pairs"]:
            first, other, sign = _order(pair)
            low, high = sorted(sign * pair[end] for end in ("low", "high"))
            yield (
                f"Judged: {first} scores {abs(pair['difference']):.2f} points more than {other} "
                f"(DCG of the first documents; 95 % interval {formats.signed(low)} to "
                f"{formats.signed(high)}, from {formats.count(marks['marks'])} marks on "
                f"{formats.count(marks['queries'])} {whose})."
            )
    for one in sheet.get("kinds", ()):
        start = "On" if one["kind"] == "written" else "By rule, on"
        yield (
            f"{start} {formats.count(one['n'])} {KINDS[one['kind']]}, {one['encoder']} comes "
            f"first with {formats.score(one['score'])}."
        )


def warnings(sheet: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Why a sheet by rule is no verdict, and what its marks do not say."""
    few, many = ENOUGH
    leaders = dict.fromkeys(one["encoder"] for one in sheet["kinds"])
    has_written = any(one["kind"] == "written" for one in sheet["kinds"])
    marks = sheet.get("judged")
    if not marks:
        yield (
            "by_rule",
            "Nobody asked these queries: they were made from the documents by rule"
            f"{', or written by a language model' * has_written}. Such scores "
            "have put encoders above BM25 where people's queries say the reverse (XQuAD). Mark "
            f"{few} to {many} documents on the page Judge before you rely on the order.",
        )
    elif not marks["own"]:
        yield (
            "by_rule",
            "Marks correct which documents count as right, not which queries are asked. Start a "
            "session with queries of your own, under More on the page Judge, to correct both.",
        )
    if marks:
        yield (
            "one_look",
            "The interval of the marks is for looking once, at a number of marks fixed beforehand. "
            "The wider one on the page Judge holds however often you look.",
        )
    if len(leaders) > 1:
        yield (
            "kinds_disagree",
            "The kinds of queries put different set-ups first: those of words favour BM25, "
            "sentences favour encoders. What people will ask decides.",
        )


def session_address(sheet: Mapping[str, Any]) -> dict[str, Any]:
    """The address of a session on the first set-up and the best by BM25, or the next."""
    rows = [row for row in sheet["encoders"] if row["score"] is not None]
    able = [row for row in rows if not setups.needs_judgements(row["encoder"])]
    order = [row["encoder"] for row in sorted(able, key=lambda row: -row["score"])]
    second = [name for name in (sheet["baseline"], *order) if name in order[1:]]
    return {"in": sheet["task"], "encoder": [*order[:1], *second[:1]]}


def _order(pair: Mapping[str, Any]) -> tuple[str, str, int]:
    """The better of a pair, the other, and 1 if the better is the first, else -1."""
    is_first = pair["difference"] >= 0
    return (pair["a"], pair["b"], 1) if is_first else (pair["b"], pair["a"], -1)
