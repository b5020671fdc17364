"""The text of the shipped decoders: training, held-out and unseen sentences."""

import gzip
import random
import sys
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path

from theodolite.engine.decoding.text import clauses, corpus, tidy

SOURCES = ("wiki_split", "movie_reviews", "speeches")
PHRASES = frozenset(
    "and but or nor that which who whom whose where when while because although as if than for "
    "with without in into to by from of on upon at after before about over under through".split()
)
"""Words before which a long clause is cut."""
UNSEEN = "abc"
"""The source that is never used for training."""
HELD_OUT = 1000


def lines(root: Path, source: str) -> list[str]:
    """Read the lines of an unlabelled file."""
    with gzip.open(root / "unlabelled" / f"{source}.txt.gz", "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def tatoeba(root: Path) -> list[str]:
    """Distinct English sentences of all language pairs."""
    found: dict[str, None] = {}
    for path in sorted((root / "mteb" / "bitext" / "tatoeba").glob("*.eng*")):
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            found.update(dict.fromkeys(file.read().splitlines()))
    return list(found)


def split(root: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Source -> its training lines, and its last lines, which are held out."""
    texts = {name: lines(root, name) for name in SOURCES} | {"tatoeba": tatoeba(root)}
    at = {name: len(text) - max(len(text) // 10, 4 * HELD_OUT) for name, text in texts.items()}
    return {name: (text[: at[name]], text[at[name] :]) for name, text in texts.items()}


def parts(clause: str, least: int = 4, most: int = 14) -> Iterator[str]:
    """Split a long clause into parts of `least` to `most` words, before words that begin a phrase.

    >>> list(parts("the old dog slept by the fire in the house of the king", 3, 6))
    ['the old dog slept', 'by the fire in the house', 'of the king']
    """
    left = clause.split()
    while len(left) > most:
        at = (i for i in range(most, least - 1, -1) if left[i].lower() in PHRASES)
        cut = next(at, most)
        yield " ".join(left[:cut])
        left = left[cut:]
    if len(left) >= least:
        yield " ".join(left)


def windows(sentence: str, draw: random.Random, least: int = 4, most: int = 14) -> Iterator[str]:
    """Consecutive words from anywhere in a sentence, once for every seven of its words.

    >>> list(windows("the old dog slept by the fire in the house", random.Random(1), 3, 5))
    ['old dog slept']
    """
    given = sentence.split()
    for _ in range(len(given) // 7 if len(given) > least else 0):
        length = draw.randint(least, min(most, len(given)))
        start = draw.randint(0, len(given) - length)
        yield " ".join(given[start : start + length])


def prepare_windows(root: Path, folder: Path) -> Path:
    """Write `windows.txt`, for continued training, unless it exists; return its path.

    A decoder learns what a vector says of its words from any text, but sees each sentence of
    `more.txt` many times: here are three times as many texts, of the same sources. The sentences of
    `more.txt` are included, so that it still learns where a sentence ends.
    """
    path = folder / "windows.txt"
    if path.exists():
        return path
    draw = random.Random(0)
    found = dict.fromkeys(prepare_more(root, folder).read_text("utf-8").splitlines())
    for source, _ in split(root).values():
        for line in source:
            found.update(dict.fromkeys(corpus(windows(tidy(line), draw), cut=False)))
    write(path, found, held_sentences(folder))
    return path


def prepare_whole(root: Path, folder: Path) -> Path:
    """Write `whole.txt`, for the end of a training, unless it exists; return its path.

    Whole sentences only: after `windows.txt` a decoder stops in the middle of one too often.
    """
    path = folder / "whole.txt"
    if not path.exists():
        texts = (corpus(source, cut=False) for source, _ in split(root).values())
        write(path, dict.fromkeys(chain.from_iterable(texts)), held_sentences(folder))
    return path


def write(path: Path, texts: Iterable[str], held: Collection[str]) -> None:
    """Write a training text, a line each, without what is held out."""
    path.write_text("\n".join(text for text in texts if text not in held) + "\n", "utf-8")


def held_sentences(folder: Path) -> set[str]:
    """All sentences that `prepare` held out."""
    files = (folder / "held-out").glob("*.txt")
    return {sentence for file in files for sentence in file.read_text("utf-8").splitlines()}


def prepare_more(root: Path, folder: Path) -> Path:
    """Write `more.txt`, for continued training, unless it exists; return its path.

    Half of the words are in clauses of more than 14 words, which `train.txt` leaves out: here they
    are split into parts. The sentences of `train.txt` are included, so that they are not forgotten.
    """
    more = folder / "more.txt"
    if more.exists():
        return more
    found: dict[str, None] = {}
    for source, _ in split(root).values():
        found.update(dict.fromkeys(corpus(source, cut=False)))
        for clause in (c for line in source for c in clauses(tidy(line), 15, sys.maxsize)):
            found.update(dict.fromkeys(corpus(parts(clause), cut=False)))
    write(more, found, held_sentences(folder))
    return more


def prepare(root: Path, folder: Path) -> Path:
    """Write `train.txt` and `held-out/SOURCE.txt` unless they exist; return the former's path."""
    train = folder / "train.txt"
    if train.exists():
        return train
    (folder / "held-out").mkdir(parents=True, exist_ok=True)
    learned: dict[str, None] = {}
    held: dict[str, list[str]] = {}
    for name, (source, last) in split(root).items():
        learned.update(dict.fromkeys(corpus(source)))
        held[name] = corpus(last, cut=False)
    held[UNSEEN] = corpus(lines(root, UNSEEN), cut=False)
    for name, sentences in held.items():
        apart = [s for s in sentences if s not in learned and len(s.split()) >= 3][:HELD_OUT]
        (folder / "held-out" / f"{name}.txt").write_text("\n".join(apart) + "\n", "utf-8")
    train.write_text("\n".join(learned) + "\n", "utf-8")
    return train
