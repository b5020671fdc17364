"""Points of a space decoded into sentences; the points of simultaneous requests share batches."""

from __future__ import annotations

import shlex
import time
from collections.abc import Hashable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated

from theodolite.app import decoders
from theodolite.app.batches import Batches, Waiting
from theodolite.app.recent import Recent
from theodolite.app.spec import Field, Spec
from theodolite.app.typed import Typed
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.blocks import Hit, Progress
    from theodolite.app.decoders import DecoderInfo
    from theodolite.app.workspace import Workspace
    from theodolite.engine.decode import Decoded, Decoder
    from theodolite.engine.decoding.differing import Word
    from theodolite.engine.encoders.base import Encoder

METHODS = {
    "beam": "Beam search",
    "greedy": "Greedy",
    "sample": "Sampling",
    "vec2sent-ref": "As the reference code",
}
"""Methods of `engine.decode`, and their labels."""
MAX_CHARACTERS = 2000
MAX_STEPS = 41
STEPS = 11
"""Points of an interpolation, both ends included."""
NEAR = 3
"""Real sentences shown beneath each point."""
HYPOTHESES = 80
"""Most hypotheses of a batch: sixteen points by five beams. More are hardly faster per point."""
_batches = Batches(at_once=2)
_answers: Recent[Hashable, tuple[list[Decoded], float]] = Recent(200)
"""What was decoded lately; a few kilobytes of text for each point."""


class NoDecoder(UserError):
    """The encoder has no decoder yet; one can be trained.

    Attributes:
        took: estimated time of training one, in words; empty if unknown.
        trains: whether the person may train one.
    """

    took = ""
    trains = True


@dataclass(frozen=True, kw_only=True)
class DecodeOptions(Spec):
    """How points are decoded; the arguments of `Decoder.correct`."""

    method: Annotated[
        str,
        Field(
            "Method",
            "How sentences are searched for; vec2sent-ref is the beam search of the released code.",
            choices=METHODS,
        ),
    ] = "beam"
    rounds: Annotated[
        int,
        Field(
            "Corrections",
            "Encode the result, shift the vector by the error, keep the best; none with "
            "vec2sent-ref.",
            key="corrections",
            flags=("--corrections",),
            ge=0,
            le=20,
        ),
    ] = 2
    beams: Annotated[
        int,
        Field("Candidates", "Of beam search or sampling; the best by cosine is kept.", ge=1, le=20),
    ] = 5
    temperature: Annotated[
        float, Field("Temperature", "Of the sampling; low is cautious.", ge=0.05, le=5)
    ] = 1.0
    top_p: Annotated[
        float,
        Field("Top-p", "Of the sampling: probability mass to draw from.", key="share", ge=0, le=1),
    ] = 0.9
    seed: Annotated[int, Field("Random seed", "Of the sampling.")] = 0
    known_words: Annotated[
        bool,
        Field(
            "Known words only",
            "Only words of the decoder's training text.",
            key="known-words",
            flags=("--known-words/--any-words",),
        ),
    ] = True

    def check(self) -> None:
        """Something must be left to draw from."""
        if not self.top_p:
            raise UserError("Top-p cannot be 0.", "Give a number above 0.")

    @property
    def options(self) -> DecodeOptions:
        """These options alone, of a question that has them."""
        return DecodeOptions(
            **{field.name: getattr(self, field.name) for field in fields(DecodeOptions)}
        )


DEFAULTS = DecodeOptions()


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
        progress: of the decoding, until it is done.
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
    progress: Progress | None = None

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


@dataclass(frozen=True)
class PointDecoder:
    """An encoder and its decoder, ready to use.

    Attributes:
        name: the encoder's spec, as it was asked for.
        info: of the decoder.
        decoder, encoder: these two.
    """

    name: str
    info: DecoderInfo
    decoder: Decoder
    encoder: Encoder

    def decode(
        self, points: np.ndarray, options: DecodeOptions = DEFAULTS, waiting: Waiting | None = None
    ) -> list[DecodeResult]:
        """Decode points, float (n, dim), in the encoder's own scale; see `decode_points`."""
        decoded, seconds = decode_points(self.decoder, self.encoder, points, options, waiting)
        return [
            DecodeResult(
                self.name,
                self.info.name,
                one.sentence,
                one.cosine,
                tuple((other.sentence, other.cosine or 0.0) for other in one.others),
                cut=one.cut,
                known=self.info.words,
                seconds=seconds / len(points),
            )
            for one in decoded
        ]


def open_decoder(workspace: Workspace, encoder: str) -> PointDecoder:
    """Open an encoder, given by its spec, with its decoder."""
    info = need_decoder(workspace, encoder)
    decoder, model = decoders.load(workspace, info)
    return PointDecoder(encoder, info, decoder, Typed(model))


def need_decoder(workspace: Workspace, encoder: str) -> DecoderInfo:
    """The decoder of an encoder.

    Raises:
        NoDecoder: it has none; the hint is the command that trains one.
    """
    if info := decoders.decoder_of(workspace, encoder):
        return info
    took = "" if workspace.read_only else training_time(workspace, encoder)
    error = NoDecoder(
        f"{encoder} has no decoder yet.",
        f"Train one{took and f', in {took}'}: theodolite train-decoder {shlex.quote(encoder)} "
        "--train FILE --out FOLDER",
        code="no-result",
    )
    error.took, error.trains = took, not workspace.read_only
    raise error


def training_time(workspace: Workspace, encoder: str) -> str:
    """Estimated training time of the default decoder, in words; empty if unknown."""
    from theodolite.app.pages.train.job import decoder_time
    from theodolite.engine.decoding.presets import default_texts
    from theodolite.engine.decoding.spec import DecoderSpec

    try:
        usual = DecoderSpec(encoder, default_texts(workspace.catalog), "decoder")
        return decoder_time(workspace, usual)
    except UserError:
        return ""


def decode_points(
    decoder: Decoder,
    encoder: Encoder,
    points: np.ndarray,
    options: DecodeOptions,
    waiting: Waiting | None = None,
) -> tuple[list[Decoded], float]:
    """Decode points with `Decoder.correct`, in batches with those of others.

    Args:
        decoder: its answers are cached by fingerprints, points and options.
        encoder: ranks the candidates.
        points: float (n, dim).
        options: the decoding options.
        waiting: called with the number of requests ahead while this one waits.

    Returns:
        The sentences, and the seconds that they took when they were not yet cached.
    """
    import numpy as np

    question = (decoder.fingerprint, encoder.fingerprint, options)

    def work(items: list[np.ndarray]) -> list[list[Decoded]]:
        from theodolite.engine.threads import one_torch_thread

        with one_torch_thread():  # the steps are too small for a second thread to help
            decoded = iter(decoder.correct(np.concatenate(items), encoder, **vars(options)))
        return [[next(decoded) for _ in item] for item in items]

    def ask() -> tuple[list[Decoded], float]:
        start = time.perf_counter()
        # The samples of all points of a request come from one generator: they stay together.
        items = [points] if options.method == "sample" else np.split(points, len(points))
        if waiting:
            waiting(0)
        most = {"greedy": HYPOTHESES, "beam": max(1, HYPOTHESES // options.beams)}
        answers = _batches.ask(question, items, work, most.get(options.method, 1), waiting)
        return [one for answer in answers for one in answer], time.perf_counter() - start

    return _answers.get((question, points.tobytes()), ask)


def check_sentence(sentence: str, what: str = "The sentence") -> str:
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
