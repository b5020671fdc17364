"""Questions that decode points of a space: of sentences, between two, and of an expression."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from theodolite.app import decoders, formats
from theodolite.app.batches import Waiting
from theodolite.app.blocks import (
    Block,
    Chart,
    Component,
    Finding,
    Hit,
    Link,
    Nothing,
    Problem,
    Text,
    WordDiff,
    WordDiffs,
)
from theodolite.app.components import word_diff
from theodolite.app.pages.decode.analogies import preset_of, read_names
from theodolite.app.pages.decode.service import (
    MAX_STEPS,
    NEAR,
    STEPS,
    DecodeOptions,
    DecodeResult,
    NoDecoder,
    Step,
    check_sentence,
    open_decoder,
)
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Encoders, Field
from theodolite.app.web.figures import scatter
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

MAX_UNSEEN = 5
"""Words named that a decoder does not know."""


@dataclass(frozen=True)
class DecodeSpec(DecodeOptions):
    """Encode a sentence and decode its vector: what comes back is what the vector kept.

    The encoder needs a decoder; `theodolite train-decoder` makes one.
    """

    sentences: Annotated[Sequence[str], Field("Sentence", "What to encode and decode.", key="q")]
    encoders: Encoders = ("minilm",)


@dataclass(frozen=True)
class AnalogySpec(DecodeOptions):
    """Calculate with sentences and decode where that leads; a : b :: z : c is z = a - b + c."""

    expression: Annotated[
        str, Field("Expression", '+ - * / ( ), numbers and names: "a - b + c".', key="x")
    ]
    named: Annotated[
        Sequence[str],
        Field("Names", "A name and its sentence, NAME=SENTENCE.", key="let", flags=("--let",)),
    ] = ()
    encoders: Encoders = ("minilm",)


@dataclass(frozen=True, eq=False, repr=False)
class DecodeAnswer(Answer):
    """Sentences decoded from the vectors of sentences.

    Attributes:
        spec: what was asked.
        results: each sentence or expression -> the result of each encoder's decoder.
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

    spec: DecodeSpec | AnalogySpec
    results: Mapping[str, Sequence[DecodeResult]]

    @property
    def every(self) -> list[DecodeResult]:
        """All results."""
        return [result for results in self.results.values() for result in results]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each sentence and encoder."""
        return [
            {"given": sentence} | _row(result)
            for sentence, results in self.results.items()
            for result in results
        ]

    def table_columns(self) -> list[str]:
        """Without the sentence if there is only one."""
        left = {"decoder", *(["given"] if len(self.results) == 1 else [])}
        return [name for name in super().table_columns() if name not in left]

    def blocks(self) -> list[Block]:
        """Cards, side by side for each sentence."""
        return [
            WordDiffs(sentence, [self.card(result) for result in results])
            for sentence, results in self.results.items()
        ]

    def card(self, result: DecodeResult) -> WordDiff:
        """The card of an encoder's result."""
        return word_diff_of(result)

    def problems(self) -> list[Problem]:
        """Encoders that could not decode."""
        return [Problem(one.problem) for one in self.every if one.problem is not None]

    def notes(self) -> list[str]:
        """What was cut."""
        return [f"{one.encoder}: {text}" for one in self.every for _, text in limits(one)]


@dataclass(frozen=True, eq=False, repr=False)
class Analogy(DecodeAnswer):
    """The sentences at a point that an expression leads to."""

    spec: AnalogySpec

    @property
    def expected(self) -> str:
        """What a person might say to a preset; empty for any other expression."""
        preset = preset_of(self.spec.expression, self.spec.named)
        return preset.answer if preset else ""

    def blocks(self) -> list[Block]:
        """A card for each encoder, and what a person might say."""
        expected = [Text("", f"A person might say: {self.expected}")] if self.expected else []
        return [*super().blocks(), *expected]

    def card(self, result: DecodeResult) -> WordDiff:
        """Says whether the sentence is expected, or only one of those given."""
        from theodolite.engine.decoding.arithmetic import names

        known = read_names(self.spec.named)
        again = [
            name
            for name in names(self.spec.expression)
            if name in known and _alike(known[name], result.sentence)
        ]
        summary = f"The same as {formats.listed(again)}." if again else ""
        if _alike(self.expected, result.sentence):
            summary = "As a person might say it."
        return replace(super().card(result), summary=summary)


def _alike(left: str, right: str) -> bool:
    """Whether two sentences have the same words, ignoring case and punctuation."""
    first, second = (re.findall(r"\w+", text.casefold()) for text in (left, right))
    return bool(first) and first == second


def _row(result: DecodeResult) -> dict[str, Any]:
    """The result of an encoder as JSON has it."""
    if error := result.problem:
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
    if result.problem:
        return WordDiff(result.encoder, status=Problem(result.problem))
    if result.progress:
        return WordDiff(result.encoder, status=result.progress)
    link = None
    if result.words:
        title = "How well does it reconstruct other sentences?"
        if result.token_f1 is not None:
            title = f"Diagnosis on new sentences: token F1 {result.token_f1:.2f}"
        link = Link(title, "diagnose", {"encoder": result.encoder})
    return WordDiff(
        result.encoder,
        result.sentence,
        result.words,
        result.cosine,
        None,
        word_diff.tally(result.words) if result.words else "",
        limits(result),
        result.others,
        result.seconds,
        link,
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
            text = (
                "Half of the words or more are not in this decoder's training text. It may be of "
                "another language or subject."
            )
        limits.append(("unseen", text))
    return limits


def decode(
    workspace: Workspace, spec: DecodeSpec, do: Do, waiting: Waiting | None = None
) -> Iterator[DecodeAnswer]:
    """Decode one sentence after the other; a decoder is not trained for that.

    Args:
        workspace: with the encoders and their decoders.
        spec: what is asked.
        do: of a question; nothing is computed in the background.
        waiting: called with the number of requests ahead while this one waits; may raise.
    """
    from theodolite.engine.decoding.differing import differing
    from theodolite.engine.decoding.text import words

    def round_trip(encoder: str) -> DecodeResult:
        decoder = open_decoder(workspace, encoder)
        (result,) = decoder.decode(decoder.encoder.encode([text]), spec.options, waiting)
        known = decoder.decoder.vocabulary.known_words
        return replace(
            result,
            words=differing(text, result.sentence),
            given=words(text),
            unseen=tuple(known.missing(text)) if known else (),
            token_f1=decoders.token_f1(workspace, encoder),
        )

    results: dict[str, list[DecodeResult]] = {}
    for sentence in spec.sentences or [""]:  # none is refused as an empty one is
        text = check_sentence(sentence)
        results[sentence] = _each(spec.encoders, round_trip)
        yield DecodeAnswer(spec, dict(results))


def analogy(
    workspace: Workspace, spec: AnalogySpec, do: Do, waiting: Waiting | None = None
) -> Iterator[Analogy]:
    """Decode the value of the expression with each encoder's decoder; arguments as of `decode`."""
    import numpy as np

    from theodolite.engine.decoding import arithmetic

    known = read_names(spec.named)
    # Evaluating with a number for each name validates the expression before a model is loaded.
    arithmetic.evaluate(spec.expression, {name: np.ones(1) for name in known})
    used = arithmetic.names(spec.expression)
    texts = [check_sentence(known[name], f"The sentence named {name}") for name in used]

    def calculate(encoder: str) -> DecodeResult:
        decoder = open_decoder(workspace, encoder)
        vectors = dict(zip(used, decoder.encoder.encode(texts), strict=True))
        point = arithmetic.evaluate(spec.expression, vectors)[None].astype(np.float32)
        return decoder.decode(point, spec.options, waiting)[0]

    yield Analogy(spec, {spec.expression: _each(spec.encoders, calculate)})


def _each(encoders: Sequence[str], ask: Callable[[str], DecodeResult]) -> list[DecodeResult]:
    """Ask one encoder after the other; one that fails does not stop the others."""
    results = []
    for encoder in encoders:
        try:
            results.append(ask(encoder))
        except UserError as error:
            results.append(DecodeResult(encoder, problem=error))
    return results


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
    in_terminal: ClassVar = ("share", "to_first", "to_second", "sentence")
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

    def blocks(self) -> list[Block]:
        """What the steps have in common, the steps, and their chart."""
        spec, first = self.spec, self.steps[0].result
        blocks: list[Block] = [Finding(self._headline())]
        if first.known:
            words = f"The decoder {first.decoder} knows sentences of at most {first.known} words."
            blocks.append(Text("", words))
        if self.lacking:
            link = Link("Search it", "search", {"in": spec.data, "encoder": first.encoder})
            hint = (
                "A search encodes it once; then the nearest real sentences are shown at each step."
            )
            blocks.append(Nothing(self.lacking, hint, link))
        walk = {
            "steps": self.rows(),
            "ends": [spec.first, spec.second],
            "collection": "" if self.lacking else spec.data or "",
        }
        return [*blocks, Component("interpolation", walk), cosines(self.steps)]

    def notes(self) -> list[str]:
        """The real sentences near each step."""
        return [
            f"Near {step.share:.2f}: " + " | ".join(hit.sentence for hit in step.near)
            for step in self.steps
            if step.near
        ]

    def _headline(self) -> str:
        different = len({step.result.sentence for step in self.steps})
        turn = next((step.share for step in self.steps if step.to_second > step.to_first), None)
        words = f"{len(self.steps)} steps give {different} different sentences"
        if turn is None:
            return f"{words}; none is nearer to the second sentence than to the first."
        return f"{words}; from {formats.percent(turn)} of the way on they are nearer to the second."


def cosines(steps: Sequence[Step]) -> Chart:
    """Chart the cosine to both ends by share: of the decoded sentences and of the points."""
    lines = (
        ("decoded, to the first", "to_first", SERIES[0], "solid", "circle"),
        ("decoded, to the second", "to_second", SERIES[1], "solid", "square"),
        ("point, to the first", "point_first", SERIES[0], "dot", None),
        ("point, to the second", "point_second", SERIES[1], "dot", None),
    )
    traces = [
        scatter(
            x=[100 * step.share for step in steps],
            y=[getattr(step, what) for step in steps],
            name=name,
            mode="lines+markers" if mark else "lines",
            line={"color": colour, "dash": dash, "width": 2 if mark else 1.5},
            marker={"symbol": mark, "size": 8},
            customdata=[formats.cosine(getattr(step, what)) for step in steps],
            hovertemplate=f"{name}: %{{customdata}} at %{{x:.0f}} %<extra></extra>",
        )
        for name, what, colour, dash, mark in lines
    ]
    layout = {
        "xaxis": {"title": {"text": "per cent of the way"}, "range": [-2, 102]},
        "yaxis": {"title": {"text": "cosine"}},
        "hovermode": "closest",
    }
    return Chart(
        {"data": traces, "layout": layout},
        "Cosine to both sentences along the way",
        name="interpolation",
        columns=(
            "share",
            "decoded",
            "cosine to the target",
            *("to the first", "to the second", "point to the first", "point to the second"),
        ),
        rows=[
            (
                round(step.share, 4),
                *(step.result.sentence, step.result.cosine),
                *(step.to_first, step.to_second, step.point_first, step.point_second),
            )
            for step in steps
        ],
    )


def interpolate(
    workspace: Workspace,
    spec: InterpolateSpec,
    do: Do,
    waiting: Waiting | None = None,
    lacking: str = "",
) -> Iterator[Interpolation]:
    """Decode all steps.

    Args:
        workspace: with the encoder and its decoder.
        spec: what is asked.
        do: as of `decode`.
        waiting: as of `decode`.
        lacking: why no real sentences can be shown, so that no search is made.
    """
    import numpy as np

    from theodolite.app.pages.search import service as search
    from theodolite.engine.decode import interpolate as points_between
    from theodolite.engine.search.index import unit_rows

    ends = [
        check_sentence(spec.first, "The first sentence"),
        check_sentence(spec.second, "The second sentence"),
    ]
    decoder = open_decoder(workspace, spec.encoder)
    vectors = decoder.encoder.encode(ends)
    points = points_between(vectors[0], vectors[1], spec.steps, spherical=spec.spherical)
    results = decoder.decode(points, spec.options, waiting)
    near: Sequence[Sequence[Hit]] = [()] * spec.steps
    if spec.data and not lacking:
        real = search.open_collection(workspace, spec.encoder, spec.data)
        near = real.around(points, search.Limits(spec.near))
    again = decoder.encoder.encode([one.sentence for one in results])
    # float32 (steps, 4): cosines to the ends, 0 for a zero vector
    cosines = np.clip(
        np.hstack([unit_rows(rows) @ unit_rows(vectors).T for rows in (again, points)]), -1.0, 1.0
    )
    steps = [
        Step(place / (spec.steps - 1), result, *four, near=tuple(hits))  # type: ignore[misc]
        for place, (result, four, hits) in enumerate(
            zip(results, cosines.tolist(), near, strict=True)
        )
    ]
    yield Interpolation(spec, steps, lacking)


DECODE = Question(
    "decode",
    DecodeSpec,
    decode,
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
