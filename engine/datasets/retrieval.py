"""Combines and validates queries, documents and judgements.

As in MTEB, queries without judgements are left out. As in trec_eval, a judged document that is not
in the corpus counts as not found.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from theodolite.engine.datasets.files import listed, shorten
from theodolite.engine.datasets.types import Place, Retrieval
from theodolite.engine.errors import UserError

Text = tuple[str, str, str]
"""Place in the file, id, text."""


class Judged(NamedTuple):
    """A judgement: place in the file, query and document (ids or texts), the grade as written.

    `span` is where the passage that answers starts and ends, as written; empty if unknown.
    """

    place: str
    query: str
    document: str
    grade: str
    span: tuple[str, ...] = ()


def assemble(
    name: str,
    title: str,
    queries: Iterable[Text],
    documents: Iterable[Text],
    judged: Mapping[str, Iterable[Judged]],
    candidates: Mapping[str, Sequence[str]] | None = None,
) -> Retrieval:
    """Build a data set; `judged` is by split, `candidates` query id -> documents to rerank."""
    notes: dict[str, list[str]] = {}
    texts, corpus = _by_id(queries, notes), _by_id(documents, notes)
    answers: dict[str, tuple[Place, ...]] = {}
    judgements = {
        split: _grades(rows, texts, corpus, notes, answers) for split, rows in judged.items()
    }
    judgements = {split: grades for split, grades in judgements.items() if grades}
    known = {query for grades in judgements.values() for query in grades}
    answered = (corpus.keys() & keys for of in judgements.values() for keys in of.values())
    if judged and not any(answered):
        raise UserError(
            f"No query of {title} has a judged document. {' '.join(_with_counts(notes))}".rstrip(),
            "Judgements name queries and documents by the ids that the other two files give them, "
            f"such as {' and '.join(shorten(next(iter(of), '')) for of in (texts, corpus))}.",
            code="mismatch",
        )
    notes[_UNJUDGED] = [key for key in texts if key not in known]
    notes[_EMPTY] = [key for key, text in corpus.items() if not text.strip()]
    with_judgements = {query: text for query, text in texts.items() if query in known}
    rankings = (
        None if candidates is None else _candidates(with_judgements, candidates, corpus, title)
    )
    return Retrieval(
        name, with_judgements, corpus, judgements, rankings, _with_counts(notes), answers
    )


def of_texts(name: str, title: str, judged: Mapping[str, Sequence[Judged]]) -> Retrieval:
    """Build a data set from rows with texts instead of ids; each distinct text gets an id."""
    rows = [row for part in judged.values() for row in part]
    queries = {text: f"q{i}" for i, text in enumerate(dict.fromkeys(r.query for r in rows), 1)}
    documents = {text: f"d{i}" for i, text in enumerate(dict.fromkeys(r.document for r in rows), 1)}
    return assemble(
        name,
        title,
        (("", key, text) for text, key in queries.items()),
        (("", key, text) for text, key in documents.items()),
        {
            split: (
                row._replace(query=queries[row.query], document=documents[row.document])
                for row in part
            )
            for split, part in judged.items()
        },
    )


def reranking(name: str, title: str, judged: Mapping[str, Sequence[Judged]]) -> Retrieval:
    """Build a reranking set from rows with texts instead of ids.

    Queries and documents get MTEB's ids, by which it breaks ties; as in MTEB, queries without a
    positive or without a negative document are left out.
    """
    queries: dict[str, str] = {}
    documents: dict[str, str] = {}
    judgements: dict[str, dict[str, dict[str, int]]] = {}
    notes: dict[str, list[str]] = {_ONE_SIDED: []}
    for split, rows in judged.items():
        candidates: dict[str, list[tuple[str, int]]] = {}
        for row in rows:
            candidates.setdefault(row.query, []).append((row.document, grade_of(row)))
        for query, graded in candidates.items():
            if len({grade > 0 for _, grade in graded}) == 1:
                notes[_ONE_SIDED].append(shorten(query))
                continue
            of_split = judgements.setdefault(split, {})
            key = f"{split}_query{len(of_split)}"
            queries[key], of_split[key] = query, {}
            for sign, prefix in ((True, "apositive"), (False, "negative")):
                side = [(text, grade) for text, grade in graded if (grade > 0) is sign]
                for i, (text, grade) in enumerate(side):
                    document = f"{prefix}_{key}_{i:05d}"
                    documents[document], of_split[key][document] = text, grade
    if not queries:
        raise UserError(
            f"No query of {title} has documents that answer it and documents that do not.",
            "A reranking needs both for a query: rows with grades above 0 and rows with grade 0.",
            code="too-few",
        )
    notes[_EMPTY] = [key for key, text in documents.items() if not text.strip()]
    chosen = {query: tuple(of) for part in judgements.values() for query, of in part.items()}
    return Retrieval(name, queries, documents, judgements, chosen, _with_counts(notes))


_ONE_SIDED = "Queries without a positive or without a negative document, left out as MTEB does"
_TWICE = "Rows with the id and text of an earlier one, left out"
_UNKNOWN_QUERY = "Judgements of queries that are not there, left out"
_UNKNOWN_DOCUMENT = "Judged documents that are not there, which count as not found, as in trec_eval"
_UNJUDGED = "Queries without judgements, left out as MTEB does"
_EMPTY = "Empty documents, kept"


def _by_id(rows: Iterable[Text], notes: dict[str, list[str]]) -> dict[str, str]:
    texts: dict[str, str] = {}
    count = 0
    for place, key, text in rows:
        if texts.setdefault(key, text) != text:
            raise UserError(
                f"{place} gives the id {shorten(key)} a second time, to another text.",
                "Every query and every document needs an id of its own.",
                code="conflict",
            )
        if len(texts) == count:
            notes.setdefault(_TWICE, []).append(place)
        count = len(texts)
    return texts


def _grades(
    rows: Iterable[Judged],
    queries: Mapping[str, str],
    documents: Mapping[str, str],
    notes: dict[str, list[str]],
    answers: dict[str, tuple[Place, ...]],
) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for row in rows:
        grade = grade_of(row)
        if row.query not in queries:
            notes.setdefault(_UNKNOWN_QUERY, []).append(f"{shorten(row.query)} of {row.place}")
            continue
        if row.document not in documents:
            notes.setdefault(_UNKNOWN_DOCUMENT, []).append(
                f"{shorten(row.document)} of {row.place}"
            )
        if grades.setdefault(row.query, {}).setdefault(row.document, grade) != grade:
            raise UserError(
                f"{row.place} judges the document "
                f"{shorten(documents.get(row.document, row.document))} for the query "
                f"{shorten(queries[row.query])} a second time, with another grade.",
                "Keep one grade for each query and document.",
                code="conflict",
            )
        if row.span and grade > 0 and row.document in documents:
            at = _place(row, documents[row.document])
            answers[row.query] = (*answers.get(row.query, ()), at)
    return grades


def _place(row: Judged, text: str) -> Place:
    """Parse the passage that answers."""
    start, stop = row.span if len(row.span) == 2 else ("", "")
    if start.isdecimal() and stop.isdecimal() and int(start) < int(stop) <= len(text):
        return Place(row.document, int(start), int(stop))
    raise UserError(
        f"{row.place}: {' to '.join(row.span)} is not a passage of {shorten(row.document)}, which "
        f"has {len(text):,} characters.",
        "Start and end count characters from 0; the end is the one after the last.",
        code="damaged",
    )


def grade_of(row: Judged) -> int:
    """Parse a grade."""
    try:
        value = float(row.grade)
    except ValueError:
        value = math.nan
    if not value.is_integer():
        raise UserError(
            f"{row.place}: the grade {shorten(row.grade)} is not a whole number.",
            "Grades are 0 for a document that does not answer, 1 for one that does, or more.",
            code="damaged",
        )
    return int(value)


def _candidates(
    queries: Mapping[str, str],
    candidates: Mapping[str, Sequence[str]],
    documents: Mapping[str, str],
    title: str,
) -> dict[str, tuple[str, ...]]:
    for query in queries:
        missing = [key for key in candidates.get(query, ()) if key not in documents]
        if missing or query not in candidates:
            fault = f"the document {shorten(missing[0])}, which is not there" if missing else "none"
            raise UserError(
                f"The candidates of the query {shorten(query)} of {title} are {fault}.",
                "A reranking needs, for every judged query, the ids of the documents to order.",
                code="unknown" if missing else "missing",
            )
    return {query: tuple(candidates[query]) for query in queries}


def _with_counts(notes: Mapping[str, list[str]]) -> tuple[str, ...]:
    return tuple(
        f"{what}: {len(places):,} ({listed(places, 3)})."
        for what, places in notes.items()
        if places
    )
