"""What an answer consists of, as data: no HTML, no Gradio, no codes of a terminal.

`app.surfaces` has a renderer of every block for each place where answers are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from theodolite.engine.decoding.differing import Word
from theodolite.engine.errors import UserError
from theodolite.store.run_rows import RunRow

Spans = tuple[tuple[int, int], ...]
Folders = Mapping[str, Callable[[], Mapping[str, bytes]]]
"""Address of a folder, relative to the first page -> what makes its files, by name."""


@dataclass(frozen=True)
class Link:
    """A way to another question.

    Attributes:
        label: its words.
        page: address of the page that answers it.
        query: its values by their names in the address.
    """

    label: str
    page: str
    query: Mapping[str, str | Sequence[str] | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Finding:
    """The conclusion in a sentence, with what it is based on.

    Attributes:
        text, detail: plain text.
        shipped: whether what it is based on ships with Theodolite.
    """

    text: str
    detail: str = ""
    shipped: bool = False


@dataclass(frozen=True)
class Text:
    """A heading with a paragraph below it; either may be empty."""

    heading: str = ""
    paragraph: str = ""


@dataclass(frozen=True)
class Points:
    """Sentences in a list; nothing if there are none.

    Attributes:
        points: (tag, sentence), with an empty tag for none.
        heading: above them; may be empty.
    """

    points: Sequence[tuple[str, str]]
    heading: str = ""


@dataclass(frozen=True)
class Facts:
    """Names and what there is to say of each; what stands between backticks is code."""

    pairs: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Links:
    """Where to go from here."""

    links: Sequence[Link]


@dataclass(frozen=True)
class Download:
    """A text to save as a file.

    Attributes:
        label: of its button.
        name: of the file.
        text: what is in it.
    """

    label: str
    name: str
    text: str


@dataclass(frozen=True)
class Nothing:
    """Why there is nothing to see, and what to do about it."""

    title: str
    hint: str = ""
    link: Link | None = None


@dataclass(frozen=True)
class Filters:
    """What an answer is restricted to: each with the link to the answer without it."""

    links: Sequence[Link]


@dataclass(frozen=True)
class Caveat:
    """A reason to distrust an answer, and where it can be mended."""

    text: str
    link: Link | None = None


@dataclass(frozen=True)
class Caveats:
    """What to know before trusting an answer."""

    items: Sequence[Caveat]
    heading: str = ""


@dataclass(frozen=True)
class Cell:
    """A cell of a table that says more than its value.

    Attributes:
        value: text, number or None; what its file has of the cell.
        text: of the value.
        mark: a letter beside it.
        meaning: of the mark.
        beside: a second number, such as a difference.
        tag: a word on it.
        kind: of the tag and of the cell: `good`, `bad`, `muted`, or none.
        why: of the tag, for those who point at it.
        notes: small lines below.
        strong: whether it is emphasised.
    """

    value: Any
    text: str = ""
    mark: str = ""
    meaning: str = ""
    beside: str = ""
    tag: str = ""
    kind: str = ""
    why: str = ""
    notes: Sequence[str] = ()
    strong: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text, numbers, links, buttons, None, a `Cell`, or a tuple of several of these.

    Attributes:
        name: of its file. Plain text.
        columns: their names; of a `Cell`, its notes stand below.
        rows: a cell for each column. If the first is a `Cell`, it is the head of its row.
        shown: how many rows are shown; the file has all.
        note: what is to be known about it, in a sentence or a few.
        links: what can be done with its rows.
        decimals: column -> decimals of its numbers; other numbers have four digits.
        totals: how many of the last rows sum up the others.
    """

    name: str
    columns: Sequence[str | Cell]
    rows: Sequence[Sequence[Any]]
    shown: int | None = None
    note: str = ""
    links: Sequence[Link] = ()
    decimals: Mapping[str, int] = field(default_factory=dict)
    totals: int = 0


class GridCell(NamedTuple):
    """A cell of a grid: a number, or a few words.

    Attributes:
        text: its number is what the cell is sorted by.
        tone: `muted` where there is nothing, `bad`, `up` or `down` for what is better or worse than
            another, `printed` for what others published, or none.
        detail: for those who point at it.
        is_best: whether it is set in bold.
        note: something small beside it, such as over how many tasks a mean is.
    """

    text: str
    tone: str = ""
    detail: str = ""
    is_best: bool = False
    note: str = ""


class GridHead(NamedTuple):
    """The head of a column of a grid.

    Attributes:
        title: its words.
        note: something small below it.
        ascending: whether the lowest come first when it is sorted.
        opens: name of the column in the event of a pressed cell; empty where cells open nothing.
        unit: whether the note is the unit of its numbers: a file's head has it too.
        beside: what a file calls that which is small beside its numbers.
    """

    title: str
    note: str = ""
    ascending: bool = False
    opens: str = ""
    unit: bool = False
    beside: str = "over"


@dataclass(frozen=True)
class Grid:
    """A wide table of short texts, of which only what is in view is drawn.

    Attributes:
        label: what it is, for screen readers.
        name: of its file. Plain text.
        heads: that of the names of the rows first.
        rows: name, something small beside it, and a cell for each further head.
        reading: how to read it.
        pressing: what happens when a cell is pressed.
        best_first: index of the head by which the rows are sorted, the best first.
    """

    label: str
    name: str
    heads: Sequence[GridHead]
    rows: Sequence[tuple[str, str, Sequence[GridCell]]]
    reading: str = ""
    pressing: str = ""
    best_first: int | None = None


@dataclass(frozen=True)
class Chart:
    """A figure of Plotly, with its numbers.

    Attributes:
        figure: `data` and `layout`, as plotly.js reads them. User text inside it must go through
            `app.web.figures.plain`.
        label: a sentence that describes it, for screen readers. Plain text.
        name: of its CSV and its image, without ending.
        columns: heads of the table beside it.
        rows: of the table; without them it is derived from the traces.
    """

    figure: Mapping[str, Any]
    label: str
    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Readings:
    """What a picture or a table says of each encoder, in a sentence or two."""

    texts: Mapping[str, str]


@dataclass(frozen=True)
class Component:
    """A part that a script of the page's own draws.

    Attributes:
        name: of its module below `app/components/js`, without an ending: `map/map`.
        value: what it shows, as JSON has it.
        props: what else the script is given.
        folders: address of a folder that the script reads -> what makes its files, for where
            nobody serves them.
    """

    name: str
    value: Any
    props: Mapping[str, Any] = field(default_factory=dict)
    folders: Folders = field(default_factory=dict)


@dataclass(frozen=True)
class Progress:
    """What the answer waits for.

    Attributes:
        text: what it is. Plain text.
        run: in the store, if it is a run.
        done: share of it that is done, if that is known.
    """

    text: str
    run: RunRow | None = None
    done: float | None = None


@dataclass(frozen=True)
class Problem:
    """The error for which a part of the answer is missing."""

    error: UserError


@dataclass(frozen=True)
class Action:
    """What a page can do about its answer, as a button.

    Attributes:
        label: its words.
        act: name of the action.
        id: what it is applied to.
        about: its name for those who do not see what is around it.
        keys: that press it, as `KeyboardEvent.key` names them, with spaces between.
        opens: name in the address of what it opens, the `id`; Back leads to what was seen before.
    """

    label: str
    act: str
    id: str
    about: str = ""
    keys: str = ""
    opens: str = ""


@dataclass(frozen=True)
class Actions:
    """Buttons, and a note beside them. Only a page has them."""

    actions: Sequence[Action]
    note: str = ""


@dataclass(frozen=True)
class Code:
    """Lines to copy, each by itself; `shell`: for a terminal."""

    lines: Sequence[str]
    shell: bool = True


@dataclass(frozen=True)
class Fold:
    """Blocks that are closed at first."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Card:
    """Blocks that belong together.

    Attributes:
        title: above them.
        blocks: from top to bottom.
        name: of the card, by which a link reaches it.
        tag: a word beside the title.
        kind: of the tag: `good`, `bad`, `warn`, or none.
    """

    title: str
    blocks: Sequence[Block]
    name: str = ""
    tag: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Hit:
    """One sentence of a search.

    Attributes:
        index: its index among the collection's distinct sentences.
        sentence: its text.
        cosine: cosine to the query; None in a search by words.
        spans: (start, end) of each match in it, in order.
        label: of the sentence in its data set; empty for none.
    """

    index: int
    sentence: str
    cosine: float | None
    spans: Spans = ()
    label: str = ""


@dataclass(frozen=True)
class HitsColumn:
    """The hits of one encoder, or of one search by words.

    Attributes:
        name: the encoder, or what the sentences have in common.
        hits: one list for each query, nearest first.
        status: what is to be known before them, or in their place.
        seconds: time of the search; None where it was not measured.
        note: how they were found, in a sentence.
        is_encoder: whether `name` is an encoder.
        shipped: whether the hits ship with Theodolite.
        chunks: how the documents that it searches are cut; empty where nobody asked.
    """

    name: str
    hits: Sequence[Sequence[Hit]] = ()
    status: Nothing | Progress | Problem | None = None
    seconds: float | None = None
    note: str = ""
    is_encoder: bool = True
    shipped: bool = False
    chunks: str = ""


@dataclass(frozen=True)
class Hits:
    """Sentences that were found for queries, in a column for each encoder.

    Attributes:
        queries: as titles.
        columns: with a list of hits for each query, or none.
        links: what to search for next, for the text of a hit.
    """

    queries: Sequence[str]
    columns: Sequence[HitsColumn]
    links: Callable[[str], Sequence[Link]] = lambda sentence: ()


@dataclass(frozen=True)
class WordDiff:
    """A sentence that an encoder's decoder wrote, by what it kept of the one given.

    Attributes:
        name: the encoder.
        sentence: what was written.
        words: its words and those that are lost, in order; empty if there was no sentence before.
        cosine: of what was written to the point that was decoded.
        status: what is there in place of a sentence.
        summary: how many words were kept.
        notes: what limits it: in a word, and in a sentence.
        others: other sentences, with their cosines.
        seconds: time of the decoding; None for one that ships.
        link: what there is beside it.
    """

    name: str
    sentence: str = ""
    words: Sequence[Word] = ()
    cosine: float | None = None
    status: Nothing | Progress | Problem | None = None
    summary: str = ""
    notes: Sequence[tuple[str, str]] = ()
    others: Sequence[tuple[str, float]] = ()
    seconds: float | None = None
    link: Link | None = None


@dataclass(frozen=True)
class WordDiffs:
    """What several decoders wrote for one sentence, side by side."""

    given: str
    columns: Sequence[WordDiff]


@dataclass(frozen=True)
class Samples:
    """Sentences, and what came back of each.

    Attributes:
        heading, paragraph: plain text.
        pairs: (the sentence, what came back).
        about: of each pair, a cosine and a small line below it; empty for neither.
    """

    heading: str
    paragraph: str
    pairs: Sequence[tuple[str, str]]
    about: Sequence[tuple[float | None, str]] = ()


Block = (
    Finding
    | Text
    | Points
    | Facts
    | Links
    | Download
    | Filters
    | Nothing
    | Table
    | Grid
    | Caveats
    | Chart
    | Readings
    | Component
    | Progress
    | Problem
    | Actions
    | Code
    | Fold
    | Card
    | Hits
    | WordDiffs
    | Samples
)
