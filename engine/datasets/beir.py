"""Retrieval in BEIR's layout: `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv`.

MS MARCO and LoTTE call them `collection.tsv`, `queries.dev.tsv` and `qrels.dev.tsv`, and
`questions.search.tsv` and `qas.search.jsonl`. Each file may also be a table or Parquet, packed as
`.gz`, or come in numbered parts, as on the hub (`corpus-00000-of-00002.parquet`, `corpus_0.jsonl`),
which are read in order; judgements may have TREC's four columns, and columns `start` and `end` of
the passage that answers, in characters of its document.
`top_ranked/SPLIT.jsonl` (query-id, corpus-ids), as on the hub, makes it a reranking set.

Source: beir-cellar/beir, the data loader; embeddings-benchmark/mteb, `abstasks/retrieval.py`.
"""

import filecmp
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from theodolite.engine.datasets.dialect import ENDINGS, TREC, encoding_note
from theodolite.engine.datasets.files import DatasetSource, shorten
from theodolite.engine.datasets.formats import records
from theodolite.engine.datasets.languages import codes, is_language
from theodolite.engine.datasets.retrieval import Judged, assemble
from theodolite.engine.datasets.types import DatasetInfo, Retrieval
from theodolite.engine.errors import UserError

EXPECTED = "corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv, as BEIR has them"
_KNOWN = {
    "cranfield": ("Cranfield: questions and abstracts on aerodynamics, graded 1 to 4", ""),
    "npl": ("NPL (Vaswani): requests and abstracts on electronics", ""),
    "xquad": ("XQuAD: questions and the paragraph that answers each", "CC BY-SA 4.0"),
}
"""Name -> description and licence."""

_ID = ("_id", "id", "query-id", "query_id", "qid", "corpus-id", "doc_id", "docid", "docno", "pid")
_TEXT = ("text", "contents", "query", "document", "passage", "body")
_QUERY = ("query-id", "query_id", "qid", "query")
_DOCUMENT = ("corpus-id", "corpus_id", "doc-id", "doc_id", "docid", "docno", "pid", "document")
_GRADE = ("score", "grade", "relevance", "rel", "label")
_SPAN = ("start", "end")
_SPLITS = ("train", "dev", "val", "validation", "test")
_WHOLE = {
    **dict.fromkeys(("corpus", "documents", "collection"), "corpus"),
    **dict.fromkeys(("queries", "questions"), "queries"),
}
_OF_SPLIT = re.compile(r"(?:queries|questions)\.(.+)")
"""Queries as MS MARCO and LoTTE name them: queries.dev.tsv."""
PART = re.compile(r"[-_.]?\d+-of-\d+")
"""The number of a part, as in train-00000-of-00002.parquet."""
_NUMBER = re.compile(r"[-_.](\d+)(?:-of-(\d+))?(?=\.|$)")
"""The same, or without how many there are, as in corpus_0.jsonl."""
Files = tuple[str, ...]
"""The names of the parts of what is one file elsewhere."""
_QRELS = re.compile(r"^qrels?[._-]?|^qas\.|[._-]?qrels?$")


@dataclass(frozen=True)
class Layout:
    """The files of a retrieval set by their roles, in order; documents alone have no queries.

    Attributes:
        judgements, candidates: split -> files.
    """

    corpus: Files
    queries: Files
    judgements: dict[str, Files]
    candidates: dict[str, Files] = field(default_factory=dict)


def sources(root: Path) -> list[DatasetSource]:
    """List every folder below `mteb/retrieval/` that has a corpus.

    `xquad_de` becomes `xquad/de` if there is a sister folder in another language. If their
    judgements are identical too, they share ids: `xquad/de-en` has German queries on the English
    documents.
    """
    base = root / "mteb" / "retrieval"
    places = {path.parent for path in base.rglob("corpus*.*") if role_of(path.name) == "corpus"}
    folders = sorted({place.parent if place.name in _WHOLE else place for place in places})
    names = [folder.relative_to(base).as_posix() for folder in folders]
    stems = [name.rpartition("_")[0] for name in names if is_language(name.rpartition("_")[2])]
    sets, spoken = [], dict[str, dict[str, Path]]()
    for folder, place in zip(folders, names, strict=True):
        stem, _, language = place.rpartition("_")
        if is_language(language) and stems.count(stem) > 1:
            sets.append(_source(stem, folder, language))
            spoken.setdefault(stem, {})[language] = folder
        else:
            sets.append(_source(place, folder))
    for stem, sisters in spoken.items():
        english = sisters.pop("en", None)
        for language, folder in sisters.items():
            if english and _judged_alike(folder, english):
                sets.append(_source(stem, english, "en", (language, folder)))
    return sets


def _source(
    stem: str, folder: Path, language: str = "", request: tuple[str, Path] | None = None
) -> DatasetSource:
    """Build a folder's data set; `request`: language and folder of queries from elsewhere."""
    what, licence = _KNOWN.get(stem, ("Queries, documents and judgements", ""))
    name, spoken = stem, [language or ("en" if stem in _KNOWN else "")]
    if request:
        name, spoken = f"{stem}/{request[0]}-{language}", [request[0], language]
        what = f"{what}, queries in {request[0]} and documents in {language}"
    elif language:
        name, what = f"{stem}/{language}", f"{what}, in {language}"
    splits: tuple[str, ...] = ()
    problem, candidates = None, False
    try:
        files = layout(_inside(folder))
        splits, candidates = tuple(files.judgements), bool(files.candidates)
    except UserError as error:
        problem = str(error)
    info = DatasetInfo(
        name,
        "retrieval",
        "folder",
        f"{what}.",
        licence,
        task=name,
        type="Reranking" if candidates else None,
        problem=problem,
        splits=splits,
        languages=codes(*spoken),
        no_task=not (splits or problem),
    )
    if request:
        return DatasetSource(info, partial(_read_across, name, folder, request[1]))
    return DatasetSource(info, partial(read_folder, name, folder))


def _judged_alike(one: Path, other: Path) -> bool:
    """Whether two folders have byte-identical judgements."""
    try:
        left, right = (layout(_inside(folder)).judgements for folder in (one, other))
    except UserError:
        return False
    files = {name for parts in left.values() for name in parts}
    return left == right and all(
        filecmp.cmp(one / name, other / name, shallow=False) for name in files
    )


def _read_across(name: str, folder: Path, query_folder: Path) -> Retrieval:
    """Read a folder with the queries of another folder."""
    own, others = _inside(folder), _inside(query_folder)
    asked = layout(own).queries
    files = {name: path for name, path in own.items() if name not in asked}
    files |= {name: others[name] for name in layout(others).queries}
    return read(name, files, f"{query_folder.name} and {folder.name}")


def _inside(folder: Path) -> dict[str, Path]:
    """Return the files of a folder and its direct subfolders, by relative path."""
    files = sorted([*folder.glob("*.*"), *folder.glob("*/*.*")])
    return {path.relative_to(folder).as_posix(): path for path in files if path.is_file()}


def read_folder(name: str, folder: Path) -> Retrieval:
    """Read a folder; see `read`."""
    return read(name, _inside(folder), folder.name)


def layout(names: Iterable[str]) -> Layout:
    """Identify the files by their names, wherever they are in an archive."""
    every: dict[tuple[str, str], list[str]] = {}
    for name in names:
        what, split = _part(PurePosixPath(name))
        if what is not None:
            every.setdefault((what, split), []).append(name)
    roles: dict[str, dict[str, Files]] = {}
    for (what, split), several in every.items():
        roles.setdefault(what, {})[split] = _in_order(several)
    others = roles.get("", {})
    if "qrels" not in roles and len(others) == 1:  # the only other file has the judgements
        roles["qrels"] = {"test": next(iter(others.values()))}
    elif "qrels" not in roles and others and others.keys() <= set(_SPLITS):
        roles["qrels"] = others
    missing = [what for what in ("corpus", "queries", "qrels") if what not in roles]
    if missing == ["queries", "qrels"] and not roles.keys() - {"corpus"}:
        return Layout(roles["corpus"][""], (), {})
    if missing:
        name = "judgements (qrels)" if missing[0] == "qrels" else missing[0]
        raise UserError(f"There is no file of {name}.", f"Expected: {EXPECTED}.", code="no-file")
    corpus, queries = roles["corpus"][""], tuple(chain(*roles["queries"].values()))
    return Layout(corpus, queries, roles["qrels"], roles.get("top_ranked", {}))


def _in_order(names: list[str]) -> Files:
    """Return the file of a role, or the numbered parts of one if all are there."""
    found = {name: _NUMBER.search(PurePosixPath(name).name) for name in names}
    number = {name: int(match[1]) for name, match in found.items() if match}
    first, *others = sorted(names, key=lambda name: (number.get(name, -1), name))
    kinds = {_NUMBER.sub("", name) for name in names}
    if others and (len(kinds) > 1 or len({*number.values()}) < len(names)):
        raise UserError(
            f"{first} and {others[0]} both have the same role in the data set.",
            "Keep one of them. Parts of one file have numbers: corpus_0.jsonl, corpus_1.jsonl.",
            code="conflict",
        )
    match, numbers = found[first], number.values() or [0]
    count = int(match[2]) if match and match[2] else max(numbers) - min(numbers) + 1
    if count != len(names):
        raise UserError(
            f"{first} is one of {count} parts by its name, and {len(names)} of them "
            f"{'is' if len(names) == 1 else 'are'} here.",
            "Give all parts: documents that are missing count as not found.",
            code="no-file",
        )
    return (first, *others)


def role_of(name: str) -> str:
    """Return what a file of a retrieval set has: `corpus`, `queries`, `qrels`; empty if unknown."""
    return _part(PurePosixPath(name))[0] or ""


def _part(path: PurePosixPath) -> tuple[str | None, str]:
    """Return a file's role (empty: unknown; None: not data) and split."""
    stem, parent = _stem(path.name), path.parent.name
    if not stem:
        return None, ""  # a README, a licence
    if path.name.removesuffix(".gz").endswith(TREC):
        return "qrels", _QRELS.sub("", stem) or "test"
    plain = _NUMBER.sub("", stem)
    if plain in _WHOLE:
        return _WHOLE[plain], ""
    if of_split := _OF_SPLIT.fullmatch(plain):
        return "queries", of_split[1]
    if parent in _WHOLE and stem in _SPLITS and not path.name.endswith(".txt"):
        return _WHOLE[parent], ""  # corpus/test-00000-of-00001.parquet, on the hub
    if parent in ("qrels", "top_ranked"):
        return parent, stem
    if _QRELS.search(stem):
        return "qrels", _QRELS.sub("", stem) or "test"
    if stem == "top_ranked":
        return stem, "test"
    # Other JSON describes the data, such as dataset_infos.json.
    return (None, "") if path.suffix == ".json" else ("", stem)


def _stem(filename: str) -> str:
    """Return the name without its endings; empty if they are of no readable format."""
    plain = filename.removesuffix(".gz")
    ending = PurePosixPath(plain).suffix
    return PART.sub("", plain.removesuffix(ending)) if ending in (*ENDINGS, *TREC) else ""


def read(name: str, files: Mapping[str, Path | bytes], title: str) -> Retrieval:
    """Read the files of a retrieval set."""
    parts = layout(files)

    def rows(names: Files) -> Iterator[tuple[str, dict[str, Any]]]:
        return chain.from_iterable(records(files[name], name) for name in names)

    judged = {split: _judgements(rows(of)) for split, of in parts.judgements.items()}
    candidates: dict[str, tuple[str, ...]] = {}
    for listed in parts.candidates.values():
        for place, row in rows(listed):
            ids = row.get("corpus-ids")
            if not isinstance(ids, list):
                raise UserError(
                    f"{place} lists no documents.",
                    "Expected: `corpus-ids`, a list.",
                    code="missing",
                )
            candidates[_value(place, row, _QUERY, 0)] = tuple(str(key) for key in ids)
    data = assemble(
        name,
        title,
        _texts(rows(parts.queries)),
        _texts(rows(parts.corpus), documents=True),
        judged,
        candidates or None,
    )
    texts = (*parts.corpus, *parts.queries)
    notes = filter(None, (encoding_note(files[file], file) for file in texts))
    return replace(data, notes=(*notes, *data.notes))


def _texts(
    rows: Iterator[tuple[str, dict[str, Any]]], documents: bool = False
) -> Iterator[tuple[str, str, str]]:
    """Yield place, id and text of each row; titles precede the text, as in MTEB."""
    for place, row in rows:
        key, text = _value(place, row, _ID, 0), _value(place, row, _TEXT, -1, empty=True)
        if documents:
            text = f"{row.get('title') or ''} {text}".strip()
        yield place, key, text


def _judgements(rows: Iterator[tuple[str, dict[str, Any]]]) -> Iterator[Judged]:
    for place, row in rows:
        if len(row) == 1:  # TREC's columns are separated by spaces
            cells = str(*row.values()).split()
            if cells and cells[-1].casefold() in _GRADE:  # the columns' names
                continue
            row = {f"column {i}": cell for i, cell in enumerate(cells)}
        if len(row) == 6 and all(name.startswith("column ") for name in row):
            raise UserError(
                f"{place} belongs to a run: it has a rank, a score and the name of a system.",
                "Give the judgements (qrels): query, 0, document and grade.",
                code="wrong-kind",
            )
        if isinstance(answers := row.get("answer_pids"), list):  # LoTTE lists them
            query = _value(place, row, _QUERY, 0)
            yield from (Judged(place, query, str(answer), "1") for answer in answers)
            continue
        if len(row) == 2 and not all(name.startswith("column ") for name in row):
            row = row | {_GRADE[0]: 1}  # NanoBEIR names the relevant ones alone
        if not 3 <= len(row):
            raise UserError(
                f"{place} is not a judgement.",
                "Expected: query-id, corpus-id and score.",
                code="damaged",
            )
        document = 2 if len(row) == 4 else 1  # TREC's second column is unused
        yield Judged(
            place,
            _value(place, row, _QUERY, 0),
            _value(place, row, _DOCUMENT, document),
            _value(place, row, _GRADE, -1),
            tuple(str(row[name]) for name in _SPAN if row.get(name) not in (None, "")),
        )


def _value(
    place: str, row: dict[str, Any], names: tuple[str, ...], position: int, empty: bool = False
) -> str:
    """Return the cell under the first of these names, or at a position if columns are unnamed."""
    name = next((name for name in names if name in row), None)
    if name is None:
        written = {column.casefold(): column for column in row}
        name = next((written[name] for name in names if name in written), None)
    # Go by position only in files without column names: other names rule it out.
    by_place = name is None and all(column.startswith("column ") for column in row)
    cell = row[name] if name else [*row.values()][position] if by_place else None
    if name and empty and cell is None:
        return ""
    if cell is None or isinstance(cell, list | dict) or not (empty or str(cell).strip()):
        raise UserError(
            f"{place} has no {names[0]!r}: {shorten(str(row), 80)}.",
            f"Expected: {EXPECTED}.",
            code="missing",
        )
    return str(cell)
