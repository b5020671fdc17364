"""Retrieval sets in one JSON file: questions on paragraphs, as SQuAD has them, or texts by id.

Sources: Rajpurkar et al. 2016 (SQuAD); LlamaIndex's `EmbeddingQAFinetuneDataset`, which holds what
sentence-transformers' `InformationRetrievalEvaluator` takes: queries, corpus, relevant documents.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from theodolite.engine.datasets import archives
from theodolite.engine.datasets.formats import json_value
from theodolite.engine.errors import UserError

_Texts = Mapping[str, Any]
_Parts = tuple[_Texts, _Texts, Mapping[str, Iterable[str]]]
"""Queries and documents by id, and the documents that answer each query."""


def convert(file: Path, target: Path) -> str:
    """Pack the set in BEIR's layout.

    Returns:
        What it holds, in a sentence; empty where the file is no such set.
    """
    try:
        value = json_value(file, file.name, having=(b'"relevant_docs"', b'"paragraphs"'))
        read = _by_id if "relevant_docs" in value else _of_paragraphs
        queries, documents, answers = read(value)
    except (LookupError, TypeError, AttributeError, UserError):  # a table, or what its reader says
        return ""
    archives.pack_retrieval(queries, documents, answers, target)
    return f"{file.name} holds {len(queries):,} queries on {len(documents):,} documents."


def _by_id(value: Any) -> _Parts:
    answers = {
        query: [keys] if isinstance(keys, str) else list(keys)
        for query, keys in value["relevant_docs"].items()
    }
    return dict(value["queries"]), dict(value["corpus"]), answers


def _of_paragraphs(value: Any) -> _Parts:
    """A question that its paragraph does not answer, as SQuAD 2 has them, is left out."""
    queries, documents, answers = dict[str, Any](), dict[str, Any](), dict[str, list[str]]()
    for article, one in enumerate(value["data"], 1):
        for number, paragraph in enumerate(one["paragraphs"], 1):
            key = f"{article}-{number}"
            documents[key] = paragraph["context"]
            for question in paragraph["qas"]:
                if not question.get("is_impossible"):
                    queries[str(question["id"])] = question["question"]
                    answers.setdefault(str(question["id"]), []).append(key)
    return queries, documents, answers
