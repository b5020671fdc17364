"""Decode sentences, interpolations, expressions, and positions on a map.

Shared by the pages and the command line. An encoder that fails does not stop the others: its
`DecodeResult` has the error in `problem`.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from theodolite.app.pages.decode import answering
from theodolite.app.pages.decode.options import DEFAULTS, DecodeOptions
from theodolite.app.typed import Typed
from theodolite.engine.decoding.differing import Word, differing
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.batches import Waiting
    from theodolite.app.blocks import Hit
    from theodolite.app.decoders import DecoderInfo
    from theodolite.app.workspace import Workspace
    from theodolite.engine.decode import Decoded, Decoder
    from theodolite.engine.encoders.base import Encoder

MAX_STEPS = 41
MAX_CHARACTERS = 2000


class NoDecoder(UserError):
    """The encoder has no decoder yet; one can be trained.

    Attributes:
        took: estimated time of training one, in words; empty if unknown.
        trains: whether the person may train one.
    """

    took = ""
    trains = True


STEPS = 11
"""Points of an interpolation, both ends included."""
NEAR = 3
"""Real sentences shown beneath each point."""


@dataclass(frozen=True)
class DecodeResult:
    """A point decoded by one encoder's decoder.

    Attributes:
        encoder: its spec string.
        decoder: name of the decoder; empty for none.
        sentence: the best candidate by cosine.
        cosine: of the re-encoded sentence to the point; None on failure.
        others: the other candidates with their cosines to the point, best first.
        words: word differences to the input sentence; empty if there was none.
        cut: whether the sentence was cut at the decoder's maximum length.
        given: number of words of the input sentence; 0 if there was none.
        known: most words per sentence in the decoder's training; 0 if unknown.
        unseen: words of the input sentence that are not in the decoder's training text, if known.
        token_f1: of the newest diagnosis of the encoder's decoder; None if there is none.
        seconds: decoding time, without loading; None for a shipped answer.
        problem: the error, if decoding failed; `NoDecoder` if a decoder can be trained.
    """

    encoder: str
    decoder: str = ""
    sentence: str = ""
    cosine: float | None = None
    others: tuple[tuple[str, float], ...] = ()
    words: tuple[Word, ...] = ()
    cut: bool = False
    given: int = 0
    known: int = 0
    unseen: tuple[str, ...] = ()
    token_f1: float | None = None
    seconds: float | None = 0.0
    problem: UserError | None = None

    @property
    def longer(self) -> bool:
        """Whether the input sentence has more words than the decoder was trained on."""
        return 0 < self.known < self.given


@dataclass(frozen=True)
class Step:
    """A point of an interpolation between two sentences.

    Attributes:
        share: 0 at the first sentence, 1 at the second.
        result: the decoded point.
        to_first, to_second: cosine of the decoded sentence to the ends.
        point_first, point_second: cosine of the point itself to the ends.
        near: real sentences nearest to the point; empty without a collection.
    """

    share: float
    result: DecodeResult
    to_first: float
    to_second: float
    point_first: float
    point_second: float
    near: tuple[Hit, ...] = ()


def decode(
    workspace: Workspace,
    encoders: Sequence[str],
    sentence: str,
    options: DecodeOptions = DEFAULTS,
    waiting: Waiting | None = None,
) -> list[DecodeResult]:
    """Encode a sentence with each encoder and decode its vector again.

    Args:
        workspace: the workspace.
        encoders: specs.
        sentence: the sentence to encode.
        options: the decoding options.
        waiting: called with the number of requests ahead while this one waits; may raise.
    """
    text = checked(sentence)
    return [_of_sentence(workspace, name, text, options, waiting) for name in encoders]


def interpolate(
    workspace: Workspace,
    encoder: str,
    first: str,
    second: str,
    steps: int = STEPS,
    options: DecodeOptions = DEFAULTS,
    *,
    spherical: bool = False,
    collection: str | None = None,
    near: int = NEAR,
    waiting: Waiting | None = None,
) -> list[Step]:
    """Decode points between two sentences, both ends included.

    Args:
        workspace: the workspace.
        encoder: a spec.
        first: the sentence at share 0.
        second: the sentence at share 1.
        steps: number of points, from 2 to `MAX_STEPS`.
        options: the decoding options.
        spherical: whether to follow the great circle instead of the line.
        collection: a data set to search for the sentences nearest to each point; None for none.
        near: number of nearest sentences per point.
        waiting: as in `decode`.

    Raises:
        NoDecoder: the encoder has no decoder.
    """
    from theodolite.app.pages.search import service as retrieval
    from theodolite.engine.decode import interpolate as points_between

    if not 2 <= steps <= MAX_STEPS:
        raise UserError(f"{steps} steps are not possible.", f"Choose from 2 to {MAX_STEPS}.")
    ends = [checked(first, "The first sentence"), checked(second, "The second sentence")]
    row, decoder, model = _open(workspace, encoder)
    vectors = model.encode(ends)
    points = points_between(vectors[0], vectors[1], steps, spherical=spherical)
    found = _decode_points(encoder, row, decoder, model, points, options, waiting)
    again = model.encode([one.sentence for one in found])
    real: Sequence[Sequence[Hit]] = [()] * steps
    if collection:
        real = retrieval.around(workspace, encoder, collection, points, near)
    decoded_to, points_to = _cosines(again, vectors), _cosines(points, vectors)
    return [
        Step(
            place / (steps - 1),
            found[place],
            float(decoded_to[place, 0]),
            float(decoded_to[place, 1]),
            float(points_to[place, 0]),
            float(points_to[place, 1]),
            tuple(real[place]),
        )
        for place in range(steps)
    ]


def calculate(
    workspace: Workspace,
    encoders: Sequence[str],
    expression: str,
    named: Mapping[str, str],
    options: DecodeOptions = DEFAULTS,
    waiting: Waiting | None = None,
) -> list[DecodeResult]:
    """Decode the point of an expression over named sentences, such as `a - b + c`."""
    import numpy as np

    from theodolite.engine.decoding import arithmetic

    # Evaluating with a number for each name validates the expression before a model is loaded.
    arithmetic.evaluate(expression, {name: np.ones(1) for name in named})
    used = arithmetic.names(expression)
    texts = [checked(named[name], f"The sentence named {name}") for name in used]

    def one(encoder: str) -> DecodeResult:
        row, decoder, model = _open(workspace, encoder)
        vectors = dict(zip(used, model.encode(texts), strict=True))
        point = arithmetic.evaluate(expression, vectors)[None].astype(np.float32)
        return _decode_points(encoder, row, decoder, model, point, options, waiting)[0]

    return [_or_problem(encoder, one) for encoder in encoders]


def decode_point(
    workspace: Workspace, encoder: str, point: np.ndarray, options: DecodeOptions = DEFAULTS
) -> DecodeResult:
    """Decode a point, float (dim,), in the encoder's own scale.

    Raises:
        NoDecoder: the encoder has no decoder.
    """
    row, decoder, model = _open(workspace, encoder)
    return _decode_points(encoder, row, decoder, model, point[None], options, None)[0]


def training_time(workspace: Workspace, encoder: str) -> str:
    """Estimated training time of the default decoder, in words; empty if unknown."""
    from theodolite.app.pages.train.service import decoder_time
    from theodolite.engine.decoding.presets import default_texts
    from theodolite.engine.decoding.spec import DecoderSpec

    try:
        usual = DecoderSpec(encoder, default_texts(workspace.catalog), "decoder")
        return decoder_time(workspace, usual)
    except UserError:
        return ""


def with_offer(workspace: Workspace, encoder: str, error: UserError) -> UserError:
    """The error; for a missing decoder, with the command that trains one and its time."""
    if not isinstance(error, NoDecoder):
        return error
    took = "" if workspace.read_only else training_time(workspace, encoder)
    offer = NoDecoder(
        error.message,
        f"Train one{took and f', in {took}'}: theodolite train-decoder {shlex.quote(encoder)} "
        "--train FILE --out FOLDER",
        code="no-result",
    )
    offer.took, offer.trains = took, not workspace.read_only
    return offer


def checked(sentence: str, what: str = "The sentence") -> str:
    """Return the sentence with whitespace normalised."""
    text = " ".join(sentence.encode("utf-8", "replace").decode().split())
    if not text:
        raise UserError(f"{what} is empty.", "Write a sentence.", code="missing")
    if len(text) > MAX_CHARACTERS:
        raise UserError(
            f"{what} has {len(text):,} characters.",
            f"Give at most {MAX_CHARACTERS:,}.",
            code="too-large",
        )
    return text


def _of_sentence(
    workspace: Workspace, encoder: str, text: str, options: DecodeOptions, waiting: Waiting | None
) -> DecodeResult:
    from theodolite.engine.decoding.text import words

    def one(name: str) -> DecodeResult:
        row, decoder, model = _open(workspace, name)
        begun = time.perf_counter()
        (sentence,) = _decode_points(
            name, row, decoder, model, model.encode([text]), options, waiting
        )
        took = time.perf_counter() - begun
        known = decoder.vocabulary.known_words
        return replace(
            sentence,
            words=differing(text, sentence.sentence),
            given=words(text),
            unseen=tuple(known.lacking(text)) if known else (),
            seconds=took,
        )

    return _or_problem(encoder, one)


def _or_problem(encoder: str, one: Callable[[str], DecodeResult]) -> DecodeResult:
    try:
        return one(encoder)
    except UserError as error:
        return DecodeResult(encoder, problem=error)


def _open(workspace: Workspace, encoder: str) -> tuple[DecoderInfo, Decoder, Encoder]:
    from theodolite.app import decoders

    row = decoders.decoder_of(workspace, encoder)
    if row is None:
        raise NoDecoder(
            f"{encoder} has no decoder yet.", "Train one on Train decoder.", code="no-result"
        )
    decoder, model = decoders.opened(workspace, row)
    return row, decoder, Typed(model)


def _decode_points(
    encoder: str,
    row: DecoderInfo,
    decoder: Decoder,
    model: Encoder,
    points: np.ndarray,
    options: DecodeOptions,
    waiting: Waiting | None,
) -> list[DecodeResult]:
    begun = time.perf_counter()
    found = answering.decode(decoder, model, points, options, waiting)
    took = (time.perf_counter() - begun) / len(points)
    known = int(row.words or 0)
    return [
        DecodeResult(
            encoder,
            row.name,
            one.sentence,
            one.cosine,
            _others(one),
            cut=one.cut,
            known=known,
            seconds=took,
        )
        for one in found
    ]


def _others(found: Decoded) -> tuple[tuple[str, float], ...]:
    return tuple((one.sentence, one.cosine or 0.0) for one in found.others)


def _cosines(rows: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Cosines of rows to ends, float32 (rows, ends); 0 for a zero vector."""
    from theodolite.engine.search.index import unit_rows

    return unit_rows(rows) @ unit_rows(ends).T
