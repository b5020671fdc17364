"""Documents cut into chunks: `upload:handbook|chunk:recursive,400,50`.

    recursive,SIZE[,OVERLAP]    at blank lines, else line ends, else spaces, else anywhere
    sentences,SIZE[,OVERLAP]    as many whole sentences as fit
    headings,SIZE[,OVERLAP]     a section of Markdown each; a longer one as by `recursive`
    tokens,SIZE[,OVERLAP]       so many tokens each

With `,late` at the end, such as `recursive,400,50,late`, a chunk gets its vector from the tokens of
its whole document: see `engine.rankers.late`.

SIZE and OVERLAP count characters, those of `tokens` the tokens of MiniLM. A chunk knows its place
in its document. `recursive` gives the chunks of LangChain's RecursiveCharacterTextSplitter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from theodolite.engine.datasets.types import HOLDS, Dataset, Place, Retrieval
from theodolite.engine.errors import UserError

MIN_SIZES = {"recursive": 20, "sentences": 20, "headings": 20, "tokens": 4}
"""Method -> least size: what is smaller may not hold a word."""
PREFIX = "chunk:"
WHOLE = "whole"
"""In a list of ways to cut documents: not at all."""
LATE = "late"
_SEPARATORS = ("\n\n", "\n", " ", "")
_SENTENCE = re.compile(
    r"""(?<=[.!?…])["'”’)\]]*+\s+|(?<=[。！？])[”」』]*+\s*|\n\s*\n|\n(?=[ \t]*[-*#|>])"""
)
_HEADING = re.compile(r"#{1,6}\s")
Span = tuple[int, int]


@dataclass(frozen=True)
class Splitter:
    """A way to cut documents.

    Attributes:
        method: `recursive`, `sentences`, `headings` or `tokens`.
        size: most characters or tokens of a chunk.
        overlap: most of them that a chunk shares with the one before.
        late: whether vectors of chunks come from the tokens of whole documents.
    """

    method: str
    size: int
    overlap: int = 0
    late: bool = field(default=False, kw_only=True)

    @classmethod
    def parse(cls, text: str) -> Splitter:
        """Read `recursive,400,50`; `chunk:` may stand before it."""
        method, *numbers = (part.strip() for part in text.strip().removeprefix(PREFIX).split(","))
        if late := numbers[-1:] == [LATE]:
            numbers.pop()
        written = len(numbers) in (1, 2) and all(number.isdecimal() for number in numbers)
        if method not in MIN_SIZES or not written:
            raise UserError(
                f"{text!r} does not say how to cut documents.",
                f"Write METHOD,SIZE,OVERLAP, such as recursive,400,50; methods are "
                f"{', '.join(MIN_SIZES)}.",
                code="unknown",
            )
        splitter = cls(method, *map(int, numbers), late=late)
        unit, least = "tokens" if method == "tokens" else "characters", MIN_SIZES[method]
        if splitter.size < least:
            raise UserError(
                f"Chunks of {splitter.size} {unit} may be shorter than a word.",
                f"Take at least {least} {unit}; 400 characters or 100 tokens are usual.",
                code="too-few",
            )
        if splitter.overlap >= splitter.size:
            raise UserError(
                f"Chunks of {splitter.size} {unit} cannot overlap by {splitter.overlap}.",
                "Choose an overlap below the size.",
                code="conflict",
            )
        return splitter

    def __str__(self) -> str:
        end = f",{self.overlap}" if self.overlap else ""
        return f"{self.method},{self.size}{end}{f',{LATE}' if self.late else ''}"

    def spans(self, text: str) -> list[Span]:
        """Return where each chunk starts and stops, in characters, without white space around."""
        if self.method == "tokens":
            return list(self._of_tokens(text))
        if self.method == "headings":
            sections = _sections(text)
            return [
                span for section in sections for span in self._pack(text, [section], _SEPARATORS)
            ]
        if self.method == "sentences":
            return list(self._pack(text, sentences_of(text), _SEPARATORS))
        return list(self._recursive(text, (0, len(text)), _SEPARATORS))

    def _recursive(self, text: str, part: Span, separators: Sequence[str]) -> Iterator[Span]:
        """Cut before the first separator that occurs, and what is still too long at the others."""
        start, stop = part
        at = next(i for i, separator in enumerate(separators) if separator in text[start:stop])
        separator, places = separators[at], list[int]()
        if not separator:
            places = list(range(start + 1, stop))
        else:
            matches = re.finditer(re.escape(separator), text[start:stop])
            places = [start + match.start() for match in matches]
        yield from self._pack(text, _spans_between(start, places, stop), separators[at + 1 :])

    def _pack(self, text: str, pieces: Iterable[Span], separators: Sequence[str]) -> Iterator[Span]:
        """Join consecutive pieces to chunks; those that are too long are cut at the separators."""
        short = list[Span]()
        for piece in pieces:
            if piece[1] - piece[0] < self.size or not separators:
                short.append(piece)
                continue
            yield from self._join(text, short)
            short = []
            yield from self._recursive(text, piece, separators)
        yield from self._join(text, short)

    def _join(self, text: str, pieces: Sequence[Span]) -> Iterator[Span]:
        """Join as many consecutive pieces as fit; the last ones again where chunks overlap."""
        first, total = 0, 0
        for at, (start, stop) in enumerate(pieces):
            length = stop - start
            if total + length > self.size and at > first:
                yield from _trim(text, pieces[first][0], start)
                while total > self.overlap or (total + length > self.size and total > 0):
                    total -= pieces[first][1] - pieces[first][0]
                    first += 1
            total += length
        if pieces:
            yield from _trim(text, pieces[first][0], pieces[-1][1])

    def _of_tokens(self, text: str) -> Iterator[Span]:
        from theodolite.engine.encoders.packaged import wordpiece

        ends = wordpiece().encode(text, add_special_tokens=False).offsets
        step = self.size - self.overlap
        for start in range(0, max(len(ends) - self.overlap, 1) if ends else 0, step):
            yield ends[start][0], ends[start : start + self.size][-1][1]


def sentences_of(text: str) -> list[Span]:
    """Return where the sentences of a text start and stop, which together are all of it."""
    return _spans_between(0, (match.end() for match in _SENTENCE.finditer(text)), len(text))


def _spans_between(start: int, places: Iterable[int], stop: int) -> list[Span]:
    return [(a, b) for a, b in pairwise([start, *places, stop]) if a < b]


def _trim(text: str, start: int, stop: int) -> Iterator[Span]:
    """The span without white space around it; none if it has nothing else."""
    chunk = text[start:stop]
    if words := chunk.strip():
        start += len(chunk) - len(chunk.lstrip())
        yield start, start + len(words)


def _sections(text: str) -> list[Span]:
    """Return the sections of a Markdown text, each from its heading; code has no headings."""
    starts, at, code = list[int](), 0, False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith(("```", "~~~")):
            code = not code
        elif not code and _HEADING.match(line):
            starts.append(at)
        at += len(line)
    return _spans_between(0, starts, len(text))


def split_name(name: str) -> tuple[str, Splitter | None]:
    """Return the name of the data set, and how it is cut, if at all."""
    whole, bar, step = name.rpartition("|")
    if not bar or not step.strip().startswith(PREFIX):
        return name, None
    return whole.strip(), Splitter.parse(step)


def cuts(text: str) -> list[Splitter | None]:
    """Read `whole, recursive,800,100`: each way to cut documents once; None for not at all."""
    ways = (way.strip() for way in re.split(rf",(?!\s*(?:\d|{LATE}\b))", text))
    each = (None if way == WHOLE else Splitter.parse(way) for way in ways if way)
    return list(dict.fromkeys(each))


def written(ways: Iterable[Splitter | None]) -> str:
    """Write ways to cut documents as `cuts` reads them."""
    return ", ".join(str(way or WHOLE) for way in ways)


def base(name: str) -> str:
    """Return the name of a data set without what is made of it; refuses nothing."""
    return re.sub(r"\s*\|\s*(chunk|split|queries):.*", "", name)


def join(name: str, splitter: Splitter | None) -> str:
    """Return the name of a data set that is cut."""
    return name if splitter is None else f"{name}|{PREFIX}{splitter}"


def cut(data: Dataset, splitter: Splitter, name: str) -> Retrieval:
    """Cut the documents of a retrieval set; its judgements stay those of whole documents."""
    if not isinstance(data, Retrieval):
        raise UserError(
            f"{data.name} holds {HOLDS[data.kind]}: only documents can be cut into chunks.",
            f"Name it without {PREFIX}…, or bring the documents as a folder.",
            code="wrong-kind",
        )
    if data.whole:
        raise UserError(
            f"{data.name} is cut into chunks already.", "Name one way to cut it.", code="conflict"
        )
    places, of = dict[str, Place](), dict[str, list[str]]()
    for key, text in data.documents.items():
        for start, stop in splitter.spans(text):
            chunk = f"{key}#{start}-{stop}"
            places[chunk] = Place(key, start, stop)
            of.setdefault(key, []).append(chunk)
    texts = {chunk: data.documents[at.document][at.start : at.stop] for chunk, at in places.items()}
    ids = data.candidates and {
        query: tuple(chunk for key in keys for chunk in of.get(key, ()))
        for query, keys in data.candidates.items()
    }
    note = f"{len(data.documents):,} documents were cut into {len(places):,} chunks ({splitter})."
    return replace(
        data,
        name=name,
        documents=texts,
        places=places,
        whole=data,
        candidates=ids,
        late=splitter.late,
        notes=(*data.notes, note),
    )
