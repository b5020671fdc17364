"""A question: its spec, and the function that answers it. Every surface is derived from it.

    SEARCH = Question("search", SearchSpec, answer)

A page's module that has a `QUESTION` is a command, a function of `import theodolite` and a tool of
agents without a further line. An answer is a typed result with `rows()` and `blocks()`, from which
the surfaces draw it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Caveats, Finding, Problem, Progress
from theodolite.app.jobs.job import Job
from theodolite.app.spec import Spec, function_name, words
from theodolite.app.surfaces import document
from theodolite.app.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

S = TypeVar("S", bound=Spec)
A = TypeVar("A", bound="Answer")
Do = Callable[[Job], bool]
"""Does a job that an answer needs, or has it done later; returns whether it is done."""
_PRINTED = 20
"""Rows of a table printed in a terminal."""
_IN_NOTEBOOK = 20_000
"""Rows, or points of a map, in a notebook."""


class Answer:
    """An immutable result with a table and blocks; a notebook shows the blocks.

    Attributes:
        columns: name of a column of `rows` -> type of its values.
        in_terminal: the columns that a terminal shows; empty for those that are not empty.
        about: what its report is about, in a line; empty for what the question says.
        decimals: of the numbers in a table.
        formats: ending of a file -> how it is written, where an answer has formats of its own.
        partial: whether it is an answer although some of it is missing.
    """

    columns: ClassVar[Mapping[str, Any]] = {}
    in_terminal: ClassVar[Sequence[str]] = ()
    about: ClassVar[Any] = ""
    decimals: ClassVar[int] = 2
    formats: ClassVar[Mapping[str, Callable[[Any, Path], None]]] = {}
    partial: ClassVar[bool] = False

    if TYPE_CHECKING:  # some subclasses inherit it from a service's class

        def rows(self) -> list[dict[str, Any]]:
            """One flat dictionary per row."""

    @property
    def title(self) -> str:
        """Title of a report; empty for the question's name."""
        return ""

    def facts(self) -> Mapping[str, Any]:
        """What a program reads after the rows; empty for nothing."""
        return {}

    def column_names(self) -> list[str]:
        """Names of the columns of a file of its rows."""
        return list(self.columns)

    def within(self: A, rows: int) -> A:
        """The answer with at most so many of what it has too many of for a document."""
        return self

    def table_columns(self) -> list[str]:
        """The columns that a terminal shows."""
        if self.in_terminal:
            return list(self.in_terminal)
        rows = self.rows()
        return [name for name in self.columns if any(row.get(name) is not None for row in rows)]

    def lines(self) -> list[dict[str, Any]]:
        """What is printed as JSON, one object a line."""
        return self.rows()

    def table_rows(self) -> list[dict[str, Any]]:
        """The rows as a terminal shows them."""
        return self.rows()

    def blocks(self) -> Sequence[Block]:
        """What it consists of, from top to bottom."""
        raise NotImplementedError

    def notes(self) -> list[str]:
        """What a terminal says below the table."""
        return [block.text for block in self.blocks() if isinstance(block, Finding)]

    def warnings(self) -> list[str]:
        """Reasons to distrust it."""
        every = [block for block in self.blocks() if isinstance(block, Caveats)]
        return [caveat.text for block in every for caveat in block.items]

    def problems(self) -> list[Problem]:
        """Why parts of it are missing."""
        return [block for block in self.blocks() if isinstance(block, Problem)]

    @property
    def exit_code(self) -> int:
        """With which its command ends."""
        return int(bool(self.problems()))

    @property
    def lack(self) -> str | None:
        """The button that has the rest computed; empty where nothing is lacking, None for any."""
        return None

    @property
    def waits(self) -> bool:
        """Whether a run is under way for some of it."""
        return any(isinstance(block, Progress) for block in self.blocks())

    def complete(self: A) -> A:
        """The answer itself; raises the first of its problems unless it may be partial, and is."""
        problems = self.problems()
        answered = any(row.get("error") is None for row in self.rows())
        if problems and not (self.partial and answered):
            raise problems[0].error
        return self

    def _pieces(self) -> document.Pieces:
        """Its blocks as HTML and components."""
        return document.pieces(self.blocks())

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def to_csv(self, *, spreadsheet: bool = False) -> bytes:
        """The rows as CSV in UTF-8.

        Args:
            spreadsheet: put an apostrophe before text that a spreadsheet would take for a formula.
        """
        table = self.to_pandas()
        # Of whole numbers, some of them missing, pandas has made floats. Of a map rows are costly.
        floats = table.select_dtypes("float")
        whole = [name for name in floats if floats[name].hasnans and not (floats[name] % 1).any()]
        rows = self.rows() if whole else []
        for name in whole:
            if {type(row.get(name)) for row in rows} == {int, type(None)}:
                table[name] = table[name].astype("Int64")
        if spreadsheet:
            table = table.map(
                lambda cell: formats.spreadsheet_text(cell) if isinstance(cell, str) else cell
            )
        return table.to_csv(index=False, lineterminator="\r\n").encode("utf-8", "replace")

    def _repr_html_(self) -> str:
        return document.frame(self.within(_IN_NOTEBOOK)._pieces())

    def __repr__(self) -> str:
        table = self.to_pandas()
        text = table.to_string(max_rows=_PRINTED, max_cols=9, max_colwidth=60)
        return f"{type(self).__name__}\n{text}"


@dataclass(frozen=True, repr=False)
class Working(Answer):
    """What there is while an answer is computed.

    Attributes:
        text: what is being done.
        done: share of it that is done; None if unknown.
        left: seconds that the rest takes; None if unknown.
    """

    text: str
    done: float | None = None
    left: float | None = None

    def rows(self) -> list[dict[str, Any]]:
        """None yet."""
        return []

    def blocks(self) -> Sequence[Block]:
        """The progress."""
        return [Progress(self.text, None, self.done)]


@dataclass(frozen=True)
class Question(Generic[S, A]):
    """What can be asked.

    Attributes:
        name: of the command.
        spec: its values; the docstring is the help of all of them.
        answer: yields the answer as it grows; the last one is all there is.
        answer_type: class of the answers.
        examples: command lines without `theodolite`.
        group: of its command, if it is one of a group's.
        queues: whether what it needs can be computed in the background.
        report_name: of its report; empty for its own.
        prepare: done first where people ask on their own machine, in a terminal or from Python, and
            never for a request, such as adding a file to the data sets.
    """

    name: str
    spec: type[S]
    answer: Callable[[Workspace, S, Do], Iterator[A | Working]]
    answer_type: type[A]
    examples: Sequence[str] = ()
    group: str = ""
    queues: bool = False
    report_name: str = ""
    prepare: Callable[[Workspace, S], S] = lambda workspace, spec: spec

    @property
    def about(self) -> str:
        """What it does, in paragraphs of a line each; the first is its summary."""
        paragraphs = cleandoc(self.spec.__doc__ or "").split("\n\n")
        return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)

    @property
    def verb(self) -> str:
        """Its command, with its group."""
        return f"{self.group} {self.name}".strip()

    @property
    def function(self) -> str:
        """Its function of `import theodolite`, and its tool."""
        return function_name(self.verb)

    def command(self, spec: S) -> list[str]:
        """The words of the command that asks it, without `theodolite`."""
        return [*self.verb.split(), *words(spec)]

    def last(self, workspace: Workspace, spec: S, do: Do) -> A:
        """The whole answer; raises the first problem of it."""
        answer: Any
        *_, answer = self.answer(workspace, spec, do)
        whole: A = answer.complete()
        return whole
