"""A session as a data set, in BEIR's layout with TREC's qrels, and what nobody has judged."""

import json
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from theodolite.app.pages.data import service as data
from theodolite.app.pages.judge.session import Session, open_session, retrieve
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

SECOND = "second-judge.jsonl"
QRELS = "judgements.qrels"
"""TREC's four columns, for trec_eval; BEIR's three are in `qrels/test.tsv`."""


def judgements(session: Session) -> dict[int, dict[int, int]]:
    """Query -> document -> 1 for relevant, else 0; without documents on which judges are tied."""
    if session.spec.mode != "relevance":
        raise UserError(
            "Preferences between lists do not show which documents are relevant.",
            "Judge documents to make a data set.",
            code="unsupported",
        )
    grades: dict[int, dict[int, int]] = {}
    for one, value in zip(session.draws, session.values.tolist(), strict=False):
        query, document = session.keys[one.unit]
        if value != 0.5:
            grades.setdefault(query, {})[document] = int(value > 0.5)
    if not grades:
        raise UserError(
            "Nothing has been judged yet.", "Mark some documents first.", code="no-result"
        )
    return dict(sorted(grades.items()))


def count_unjudged(workspace: Workspace, session: Session, encoder: str) -> dict[str, int]:
    """Count the unjudged documents that an encoder returns for the judged queries."""
    grades = judgements(session)
    place = {text: i for i, text in enumerate(session.documents)}
    lists = retrieve(workspace, encoder, session.spec, [session.queries[i] for i in grades])
    marks = [
        at.get(place.get(text, -1))
        for at, texts in zip(grades.values(), lists, strict=True)
        for text in texts
    ]
    return {
        "queries": len(grades),
        "returned": len(marks),
        "unjudged": marks.count(None),
        "relevant": marks.count(1),
        "not_relevant": marks.count(0),
    }


def files(session: Session) -> dict[str, str]:
    """Name -> content of a session in BEIR's layout, with TREC's qrels beside.

    Each query ranks only the documents judged for it (`top_ranked`), so an unjudged document never
    counts as wrong (condensed lists, Sakai 2007).
    """
    grades = judgements(session)
    rows = [(f"q{q}", f"d{d}", grade) for q, at in grades.items() for d, grade in at.items()]
    documents = sorted({d for at in grades.values() for d in at})
    return {
        "corpus.jsonl": _lines({"_id": f"d{i}", "text": session.documents[i]} for i in documents),
        "queries.jsonl": _lines({"_id": f"q{i}", "text": session.queries[i]} for i in grades),
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\n"
        + "".join(f"{q}\t{d}\t{grade}\n" for q, d, grade in rows),
        "top_ranked/test.jsonl": _lines(
            {"query-id": f"q{q}", "corpus-ids": [f"d{d}" for d in at]} for q, at in grades.items()
        ),
        QRELS: "".join(f"{q} 0 {d} {grade}\n" for q, d, grade in rows),
    }


def second_marks(session: Session) -> dict[str, str]:
    """The second judge's marks as a file of their own: no qrels, which hold the person's marks."""
    if session.second is None:
        return {}
    marks = zip(session.keys, session.second.grades.tolist(), strict=True)
    rows = [
        {
            "query-id": f"q{query}",
            "corpus-id": f"d{document}",
            "grade": grade - 1,
            "judge": session.spec.second,
            "query": session.queries[query],
            "document": session.documents[document],
        }
        for (query, document), grade in marks
        if grade
    ]
    return {SECOND: _lines(rows)}


def write(every: dict[str, str], folder: Path) -> list[Path]:
    """Write files by their names below a folder."""
    for name, text in every.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return [folder / name for name in every]


def _lines(rows: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def usual_name(session: Session) -> str:
    """Name of the data set of a session: its source, session and number of marks.

    More marks make another data set.
    """
    source = data.name_for(session.spec.collection.rpartition(":")[2])
    return f"{source[:50]}-judged-{session.id[:6]}-{len(session.values)}"


def keep(workspace: Workspace, session: str, name: str = "") -> str:
    """Save a session as a data set, and return its name, which is also that of its task."""
    state = open_session(workspace, session)
    with TemporaryDirectory() as folder:
        write(files(state), place := Path(folder) / "judged")
        with data.bring([place]) as brought:
            file, title = brought.path, name.strip() or usual_name(state)
            mapping = data.mapping_of(file, None, None)
            row = data.keep(workspace, file, file.name, title, mapping)
    return f"upload:{row['name']}"
