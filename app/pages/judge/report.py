"""The outcome of a session, and its export as a data set."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from theodolite.app import formats
from theodolite.app.pages.data import service as data
from theodolite.app.pages.judge import second
from theodolite.app.pages.judge.service import (
    MIN_TO_DOUBT,
    SETTLED,
    Session,
    opened,
    returned,
    shown,
)
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

SECOND = "second-judge.jsonl"
QRELS = "judgements.qrels"
"""TREC's four columns, for trec_eval; BEIR's three are in `qrels/test.tsv`."""


def status(found: Session) -> dict[str, Any]:
    """The findings so far as JSON: differences in points, first minus second."""
    pairs: list[dict[str, Any]] = [
        {
            "a": a,
            "b": b,
            "difference": 100.0 * one.difference,
            "low": 100.0 * one.low,
            "high": 100.0 * one.high,
            "verdict": found.verdict(i) or None,
        }
        for i, ((a, b), one) in enumerate(zip(found.pairs, found.estimates, strict=True))
    ]
    if found.second is not None:
        for pair, alone in zip(pairs, found.unaided, strict=True):
            pair["without_second"] = {
                "difference": 100.0 * alone.difference,
                "low": 100.0 * alone.low,
                "high": 100.0 * alone.high,
            }
    agreement = alpha(found)
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
    }


def board(found: Session) -> dict[str, Any]:
    """The status with the data that the page draws.

    `path` of each pair has estimate, low and high in points after each mark; `blind` has the
    encoders in an order shuffled by the session's seed.
    """
    order = np.random.default_rng([found.spec.seed, 2]).permutation(len(found.spec.encoders))
    paths = [(100.0 * one.path).round(2).tolist() for one in found.estimates]
    board_row = status(found)
    for pair, path in zip(board_row["pairs"], paths, strict=True):
        pair["path"] = path
    at = len(found.values) - 1
    last = asdict(shown(found, at)) | {"mark": float(found.values[at])} if at >= 0 else None
    return board_row | {
        "margin": found.spec.margin,
        "collection": found.spec.collection,
        "last": last,
        "blind": [found.spec.encoders[i] for i in order],
    }


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
    open_ = disagreements(found)
    if open_:
        yield (
            f"Judges disagree on {formats.plural(len(open_), 'document')}: the mean of their "
            "marks counts until this is settled."
        )


def judged(found: Session) -> dict[int, dict[int, int]]:
    """Query -> document -> 1 for relevant, else 0; without documents on which judges are tied."""
    if found.spec.mode != "relevance":
        raise UserError(
            "Preferences between lists do not show which documents are relevant.",
            "Judge documents to make a data set.",
            code="unsupported",
        )
    grades: dict[int, dict[int, int]] = {}
    for one, value in zip(found.draws, found.values.tolist(), strict=False):
        query, document = found.pool.keys[one.unit]
        if value == 0.5:
            continue
        grades.setdefault(query, {})[document] = int(value >= 0.5)
    if not grades:
        raise UserError(
            "Nothing has been judged yet.", "Mark some documents first.", code="no-result"
        )
    return dict(sorted(grades.items()))


def unjudged(found: Session, workspace: Workspace, encoder: str) -> dict[str, int]:
    """Count the unjudged documents that an encoder returns for the judged queries."""
    grades, pool = judged(found), found.pool
    place = {text: i for i, text in enumerate(pool.documents)}
    queries = [pool.queries[i] for i in grades]
    lists = returned(workspace, encoder, found.spec, queries)
    at = [
        grades[query].get(place.get(text, -1))
        for query, texts in zip(grades, lists, strict=True)
        for text in texts
    ]
    known = [grade for grade in at if grade is not None]
    return {
        "queries": len(queries),
        "returned": len(at),
        "unjudged": len(at) - len(known),
        "relevant": sum(known),
        "not_relevant": len(known) - sum(known),
    }


def write(found: Session, folder: Path) -> list[Path]:
    """Write a session in BEIR's layout, with TREC's qrels beside.

    Each query ranks only the documents judged for it (`top_ranked`), so an unjudged document never
    counts as wrong (condensed lists, Sakai 2007).
    """
    grades, pool = judged(found), found.pool
    rows = [(f"q{q}", f"d{d}", grade) for q, at in grades.items() for d, grade in at.items()]
    documents = sorted({d for at in grades.values() for d in at})
    files = {
        "corpus.jsonl": _lines({"_id": f"d{i}", "text": pool.documents[i]} for i in documents),
        "queries.jsonl": _lines({"_id": f"q{i}", "text": pool.queries[i]} for i in grades),
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\n"
        + "".join(f"{q}\t{d}\t{grade}\n" for q, d, grade in rows),
        "top_ranked/test.jsonl": _lines(
            {"query-id": f"q{q}", "corpus-ids": [f"d{d}" for d in at]} for q, at in grades.items()
        ),
        QRELS: "".join(f"{q} 0 {d} {grade}\n" for q, d, grade in rows),
    }
    for name, text in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def write_second(found: Session, folder: Path) -> list[Path]:
    """Write the second judge's marks to a file of their own; nothing without a second judge.

    They are not part of the qrels, which hold the person's marks.
    """
    if found.second is None:
        return []
    pool, model = found.pool, found.spec.second
    rows = [
        {
            "query-id": f"q{query}",
            "corpus-id": f"d{document}",
            "grade": grade - 1,
            "judge": model,
            "query": pool.queries[query],
            "document": pool.documents[document],
        }
        for (query, document), grade in zip(pool.keys, found.second.grades.tolist(), strict=True)
        if grade
    ]
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / SECOND
    target.write_text(_lines(rows), encoding="utf-8")
    return [target]


def _lines(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def keep(workspace: Workspace, session: str, name: str = "") -> str:
    """Save a session as a data set, and return its name, which is also that of its task.

    The default name has the session's id and number of marks: more marks make another data set.
    """
    workspace.refuse_visitors()
    with TemporaryDirectory() as folder:
        judged_here, found = Path(folder) / "judged", opened(workspace, session)
        write(found, judged_here)
        with data.together([judged_here]) as file:
            usual = f"judged-{session}-{len(found.values)}"
            mapping = data.mapping_of(file, None, None)
            row = data.keep(workspace, file, file.name, name.strip() or usual, mapping)
    return f"upload:{row['name']}"
