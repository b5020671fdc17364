"""Questions that decode points of a space: of sentences, between two, and of an expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from theodolite.app.blocks import (
    Block,
    Chart,
    Finding,
    Link,
    Nothing,
    Problem,
    Table,
    WordDiff,
    WordDiffs,
)
from theodolite.app.components import word_diff
from theodolite.app.pages.decode import figures, service
from theodolite.app.pages.decode.service import (
    MAX_STEPS,
    NEAR,
    STEPS,
    DecodeOptions,
    DecodeResult,
    NoDecoder,
    Step,
)
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Encoders, Field
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace


@dataclass(frozen=True)
class DecodeSpec(DecodeOptions):
    """Encode a sentence and decode its vector: what comes back is what the vector kept.

    The encoder needs a decoder; `theodolite train-decoder` makes one.
    """

    sentences: Annotated[Sequence[str], Field("Sentence", "What to encode and decode.", key="q")]
    encoders: Encoders = ("minilm",)


@dataclass(frozen=True, eq=False, repr=False)
class DecodeAnswer(Answer):
    """Sentences decoded from the vectors of sentences.

    Attributes:
        results: (sentence, the result of each encoder's decoder).
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "given": str,
        "encoder": str,
        "cosine": float | None,
        "sentence": str | None,
        "decoder": str | None,
        "error": str | None,
    }
    decimals: ClassVar[int] = 3
    partial: ClassVar[bool] = True

    results: Sequence[tuple[str, Sequence[DecodeResult]]]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each sentence and encoder."""
        return [{"given": given} | row(one) for given, every in self.results for one in every]

    def table_columns(self) -> list[str]:
        """Without the sentence if there is only one."""
        left = {"decoder", *(["given"] if len(self.results) == 1 else [])}
        return [name for name in super().table_columns() if name not in left]

    def blocks(self) -> list[Block]:
        """Cards, side by side for each sentence."""
        return [
            WordDiffs(given, [word_diff_of(one) for one in every]) for given, every in self.results
        ]

    def problems(self) -> list[Problem]:
        """Encoders that could not decode."""
        every = [one for _, results in self.results for one in results]
        return [Problem(one.problem) for one in every if one.problem is not None]

    def notes(self) -> list[str]:
        """What was cut."""
        every = [one for _, results in self.results for one in results]
        return [f"{one.encoder}: {text}" for one in every if (text := limits(one))]


def answer(workspace: Workspace, spec: DecodeSpec, do: Do) -> Iterator[DecodeAnswer]:
    """Decode one sentence after the other; a decoder is not trained for that."""
    results: list[tuple[str, list[DecodeResult]]] = []
    for sentence in spec.sentences:
        every = service.decode(workspace, spec.encoders, sentence, options_of(spec))
        results.append((sentence, [offering(workspace, one) for one in every]))
        yield DecodeAnswer(tuple(results))


def offering(workspace: Workspace, result: DecodeResult) -> DecodeResult:
    """The result; of a missing decoder, with the way to train one."""
    if result.problem is None:
        return result
    return replace(result, problem=service.with_offer(workspace, result.encoder, result.problem))


def row(result: DecodeResult) -> dict[str, Any]:
    """The result of an encoder as JSON has it."""
    if result.problem is not None:
        error = result.problem
        return {"encoder": result.encoder, "error": error.message, "hint": error.hint}
    return {
        "encoder": result.encoder,
        "decoder": result.decoder,
        "sentence": result.sentence,
        "cosine": result.cosine,
        "cut": result.cut or result.longer,
        "words": [{"text": word.text, "fate": word.fate} for word in result.words],
        "others": [{"sentence": text, "cosine": cosine} for text, cosine in result.others],
        "seconds": result.seconds,
        "error": None,
    }


def word_diff_of(result: DecodeResult) -> WordDiff:
    """The card of an encoder's result."""
    if isinstance(result.problem, NoDecoder):
        link = Link("Train a decoder", "train-decoder", {"encoder": result.encoder})
        hint = "A decoder is trained once, in the background."
        status = Nothing(f"No decoder for {result.encoder} yet.", hint, link)
        return WordDiff(result.encoder, status=status)
    if result.problem is not None:
        return WordDiff(result.encoder, status=Problem(result.problem))
    return WordDiff(
        result.encoder,
        result.sentence,
        result.words,
        result.cosine,
        None,
        word_diff.tallied(result.words) if result.words else "",
        limits(result),
        result.others,
        result.seconds,
    )


def limits(result: DecodeResult) -> str:
    """What is said of a sentence that is too long for a decoder, or of one that was cut."""
    if result.longer:
        return (
            f"The sentence has {result.given} words, but this decoder was trained on at most "
            f"{result.known}: its output is cut short."
        )
    return "It was cut at this decoder's maximum length." if result.cut else ""


@dataclass(frozen=True)
class InterpolateSpec(DecodeOptions):
    """Decode the points between two sentences.

    Each step has the cosine of what was decoded to both ends.
    """

    first: Annotated[str, Field("From", "The first sentence.", key="a")]
    second: Annotated[str, Field("To", "The last sentence.", key="b")]
    encoder: Annotated[
        str,
        Field("Encoder", "A spec string.", names="encoder", flags=("--encoder", "-e")),
    ] = "minilm"
    steps: Annotated[
        int, Field("Steps", "Number of points, including both ends.", ge=2, le=MAX_STEPS)
    ] = STEPS
    spherical: Annotated[
        bool, Field("Great circle", "Follow the great circle instead of the line.")
    ] = False
    data: Annotated[
        str | None,
        Field(
            "Nearest real sentences of",
            "Also show the nearest sentences of this data set.",
            names="dataset",
            key="in",
            flags=("--in",),
        ),
    ] = None
    near: Annotated[int, Field("Nearest", "How many of them.", ge=0, le=100)] = NEAR


@dataclass(frozen=True, eq=False, repr=False)
class Interpolation(Answer):
    """The sentences from one to another.

    Attributes:
        steps: from the first sentence to the second.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "share": float,
        "to_first": float,
        "to_second": float,
        "sentence": str,
        "cosine": float | None,
    }
    decimals: ClassVar[int] = 3

    steps: Sequence[Step]

    def rows(self) -> list[dict[str, Any]]:
        """A row per step, with the nearest real sentences."""
        return [
            {
                "share": step.share,
                "sentence": step.result.sentence,
                "to_first": step.to_first,
                "to_second": step.to_second,
                "cosine": step.result.cosine,
                "point_first": step.point_first,
                "point_second": step.point_second,
                "cut": step.result.cut,
                "near": [{"sentence": hit.sentence, "cosine": hit.cosine} for hit in step.near],
            }
            for step in self.steps
        ]

    def table_columns(self) -> list[str]:
        """Without the cosine to the point."""
        return [name for name in self.columns if name != "cosine"]

    def blocks(self) -> list[Block]:
        """What the steps have in common, their chart and their table."""
        rows = [[row[name] for name in self.columns] for row in self.rows()]
        return [
            Finding(figures.headline(self.steps)),
            Chart(figures.cosines(self.steps)),
            Table("interpolation", list(self.columns), rows),
        ]

    def notes(self) -> list[str]:
        """The real sentences near each step."""
        return [
            f"Near {step.share:.2f}: " + " | ".join(hit.sentence for hit in step.near)
            for step in self.steps
            if step.near
        ]


def interpolate(workspace: Workspace, spec: InterpolateSpec, do: Do) -> Iterator[Interpolation]:
    """Decode all steps."""
    try:
        steps = service.interpolate(
            workspace,
            spec.encoder,
            spec.first,
            spec.second,
            spec.steps,
            options_of(spec),
            spherical=spec.spherical,
            collection=spec.data,
            near=spec.near,
        )
    except NoDecoder as error:
        raise service.with_offer(workspace, spec.encoder, error) from error
    yield Interpolation(tuple(steps))


@dataclass(frozen=True)
class AnalogySpec(DecodeOptions):
    """Calculate with sentences and decode where that leads; a : b :: z : c is z = a - b + c."""

    expression: Annotated[
        str, Field("Expression", '+ - * / ( ), numbers and names: "a - b + c".', key="x")
    ]
    named: Annotated[
        Sequence[str], Field("Names", "A name and its sentence, NAME=SENTENCE.", flags=("--let",))
    ] = ()
    encoders: Encoders = ("minilm",)

    def sentences(self) -> dict[str, str]:
        """Name -> its sentence."""
        found: dict[str, str] = {}
        for text in self.named:
            name, equals, sentence = text.partition("=")
            name = name.strip()
            if not equals or not name.isidentifier():
                raise UserError(
                    f"{text[:60]!r} does not name a sentence.",
                    "Give each as a=a sentence.",
                    code="damaged",
                )
            if name in found:
                raise UserError(
                    f"{name} is given twice.", "Use another name for one of them.", code="conflict"
                )
            found[name] = sentence
        return found


def analogy(workspace: Workspace, spec: AnalogySpec, do: Do) -> Iterator[DecodeAnswer]:
    """Decode the value of the expression with each encoder's decoder."""
    results = service.calculate(
        workspace, spec.encoders, spec.expression, spec.sentences(), options_of(spec)
    )
    yield DecodeAnswer([(spec.expression, [offering(workspace, one) for one in results])])


def options_of(spec: DecodeOptions) -> DecodeOptions:
    """How a question's points are decoded."""
    names = [field.name for field in fields(DecodeOptions)]
    return DecodeOptions(**{name: getattr(spec, name) for name in names})


DECODE = Question(
    "decode",
    DecodeSpec,
    answer,
    DecodeAnswer,
    (
        'decode "The old dog slept by the fire." --encoder minilm',
        'decode "He visits Italy." -e minilm -e wordllama --beams 5 --json',
    ),
)
INTERPOLATE = Question(
    "interpolate",
    InterpolateSpec,
    interpolate,
    Interpolation,
    (
        'interpolate "The cat sleeps." "The train is late." --encoder minilm --steps 7',
        'interpolate "A dog runs." "A dog sleeps." --spherical --in starter-topics --json',
    ),
)
ANALOGY = Question(
    "analogy",
    AnalogySpec,
    analogy,
    DecodeAnswer,
    (
        'analogy "a - b + c" --let a="he visits italy" --let b="he eats pizza" --let '
        'c="she drinks wine"',
        'analogy "(a + b) / 2" --let a="A cat sleeps." --let b="A dog runs." -e wordllama',
    ),
)
