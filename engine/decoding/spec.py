"""The spec of a decoder's training: frozen, versioned, hashed."""

from dataclasses import dataclass
from typing import Annotated, Literal

from theodolite.engine.errors import UserError
from theodolite.engine.training.base_spec import DEVICE, PRECISION, BaseSpec, PrecisionName, Setting

VERSION = 1
HEADS = 4
"""Attention heads of `prefix`."""

Architecture = Literal["prefix", "lstm", "lstm-mos", "causal"]

_SIZES = "Sizes and optimiser"


@dataclass(frozen=True)
class DecoderSpec(BaseSpec):
    """Training of a decoder for one encoder.

    Attributes:
        encoder: spec string of the encoder whose vectors are decoded.
        train: files of one sentence a line, or names of data sets.
        out: the folder that becomes the decoder.
        start: also the folder of a decoder, of the same encoder, architecture and sizes: its
            weights, tokens and standardisation are taken; None for random weights.

    The others are described where they are declared.
    """

    version = VERSION
    noun = "decoder's training spec"
    verb = "train-decoder"
    arguments = ("encoder",)
    sources = ("encoder", "train", "base", "start")

    encoder: str
    train: tuple[str, ...]
    out: str
    architecture: Annotated[
        Architecture,
        Setting(
            "Architecture",
            "How the decoder reads the vector; causal: an existing language model.",
            choices={
                "prefix": "Transformer",
                "lstm": "Simple LSTM",
                "lstm-mos": "Paper's LSTM",
                "causal": "A language model",
            },
        ),
    ] = "prefix"
    base: Annotated[
        str | None,
        Setting(
            "Language model",
            "hf:ID or dir:FOLDER, with its own vocabulary and sizes.",
            when=lambda values: values["architecture"] == "causal",
        ),
    ] = None
    words: Annotated[
        int, Setting("Max words", "In a sentence; longer ones are cut or left out.", ge=2)
    ] = 14
    limit: Annotated[
        int | None, Setting("First sentences only", "Number; empty or none: all.", ge=2)
    ] = None
    epochs: Annotated[
        float, Setting("Epochs", "Passes over the sentences; fractions allowed.", gt=0)
    ] = 5.0
    clauses: Annotated[
        bool, Setting("Cut longer sentences into clauses, instead of leaving them out")
    ] = True
    start: Annotated[
        str | None,
        Setting(
            "Continue from",
            "The name of a decoder of the same encoder, architecture and sizes.",
            _SIZES,
            when=lambda values: values["architecture"] != "causal",
        ),
    ] = None
    width: Annotated[
        int | None,
        Setting(
            "Width",
            "Of the hidden states; empty or none: the architecture's own.",
            _SIZES,
            ge=HEADS,
            multiple_of=HEADS,
        ),
    ] = None
    layers: Annotated[int | None, Setting("Layers", "Empty or none: its own.", _SIZES, ge=1)] = None
    vocabulary: Annotated[
        int, Setting("Vocabulary", "Tokens to learn; every byte is one.", _SIZES, ge=260)
    ] = 8000
    dropout: Annotated[
        float | None,
        Setting("Dropout", "Empty or none: its own.", _SIZES, ge=0, lt=1),
    ] = None
    learning_rate: Annotated[
        float,
        Setting(
            "Peak learning rate",
            "Decays along a cosine; a twentieth of it for the weights of a base.",
            _SIZES,
            gt=0,
            lt=1,
        ),
    ] = 2e-3
    warmup: Annotated[int, Setting("Warm-up", "Updates until the peak.", _SIZES, ge=0)] = 300
    batch_tokens: Annotated[int, Setting("Batch size", "Tokens of an update.", _SIZES, ge=64)] = (
        2048
    )
    noise: Annotated[
        float,
        Setting(
            "Noise",
            "Standard deviation, added to the vectors: points between those of sentences are "
            "learned too.",
            _SIZES,
            ge=0,
        ),
    ] = 0.0
    held_out: Annotated[
        int,
        Setting(
            "Held-out sentences",
            "The lowest loss on them decides which weights are kept.",
            _SIZES,
            ge=1,
        ),
    ] = 500
    seed: Annotated[
        int,
        Setting(
            "Random seed",
            "Of initial weights, order, dropout and noise.",
            _SIZES,
            ge=0,
            le=2**32 - 1,
        ),
    ] = 42
    precision: Annotated[PrecisionName, PRECISION] = "auto"
    device: Annotated[str | None, DEVICE] = None
    name: Annotated[
        str | None,
        Setting("Name", "Of its folder in the store; empty or none: after the encoder."),
    ] = None

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        if not self.train:
            raise UserError(
                "A decoder needs sentences to learn from.",
                "Name a file or data set.",
                code="missing",
            )
        causal = self.architecture == "causal"
        if causal == (self.base is None):
            raise UserError(
                f"The architecture {self.architecture} goes with {'a' if causal else 'no'} base.",
                "Give architecture causal and a base, hf:ID or dir:FOLDER, or neither.",
                code="conflict",
            )
        if causal and self.start is not None:
            raise UserError(
                "A language model starts from its base, not from a decoder.",
                "Leave out the start.",
                code="conflict",
            )
        if causal and (self.width or self.layers or self.dropout is not None):
            raise UserError(
                "A base has a width, layers and dropout of its own.",
                "Leave them out, or the base.",
                code="conflict",
            )
