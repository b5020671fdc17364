"""Queries made from bare documents by rule: `upload:handbook|queries:rule`.

    known:DOCUMENT    words drawn from a document, which is the one to find: by how often it has
                      them and how few others do, with some words from anywhere (Azzopardi, de Rijke
                      and Balog 2007, Building simulated queries for known-item topics)
    cloze:DOCUMENT    a sentence taken out of its document, which is the one to find without it
                      (Lee, Chang and Toutanova 2019, inverse cloze task)

No model writes them, and nobody asked them: scores on them say 'by rule'. Queries that a language
model wrote before (`written`) stand beside them. One sentence at most is
taken out of a document, so that all queries search the same documents.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from theodolite.engine.datasets.chunks import sentences_of
from theodolite.engine.datasets.languages import is_unspaced
from theodolite.engine.datasets.types import HOLDS, Dataset, Retrieval
from theodolite.engine.errors import UserError

STEP = "queries:rule"
WRITTEN = "written:"
"""Start of the id of a query that a language model wrote; its document's id follows."""
MAX_OF_A_KIND = 200
"""Most queries of each kind; from so many documents, drawn at random."""
NOISE = 0.2
"""Share of a known-item query's words that are drawn from the whole collection."""
LENGTHS = (3, 7)
"""Fewest and most words of a known-item query."""
MIN_WORDS, MAX_WORDS = 5, 40
"""Of a sentence that becomes a query."""
MAX_COLLIDING = 0.2
"""Share of the known-item queries whose words other documents have too, that needs no sentence."""
_SEED = 20071
_WORD = re.compile(r"\b[^\W\d_]\w+\b")


def split_name(name: str) -> tuple[str, bool]:
    """Return the name of the data set, and whether its queries are made by rule."""
    whole, bar, step = name.rpartition("|")
    return (whole.strip(), True) if bar and step.strip() == STEP else (name, False)


def join(name: str) -> str:
    """Return the name of documents with queries by rule."""
    return f"{name}|{STEP}"


def are_written(queries: Collection[str]) -> bool:
    """Whether a language model wrote all queries, by their ids."""
    return bool(queries) and all(key.startswith(WRITTEN) for key in queries)


def make(data: Dataset, name: str) -> Retrieval:
    """Make queries of documents; any that people asked are left aside."""
    if not isinstance(data, Retrieval):
        raise UserError(
            f"{data.name} holds {HOLDS[data.kind]}: queries are made from documents.",
            f"Name it without {STEP}, or bring the documents as a folder.",
            code="wrong-kind",
        )
    if data.whole:
        raise UserError(
            f"{data.name} is cut into chunks already.",
            f"Write {STEP} before the step that cuts.",
            code="conflict",
        )
    alike = _alike(data.documents)
    if len(set(map(tuple, alike.values()))) < 2:
        raise UserError(
            f"{data.name} has one document, or the same one several times: there is nothing to "
            "rank.",
            "Bring several documents, such as one a section.",
            code="too-few",
        )
    rng = np.random.default_rng(_SEED)
    keys = [[*data.documents][i] for i in rng.permutation(len(data.documents))]
    documents, queries = dict(data.documents), dict[str, str]()
    for key in keys:
        if len(queries) < MAX_OF_A_KIND and (cut := _sentence(documents[key], rng)):
            sentence, documents[key] = cut
            queries[f"cloze:{key}"] = sentence
    clozes = len(queries)
    known, colliding = _known_items(documents, keys, rng)
    written = {
        key: query
        for key, query in data.queries.items()
        if key.startswith(WRITTEN) and key.removeprefix(WRITTEN) in documents
    }
    queries |= known | written
    if not queries:
        raise UserError(
            f"No query can be made of the {len(documents):,} documents of {data.name}.",
            "They have too few words; put 20 queries or more and their judgements beside them, in "
            "queries.jsonl and qrels.tsv.",
            code="too-few",
        )
    judged = {key: dict.fromkeys(alike[key.partition(":")[2]], 1) for key in queries}
    notes = [
        f"Queries by rule: {len(known):,} of words of a document, {clozes:,} of a sentence that "
        f"was taken out of it{f', {len(written):,} by a language model' if written else ''}.",
        *_notes(data, documents, alike, colliding, len(known)),
    ]
    return replace(
        data,
        name=name,
        documents=documents,
        queries=queries,
        judgements={"test": judged},
        candidates=None,
        answers={},
        notes=(*data.notes, *notes),
    )


def _sentence(text: str, rng: np.random.Generator) -> tuple[str, str] | None:
    """Return a sentence of a text, and the text without it; None if there is none to take."""
    fit = [
        (start, stop)
        for start, stop in sentences_of(text)
        if MIN_WORDS <= _length(text[start:stop]) <= MAX_WORDS
        and not text[start:stop].lstrip().startswith(("#", "|", "```"))
    ]
    if not fit:
        return None
    start, stop = fit[int(rng.integers(len(fit)))]
    if _length(text[:start]) + _length(text[stop:]) < MIN_WORDS:  # then no other sentence fits
        return None
    return " ".join(text[start:stop].split()), f"{text[:start].rstrip()} {text[stop:].lstrip()}"


def _length(text: str) -> int:
    """Words of a text; two letters of a script without spaces count as one."""
    return len(text) // 2 if is_unspaced(text) else len(_WORD.findall(text))


def _known_items(
    documents: dict[str, str], keys: Sequence[str], rng: np.random.Generator
) -> tuple[dict[str, str], int]:
    """Return queries of words of a document, and how many have all words in another one too."""
    words = {
        key: Counter(_WORD.findall(text.casefold()))
        for key, text in documents.items()
        if not is_unspaced(text)
    }
    within = Counter(word for counts in words.values() for word in counts)
    every = Counter[str]()
    for counts in words.values():
        every.update(counts)
    vocabulary = np.array([*every], object)
    anywhere = np.array([*every.values()], float) / max(every.total(), 1)
    queries, colliding = dict[str, str](), 0
    for key in keys:
        own = words.get(key, Counter())
        weights = np.array([n * np.log(len(words) / within[word]) for word, n in own.items()])
        if np.count_nonzero(weights) < LENGTHS[0] or len(queries) == MAX_OF_A_KIND:
            continue
        many = min(int(rng.integers(LENGTHS[0], LENGTHS[1] + 1)), int(np.count_nonzero(weights)))
        picked = np.array([*own], object)[
            rng.choice(len(own), many, replace=False, p=weights / weights.sum())
        ]
        noisy = rng.random(many) < NOISE
        noisy[0] = False
        others = vocabulary[rng.choice(len(vocabulary), many, p=anywhere)]
        queries[f"known:{key}"] = " ".join(np.where(noisy, others, picked))
        picks = {*picked[~noisy]}
        colliding += any(picks <= of.keys() for other, of in words.items() if other != key)
    return queries, colliding


def _alike(documents: dict[str, str]) -> dict[str, list[str]]:
    """Return for each document those of the same text, up to case and white space."""
    same = dict[str, list[str]]()
    for key, text in documents.items():
        same.setdefault(" ".join(text.casefold().split()), []).append(key)
    return {key: keys for keys in same.values() for key in keys}


def _notes(
    data: Retrieval,
    documents: dict[str, str],
    alike: dict[str, list[str]],
    colliding: int,
    known: int,
) -> list[str]:
    """What is to be known of the documents that queries were made of."""
    notes = []
    if not known and any(map(is_unspaced, documents.values())):
        notes.append(
            "The documents are in a script without spaces between words, so no queries of words "
            "are made."
        )
    if repeated := sum(len(keys) > 1 for keys in alike.values()):
        notes.append(
            f"{repeated:,} of {len(documents):,} documents repeat another: each copy counts as "
            "right."
        )
    if colliding > MAX_COLLIDING * known:
        notes.append(
            f"For {colliding:,} of {known:,} queries of words, another document has all of them "
            "too: the documents are much alike, and no score can reach 100."
        )
    if written := sum(not key.startswith(WRITTEN) for key in data.queries):
        notes.append(f"The {written:,} queries of {data.name} are ignored.")
    return notes
