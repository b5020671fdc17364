"""Questions that decode points of a space: of sentences, between two, and of an expression."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from theodolite.app import decoders, formats
from theodolite.app.blocks import (
    Block,
    Chart,
    Component,
    Finding,
    Link,
    Nothing,
    Problem,
    Text,
    WordDiff,
    WordDiffs,
)
from theodolite.app.components import word_diff
from theodolite.app.pages.decode import figures, service
from theodolite.app.pages.decode.analogies import named, preset_of
from theodolite.app.pages.decode.options import DecodeOptions
from theodolite.app.pages.decode.service import (
    MAX_STEPS,
    NEAR,
    STEPS,
    DecodeResult,
    NoDecoder,
    Step,
)
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Encoders, Field

if TYPE_CHECKING:
    from theodolite.app.batches import Waiting
    from theodolite.app.workspace import Workspace


MAX_UNSEEN = 5
"""Words named that a decoder does not know."""


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
        return [f"{one.encoder}: {text}" for one in every for _, text in limits(one)]


def answer(workspace: Workspace, spec: DecodeSpec, do: Do) -> Iterator[DecodeAnswer]:
    """Decode one sentence after the other; a decoder is not trained for that."""
    results: list[tuple[str, list[DecodeResult]]] = []
    for sentence in spec.sentences:
        every = service.decode(workspace, spec.encoders, sentence, options_of(spec))
        results.append((sentence, [completed(workspace, one) for one in every]))
        yield DecodeAnswer(tuple(results))


def completed(workspace: Workspace, result: DecodeResult) -> DecodeResult:
    """The result, with the decoder's diagnosis; of a missing decoder, with the way to train one."""
    if result.problem is None:
        return replace(result, token_f1=decoders.token_f1(workspace, result.encoder))
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
        return WordDiff(result.encoder, status=no_decoder(result.encoder, result.problem))
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
        diagnosis(result),
    )


def no_decoder(encoder: str, error: NoDecoder) -> Nothing:
    """That there is no decoder, with the way to train one."""
    title = f"No decoder for {encoder} yet."
    if not error.trains:
        return Nothing(title, "Visitors cannot train one; choose another encoder.")
    hint = "A decoder is trained once, in the background."
    if error.took:
        hint += f" For this encoder this takes {error.took}, as an estimate."
    return Nothing(title, hint, Link("Train a decoder", "train-decoder", {"encoder": encoder}))


def diagnosis(result: DecodeResult) -> Link | None:
    """The way to how well the decoder does on many sentences; None for a point."""
    if not result.words:
        return None
    title = "How well does it reconstruct other sentences?"
    if result.token_f1 is not None:
        title = f"Diagnosis on new sentences: token F1 {result.token_f1:.2f}"
    return Link(title, "diagnose", {"encoder": result.encoder})


def limits(result: DecodeResult) -> list[tuple[str, str]]:
    """What limits the result: (in a word, in a sentence)."""
    limits = []
    if result.longer:
        text = (
            f"The sentence has {result.given} words, but this decoder was trained on at most "
            f"{result.known}: its output is cut short."
        )
        limits.append(("cut", text))
    elif result.cut:
        limits.append(("cut", "It was cut at this decoder's maximum length."))
    if unseen := result.unseen:
        text = f"Not in this decoder's training text: {formats.listed(unseen[:MAX_UNSEEN])}."
        if result.given > 2 and 2 * len(unseen) >= result.given:
            text = "Half of the words or more are not in this decoder's training text. " + (
                "It may be of another language or subject."
            )
        limits.append(("unseen", text))
    return limits


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
        spec: what was asked.
        steps: from the first sentence to the second.
        lacking: why there are no real sentences near the steps; empty if there are, or if none were
            asked for.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "share": float,
        "to_first": float,
        "to_second": float,
        "sentence": str,
        "cosine": float | None,
    }
    decimals: ClassVar[int] = 3

    spec: InterpolateSpec
    steps: Sequence[Step]
    lacking: str = ""

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
        """What the steps have in common, the steps, and their chart."""
        spec, first = self.spec, self.steps[0].result
        blocks: list[Block] = [Finding(figures.headline(self.steps))]
        if known := next((step.result.known for step in self.steps if step.result.known), 0):
            words = f"The decoder {first.decoder} knows sentences of at most {known} words."
            blocks.append(Text("", words))
        if self.lacking:
            link = Link("Search it", "search", {"in": spec.data, "encoder": first.encoder})
            hint = (
                "A search encodes it once; then the nearest real sentences stand below each step."
            )
            blocks.append(Nothing(self.lacking, hint, link))
        walk = {
            "steps": self.rows(),
            "ends": [spec.first, spec.second],
            "collection": "" if self.lacking else spec.data or "",
        }
        return [*blocks, Component("interpolation", walk), Chart(figures.cosines(self.steps))]

    def notes(self) -> list[str]:
        """The real sentences near each step."""
        return [
            f"Near {step.share:.2f}: " + " | ".join(hit.sentence for hit in step.near)
            for step in self.steps
            if step.near
        ]


def interpolate(
    workspace: Workspace,
    spec: InterpolateSpec,
    do: Do,
    waiting: Waiting | None = None,
    *,
    lacking: str = "",
) -> Iterator[Interpolation]:
    """Decode all steps.

    Args:
        workspace: with the encoder and its decoder.
        spec: what is asked.
        do: of a question; nothing is computed in the background.
        waiting: as in `service.decode`.
        lacking: why no real sentences can be shown, so that none are looked for.
    """
    try:
        steps = service.interpolate(
            workspace,
            spec.encoder,
            spec.first,
            spec.second,
            spec.steps,
            options_of(spec),
            spherical=spec.spherical,
            collection=None if lacking else spec.data,
            near=spec.near,
            waiting=waiting,
        )
    except NoDecoder as error:
        raise service.with_offer(workspace, spec.encoder, error) from error
    yield Interpolation(spec, tuple(steps), lacking)


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
        return named(self.named)

    @property
    def expected(self) -> str:
        """What a person might say to a preset; empty for any other expression."""
        preset = preset_of(self.expression, self.named)
        return preset.answer if preset else ""


@dataclass(frozen=True, eq=False, repr=False)
class Analogy(DecodeAnswer):
    """The sentences at a point that an expression leads to.

    Attributes:
        spec: what was asked.
    """

    spec: AnalogySpec = field(kw_only=True)

    def blocks(self) -> list[Block]:
        """A card for each encoder, and what a person might say."""
        ((expression, every),) = self.results
        blocks: list[Block] = [
            WordDiffs(expression, [calculated_card(one, self.spec) for one in every])
        ]
        if self.spec.expected:
            blocks.append(Text("", f"A person might say: {self.spec.expected}"))
        return blocks


def calculated_card(result: DecodeResult, spec: AnalogySpec) -> WordDiff:
    """The card of an encoder's result, which says whether it only repeats a sentence."""
    from theodolite.engine.decoding.arithmetic import names

    card = word_diff_of(result)
    sentences = spec.sentences()
    again = [
        name
        for name in names(spec.expression)
        if name in sentences and alike(sentences[name], result.sentence)
    ]
    summary = f"This is {formats.listed(again)} again." if again else ""
    if alike(spec.expected, result.sentence):
        summary = "As a person might write it."
    return replace(card, summary=summary)


def alike(left: str, right: str) -> bool:
    """Whether two sentences have the same words, ignoring case and punctuation."""
    first, second = (re.findall(r"\w+", text.casefold()) for text in (left, right))
    return bool(first) and first == second


def analogy(workspace: Workspace, spec: AnalogySpec, do: Do) -> Iterator[Analogy]:
    """Decode the value of the expression with each encoder's decoder."""
    results = service.calculate(
        workspace, spec.encoders, spec.expression, spec.sentences(), options_of(spec)
    )
    every = [completed(workspace, one) for one in results]
    yield Analogy([(spec.expression, every)], spec=spec)


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
    Analogy,
    (
        'analogy "a - b + c" --let a="he visits italy" --let b="he eats pizza" --let '
        'c="she drinks wine"',
        'analogy "(a + b) / 2" --let a="A cat sleeps." --let b="A dog runs." -e wordllama',
    ),
)
