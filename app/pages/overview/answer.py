"""Stored results: the table of scores, one result in full, and removal."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import isnan
from typing import Any

from theodolite.app import formats
from theodolite.app.blocks import (
    Action,
    Actions,
    Block,
    Card,
    Caveat,
    Caveats,
    Facts,
    Finding,
    Link,
    Links,
    Nothing,
    Problem,
    Table,
    Text,
)
from theodolite.app.components.heatmap import Cell, HeatmapColumn, HeatmapRow
from theodolite.app.examples import shipped
from theodolite.app.metrics import AGGREGATIONS, metric
from theodolite.app.pages.evaluate import job
from theodolite.app.pages.evaluate.answer import protocol_card
from theodolite.app.results import under_own_protocol
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.protocols.published import (
    TABLE_B3,
    TABLE_E1,
    TABLE_INFERSENT,
    TABLE_MAIN,
    Published,
)
from theodolite.engine.stats import spread
from theodolite.engine.stats.agreement import means, shared
from theodolite.engine.stats.bootstrap import main_sample, resample_all
from theodolite.engine.tasks import STARTER, SUITES, TASKS, in_order
from theodolite.store import StoreError
from theodolite.store.results import REPAIR

MAX_FIRST = 3
"""Most encoders named as the best; if more are tied, none is named."""
MAX_NUMBERS = 20
"""Most numbers of a result that are shown; its file has all."""
RESAMPLES = 500
SUITE_LABELS = {"starter": "starter", "sts": "STS", "transfer": "transfer"}
"""Suites with a mean: of one metric. `senteval` scores STS-B by a regressor, not the cosine."""
SHORT = {"STSBenchmark": "STS-B", "SICKRelatedness": "SICK-R"}
STARTERS = {
    "minilm": "a transformer trained on a billion sentence pairs, all-MiniLM-L6-v2: what 23 "
    "million parameters can do",
    "wordllama": "static word vectors taken from a large language model and averaged: very fast, "
    "and no sense of word order",
    "random:256": "a random vector for every word, added up: the word-overlap baseline. Whatever "
    "it achieves needs no meaning",
}
FOOTNOTE: Sequence[Block] = (
    Links([Link("Compare says which differences are significant", "compare")]),
    Text(
        "",
        "StarterSTS, StarterTopics and StarterSearch are computed on the starter set, which was "
        "written for this app. Its grades follow a written rubric; agreement between people was "
        "not measured.",
    ),
)


def table(workspace: Workspace) -> tuple[list[HeatmapColumn], list[HeatmapRow]]:
    """Columns and rows of the overview: listed encoders, then published ones."""
    infos = workspace.store.encoders.infos()
    stored = workspace.store.results.table(encoders=list(infos))
    scores, moved = under_own_protocol(stored), spread.spreads(stored)
    lost = workspace.store.results.missing(scores.values())
    waiting = job.waiting(workspace)
    ships = shipped.scores(workspace, {owner for owner, _ in waiting})
    names = in_order(sorted({task for _, task in (*scores, *waiting)}))
    rows = {name: HeatmapRow(name, {}, note=_about(info)) for name, info in infos.items()}
    for (owner, task), row in scores.items():
        over = moved.get((owner, task, row["protocol"]))
        rows[owner].cells[task] = _cell(row, over, row["id"] in lost)
    for owner, task in waiting & {(owner, task) for owner in rows for task in names}:
        cell = rows[owner].cells.get(task)
        if cell is None or cell.score is None:
            score = ships.get((owner, task))
            facts = (("shipped example", "ships with Theodolite"), ("here", "waiting"))
            details = () if score is None else facts
            rows[owner].cells[task] = Cell(score, facts=details, state="waiting")
    columns = [HeatmapColumn(name, SHORT.get(name, name), _about_task(name)) for name in names]
    for suite, label in SUITE_LABELS.items():
        tasks = [name for name in SUITES[suite] if name in names]
        if len(tasks) > 1:
            differ = ", whose metrics differ" if suite == "starter" else ""
            about = (
                f"Plain mean over those of {', '.join(SUITES[suite])} that the encoders with a "
                f"mean share{differ}. Compared only with means over the same tasks."
            )
            columns.append(HeatmapColumn(f"average:{suite}", f"Mean, {label}", about, "average"))
            _add_means(rows, suite, tasks)
    printed = (*TABLE_MAIN, *TABLE_B3, *TABLE_E1, *TABLE_INFERSENT)
    others = [_published_row(row) for row in printed if not row.scores.keys().isdisjoint(names)]
    return columns, [*rows.values(), *others]


def _about(info: Mapping[str, Any]) -> str:
    dim, size = info.get("dim"), info.get("parameters")
    facts = [f"{formats.count(dim)} dimensions"] if dim else []
    return ", ".join(facts + ([f"{formats.compact(size)} parameters"] if size else []))


def _about_task(name: str) -> str:
    about = TASKS[name].description if name in TASKS else ""
    return f"{about} Written for this app." if name in STARTER else about


def _cell(row: Mapping[str, Any], over: spread.Spread | None, lost: bool) -> Cell:
    facts = {
        "error": row["error"],
        "what to do": row["hint"] if row["error"] is not None else "",
        "evaluated": formats.ago(row["created"]),
    }
    if row["error"] is not None:
        details = tuple((name, text) for name, text in facts.items() if text)
        return Cell(result=row["id"], facts=details, state="error")
    words = spread.words(over) if over else ""
    facts |= {
        "metric": metric(row),
        "seeds": words,
        "unreadable": f"its values per example are lost. {REPAIR}" if lost else "",
        "examples": formats.count(row["n"]),
        "protocol": row["protocol"],
        "time": formats.duration(row["seconds"]),
    }
    score = None if row["score"] != row["score"] else row["score"]  # nan: shown as missing
    details = tuple((name, text) for name, text in facts.items() if text)
    return Cell(score, row["id"], details, "unreadable" if lost else "", spread=words)


def _scores(rows: Sequence[HeatmapRow], tasks: Sequence[str]) -> dict[str, dict[str, float]]:
    """Encoder -> task -> score, of the encoders that are not waiting for one of these tasks."""
    scores = {}
    for row in rows:
        cells = {task: row.cells[task] for task in tasks if task in row.cells}
        if not any(cell.state == "waiting" and cell.score is None for cell in cells.values()):
            scores[row.name] = {t: c.score for t, c in cells.items() if c.score is not None}
    return scores


def _add_means(rows: Mapping[str, HeatmapRow], suite: str, tasks: Sequence[str]) -> None:
    """Add the means over the tasks of a suite that the encoders which get one share."""
    scores = _scores([*rows.values()], tasks)
    names, over = shared(scores)
    tasks_of = f"{len(over)} of {len(SUITES[suite])} tasks"
    facts = (("mean of", ", ".join(over)), ("tasks", tasks_of))
    for name, mean in means(scores, names, over).items():
        cells = rows[name].cells
        waits = any(cells[task].state == "waiting" for task in over)
        cells[f"average:{suite}"] = Cell(
            mean,
            facts=facts,
            note=tasks_of,
            over=",".join(over),
            state="waiting" if waits else "",
        )


def _published_row(row: Published) -> HeatmapRow:
    """The row of a published table."""
    weighted = row.aggregation == "wmean"
    every = {
        "printed in": row.table,
        "aggregation": AGGREGATIONS[row.aggregation] if row.aggregation else "",
        "training": row.training,
        "taken there from": row.origin,
        "evaluated here": "no",
    }
    facts = tuple((name, text) for name, text in every.items() if text)
    # STS-B and SICK-R have no subsets, so both tables print the same kind of number for them.
    cells = {
        task: Cell(score, facts=facts, over="wmean" if weighted and task.startswith("STS1") else "")
        for task, score in row.scores.items()
    }
    if row.average is not None:
        suite = "sts" if row.aggregation else "transfer"
        over = ",".join(row.scores) + ("; wmean" if weighted else "")
        cells[f"average:{suite}"] = Cell(row.average, facts=facts, note="7 of 7 tasks", over=over)
    where = "weighted means" if weighted else row.table.partition(" (")[0]
    return HeatmapRow(row.model, cells, note=f"{row.training}, {where}", published=True)


def headline(columns: Sequence[HeatmapColumn], rows: Sequence[HeatmapRow]) -> list[Block]:
    """Who has the highest scores; while evaluations are waiting, how many scores are there.

    Nobody is named then, unless shipped scores stand in place of all others: the headline stays
    when the last one arrives.
    """
    if not columns:
        hint = "Scores appear here as encoders are evaluated."
        return [Nothing("No results yet", hint, Link("Evaluate", "evaluate"))]
    tasks = [column.key for column in columns if column.kind == "task"]
    own = [row for row in rows if not row.published]
    cells = [row.cells[task] for row in own for task in tasks if task in row.cells]
    waiting = [cell for cell in cells if cell.state == "waiting"]
    there = sum(cell.score is not None and cell.state != "waiting" for cell in cells)
    computed = f"{there:,} of {formats.plural(there + len(waiting), 'score')} computed"
    ships = "Those in italics ship with Theodolite and will be replaced by yours."
    if any(cell.score is None for cell in waiting):
        aside = f" {ships}" if any(cell.score is not None for cell in waiting) else ""
        return [Finding(computed, f"The others are being computed.{aside}")]
    text = _highest(
        _scores(own, tasks), {task for row in own for task in tasks if task in row.cells}
    )
    if waiting:
        return [Finding(text or computed, f"{computed} here so far. {ships}", shipped=True)]
    return [Finding(text)] if text else []


def _highest(scores: Mapping[str, Mapping[str, float]], every: set[str]) -> str:
    """Name the encoders with the highest score on most of the tasks that they share.

    Empty if too many are tied, or no two share a task. Those compared are named where
    an encoder left out has a score on some of these tasks: it may be a higher one.
    """
    names, over = shared(scores)
    best = {task: max(scores[name][task] for name in names) for task in over}
    wins = {name: sum(scores[name][task] == best[task] for task in over) for name in names}
    most = max(wins.values(), default=0)
    first = [name for name, number in wins.items() if number == most]
    if len(names) < 2 or len(first) > MAX_FIRST:
        return ""
    others = (of for name, of in scores.items() if name not in names)
    whom = (
        "" if all(map(set(over).isdisjoint, others)) else f"Of {formats.listed(names, MAX_FIRST)}, "
    )
    where = f"{most} of {formats.plural(len(over), 'task')}"
    if len(over) < len(every):
        where += " that they share" if whom else " that all share"
    has = "has" if len(first) == 1 else "each have"
    return f"{whom}{formats.listed(first)} {has} the highest score on {where}"


def card(workspace: Workspace, result_id: int) -> list[Block]:
    """One result in full: its numbers, and the protocol it was computed under."""
    result = workspace.store.results.by_id(result_id)
    encoder, task, details = result["encoder"], result["task"], result["details"]
    blocks: list[Block] = []
    if result["error"] is not None:
        blocks.append(Problem(UserError(result["error"], result["hint"])))
    else:
        blocks += _numbers(workspace, result)
    links = [
        Link("Compare encoders on it", "compare", {"task": task}),
        Link("Cosine distributions", "distributions", {"encoder": encoder}),
    ]
    blocks.append(Links(links))
    if not workspace.read_only:
        size = formats.size(workspace.store.results.sizes([result])[result_id])
        about = f"Permanently remove this result of {encoder} on {task}"
        action = Action("Remove this result", "remove", str(result_id), about)
        blocks.append(Actions([action], f"{size} of values per example"))
    more = [
        ("seed used", str(result["seed"])),
        ("hash of the data", result["data_hash"][:12]),
        ("hash of the encoder", result["fingerprint"][:12]),
        *(
            (name.replace("_", " "), f"`{text}`" if text else "none")
            for name, text in (details.get("prompts") or {}).items()
        ),
        *_dependent_cells(details.get("dependent")),
    ]
    blocks += [Text(f"Protocol {result['protocol']}"), *protocol_card(result["protocol"], more)]
    return [Card(f"{task}, {encoder}", blocks, "one-result")]


def _numbers(workspace: Workspace, result: Mapping[str, Any]) -> Iterator[Block]:
    """Every score, its spread over seeds, and reasons to distrust it."""
    rows = [
        (
            f"{metric(score)}{' (main)' if score['main'] else ''}",
            f"{formats.score(score['score'])} {score['unit'] or ''}".strip(),
            score["n"],
        )
        for score in workspace.store.results.scores(result["id"])
    ]
    yield Table("theodolite-result", ("metric", "score", "examples"), rows, MAX_NUMBERS)
    key = tuple(result[name] for name in ("encoder", "task", "protocol"))
    same = [
        row
        for row in workspace.store.results.table(
            encoders=key[:1], tasks=key[1:2], protocols=key[2:], all_versions=True
        )
        if all(row[name] == result[name] for name in ("fingerprint", "data_hash"))
    ]
    if over := spread.spreads(same).get(key):
        yield Text(
            "",
            f"{spread.words(over)}, mean {formats.score(over.mean)}, from "
            f"{formats.score(over.lowest)} to {formats.score(over.highest)}. The numbers above are "
            f"those of seed {result['seed']}.",
        )
    notes = list(result["details"].get("notes") or [])
    if not workspace.store.results.is_readable(result):
        notes.append(f"Its values per example cannot be read: no test can use them. {REPAIR}")
    yield Caveats([Caveat(note) for note in notes])


def _dependent_cells(dependent: Mapping[str, Any] | None) -> Iterator[tuple[str, str]]:
    """What intervals and tests draw where examples are not independent, see `tasks.clusters`."""
    if dependent is None:
        return
    number, largest = (formats.count(dependent[name]) for name in ("n", "largest"))
    by = "named by a column" if dependent["by"] == "column" else f"that share a {dependent['by']}"
    text = f"{number} clusters of examples {by}, the largest of {largest}"
    if dependent["by"] != "column" and dependent["ways"] > 1:
        text = (
            f"the {number} texts of the pairs, each in up to {largest}; as clusters, pairs that "
            "share a text would be one long chain. Intervals are slightly too wide"
        )
    yield "drawn for intervals and tests", text


def welcome(rows: Sequence[HeatmapRow]) -> list[Block]:
    """The welcome for new users; nothing once other encoders than the starters are listed."""
    evaluated = {row.name for row in rows if not row.published}
    if not evaluated or evaluated - STARTERS.keys():
        return []
    text = (
        "They are evaluated first on the starter set: sentence pairs graded 0 to 5 and sentences "
        "in topics, written by us and small, so that there is something to see without a download."
    )
    links = {
        "map": "See 2,040 sentences on a map",
        "search": "Search what each considers similar",
        "decode": "Reconstruct a sentence from its vector",
        "encoders": "Add an encoder of your own",
        "data": "Bring your data",
    }
    ways = Links([Link(label, page) for page, label in links.items()])
    starters = Facts(list(STARTERS.items()))
    return [Card("Three encoders to start with", [starters, Text("", text), ways], "welcome")]


def remove(workspace: Workspace, rows: Sequence[dict[str, Any]]) -> int:
    """Remove results permanently; return the bytes of their values per example."""
    workspace.refuse_visitors()
    size = sum(workspace.store.results.sizes(rows).values())
    workspace.store.results.remove([row["id"] for row in rows])
    return size


@lru_cache(maxsize=4096)
def _interval(workspace: Workspace, result_id: int) -> list[float] | None:
    from theodolite.engine.stats.significance import interval

    details = workspace.store.results.by_id(result_id)["details"]
    examples = workspace.store.results.examples(result_id)
    try:
        sample = main_sample(examples, details)
    except (ValueError, LookupError):
        return None
    (resampled,) = resample_all([sample], RESAMPLES)
    low, high = interval(resampled.draws[None], [resampled.units])
    return None if isnan(low[0]) else [float(low[0]), float(high[0])]


def interval(workspace: Workspace, result_id: int) -> list[float] | None:
    """95 % bootstrap interval of a main score, in points; cached, since results never change.

    None if there is none, or its values cannot be read; the latter is not cached, as they may be
    restored.
    """
    try:
        return _interval(workspace, int(result_id))
    except StoreError:
        return None
