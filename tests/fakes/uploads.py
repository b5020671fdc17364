"""Files that a person brings."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.fakes.folder import files
from theodolite.app.pages.data.service import keep
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import starter
from theodolite.engine.datasets.tables import preview

FILES = ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")
"""Of BEIR."""


def collection(workspace: Workspace, tmp_path: Path, name: str, lines: list[str]) -> str:
    """Upload sentences, one a line; return the name of the data set."""
    file = tmp_path / f"{name}.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    mapping = preview(file, file.name).mapping
    return "upload:" + keep(workspace, file, file.name, name, mapping)["name"]


def beir(folder: Path) -> tuple[Path, Path, Path]:
    """Write corpus, queries and judgements as BEIR has them, of the starter pairs.

    A query is the left sentence of a pair that is graded 4 or more, its document the right one,
    among the right sentences of all pairs.
    """
    (pairs,) = starter.read_pairs().parts.values()
    documents = {text: f"d{i}" for i, text in enumerate(dict.fromkeys(pairs.right))}
    alike = [
        (a, b) for a, b, gold in zip(pairs.left, pairs.right, pairs.gold, strict=True) if gold >= 4
    ][:40]
    corpus = ({"_id": key, "title": "", "text": line} for line, key in documents.items())
    queries = ({"_id": f"q{i}", "text": a} for i, (a, _) in enumerate(alike))
    rows = [f"q{i}\t{documents[b]}\t1\n" for i, (_, b) in enumerate(alike)]
    judged = "query-id\tcorpus-id\tscore\n" + "".join(rows)
    files(folder, dict(zip(FILES, (json_lines(corpus), json_lines(queries), judged), strict=True)))
    return folder / FILES[0], folder / FILES[1], folder / FILES[2]


def json_lines(rows: Iterable[Mapping[str, object]]) -> str:
    """One object a line."""
    return "".join(json.dumps(row) + "\n" for row in rows)
