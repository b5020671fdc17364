"""BM25 by the library bm25s: Lucene's variant with k1 = 1.5 and b = 0.75.

A word is a run of at least two letters, digits and underscores, in lower case. In a script without
spaces between words a whole phrase is one: only equal phrases are found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from theodolite.engine.datasets.languages import is_unspaced
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.source import clean
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress
from theodolite.engine.rankers.base import Ranker, ScoredIndex

_WORD = r"(?u)\b\w\w+\b"
_SAMPLE = 1000
"""Documents that tell which script all are in, at most."""


class Bm25(Ranker):
    """BM25 (Robertson and Zaragoza 2009; Lù 2024, arXiv:2407.03618).

    Args:
        name: canonical spec.
        stemmer: a language of PyStemmer; None for words as they are.
        stopwords: a language of bm25s, or `none`.
    """

    def __init__(self, name: str, stemmer: str | None = None, stopwords: str = "english") -> None:
        self.name = name
        self._stemmer = None if stemmer is None else _stemmer(stemmer)
        self._stopwords = None if stopwords == "none" else stopwords
        self.fingerprint = fingerprint("bm25", "lucene", 1.5, 0.75, stemmer, stopwords)

    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of each text that count, stemmed."""
        return list(self._tokenize(texts, return_ids=False))

    def spans(self, query: str, text: str) -> tuple[tuple[int, int], ...]:
        """See `Ranker.spans`."""
        matches = list(re.finditer(_WORD, text))
        (query_words, *words) = self.words([query, *(match.group() for match in matches)])
        pairs = zip(matches, words, strict=True)
        return tuple(match.span() for match, word in pairs if {*word} & {*query_words})

    def index(self, documents: Sequence[str], progress: Progress | None = None) -> Bm25Index:
        """See `Ranker.index`."""
        tokens = self._tokenize(documents)
        if documents and not any(tokens.ids):
            raise UserError(
                f"{self.name} finds no word in any of {len(documents):,} documents.",
                "A word has at least two letters or digits, and is not a stop word.",
                code="failed",
            )
        index = Bm25Index(self, tokens, _notes(documents, tokens.ids))
        if progress:
            progress(len(documents), len(documents))
        return index

    def _tokenize(self, texts: Sequence[str], *, return_ids: bool = True) -> Any:
        import bm25s

        return bm25s.tokenize(
            [clean(text) for text in texts],
            stopwords=self._stopwords,
            stemmer=self._stemmer,
            token_pattern=_WORD,
            return_ids=return_ids,
            show_progress=False,
        )


class Bm25Index(ScoredIndex):
    """The scores of all words in all documents, a sparse matrix."""

    by_words = True

    def __init__(self, ranker: Bm25, tokens: Any, notes: tuple[str, ...]) -> None:
        import bm25s

        self.name, self.size, self.notes = ranker.name, len(tokens.ids), notes
        self._ranker, self._scores = ranker, bm25s.BM25()
        self.bytes = 0
        if tokens.ids:
            self._scores.index(tokens, show_progress=False)
            arrays = (self._scores.scores[name] for name in ("data", "indices", "indptr"))
            self.bytes = sum(array.nbytes for array in arrays)

    def read(self, queries: Sequence[str]) -> list[list[str]]:
        """See `ScoredIndex.read`."""
        return self._ranker.words(queries)

    def score(self, query: list[str], at: np.ndarray | None) -> np.ndarray:
        """See `ScoredIndex.score`."""
        known = self._scores.get_tokens_ids(query)
        scores = self._scores.get_scores_from_ids(known) if known else np.zeros(self.size)
        return np.asarray(scores if at is None else scores[at])


def _stemmer(language: str) -> Any:
    try:
        import Stemmer
    except ImportError as error:
        raise UserError(
            "Stemming needs the package PyStemmer.",
            "Install theodolite[stemmer], or leave out stemmer.",
            code="missing",
        ) from error
    if language not in Stemmer.algorithms():
        raise UserError(
            f"There is no stemmer for {language}.",
            f"Available: {', '.join(sorted(Stemmer.algorithms()))}.",
            code="unknown",
        )
    return Stemmer.Stemmer(language)


def _notes(documents: Sequence[str], ids: Sequence[Sequence[int]]) -> tuple[str, ...]:
    notes = []
    if wordless := sum(not words for words in ids):
        notes.append(
            f"{wordless:,} of {len(documents):,} documents have no word that BM25 could find."
        )
    some = "".join(documents[:: -(-len(documents) // _SAMPLE)] if documents else ())
    if is_unspaced(some):
        notes.append(
            "The documents are in a script without spaces between words: BM25 takes a whole "
            "phrase for a word, and finds only equal ones."
        )
    return tuple(notes)
