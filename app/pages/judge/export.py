"""A session as a data set, in BEIR's layout with TREC's qrels, and what nobody has judged."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from theodolite.app.pages.data import service as data
from theodolite.app.pages.judge.service import returned
from theodolite.app.pages.judge.session import Session, opened
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

SECOND = "second-judge.jsonl"
QRELS = "judgements.qrels"
"""TREC's four columns, for trec_eval; BEIR's three are in `qrels/test.tsv`."""


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
        if value != 0.5:
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


def files(found: Session) -> dict[str, str]:
    """Name -> content of a session in BEIR's layout, with TREC's qrels beside.

    Each query ranks only the documents judged for it (`top_ranked`), so an unjudged document never
    counts as wrong (condensed lists, Sakai 2007).
    """
    grades, pool = judged(found), found.pool
    rows = [(f"q{q}", f"d{d}", grade) for q, at in grades.items() for d, grade in at.items()]
    documents = sorted({d for at in grades.values() for d in at})
    return {
        "corpus.jsonl": _lines({"_id": f"d{i}", "text": pool.documents[i]} for i in documents),
        "queries.jsonl": _lines({"_id": f"q{i}", "text": pool.queries[i]} for i in grades),
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\n"
        + "".join(f"{q}\t{d}\t{grade}\n" for q, d, grade in rows),
        "top_ranked/test.jsonl": _lines(
            {"query-id": f"q{q}", "corpus-ids": [f"d{d}" for d in at]} for q, at in grades.items()
        ),
        QRELS: "".join(f"{q} 0 {d} {grade}\n" for q, d, grade in rows),
    }


def write(found: Session, folder: Path, *, with_second: bool = True) -> list[Path]:
    """Write a session to a folder; the second judge's marks to a file of their own.

    Those are not part of the qrels, which hold the person's marks.
    """
    every = files(found)
    if with_second and found.second is not None:
        pool, model = found.pool, found.spec.second
        marks = zip(pool.keys, found.second.grades.tolist(), strict=True)
        every[SECOND] = _lines(
            {
                "query-id": f"q{query}",
                "corpus-id": f"d{document}",
                "grade": grade - 1,
                "judge": model,
                "query": pool.queries[query],
                "document": pool.documents[document],
            }
            for (query, document), grade in marks
            if grade
        )
    for name, text in every.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return [folder / name for name in every]


def _lines(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def usual_name(found: Session) -> str:
    """Name of the data set of a session: its source, session and number of marks.

    More marks make another data set.
    """
    source = data.name_for(found.spec.collection.rpartition(":")[2])
    return f"{source[:50]}-judged-{found.id[:6]}-{len(found.values)}"


def keep(workspace: Workspace, session: str, name: str = "") -> str:
    """Save a session as a data set, and return its name, which is also that of its task."""
    workspace.refuse_visitors()
    with TemporaryDirectory() as folder:
        found, place = opened(workspace, session), Path(folder) / "judged"
        write(found, place, with_second=False)
        with data.together([place]) as file:
            mapping = data.mapping_of(file, None, None)
            row = data.keep(workspace, file, file.name, name.strip() or usual_name(found), mapping)
    return f"upload:{row['name']}"
