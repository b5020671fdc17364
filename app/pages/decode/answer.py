"""Decode what encoders keep of sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from theodolite.app.blocks import Block, Link, Nothing, Problem, WordDiff, WordDiffs
from theodolite.app.components import word_diff
from theodolite.app.pages.decode import service
from theodolite.app.pages.decode.service import DecodeOptions, DecodeResult, NoDecoder
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace


@dataclass(frozen=True)
class DecodeSpec(DecodeOptions):
    """Encode a sentence and decode its vector: what comes back is what the vector kept.

    The encoder needs a decoder; `theodolite train-decoder` makes one.
    """

    sentences: Annotated[Sequence[str], Field("Sentence", "What to encode and decode.", key="q")]
    encoders: Annotated[
        Sequence[str],
        Field(
            "Encoders",
            "Spec string of an encoder.",
            names="encoder",
            key="encoder",
            flags=("--encoder", "-e"),
        ),
    ] = ("minilm",)

    @property
    def options(self) -> DecodeOptions:
        """How the sentences are decoded."""
        names = [field.name for field in fields(DecodeOptions)]
        return DecodeOptions(**{name: getattr(self, name) for name in names})


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
        every = service.decode(workspace, spec.encoders, sentence, spec.options)
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
