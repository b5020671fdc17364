"""Settings to start the training of a decoder from: for this machine, and those of Vec2Sent.

    for preset in presets(Catalog()):
        spec = DecoderSpec.from_dict(preset.changes | {"encoder": "minilm", "out": "my-decoder"})

Paper and released code differ in how long a sentence may be (15 words or 14) and in how many they
test on (10,000 or 1,000); both take the first 1,400,000 sentences that are short enough, and leave
longer ones out instead of cutting them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine.datasets.catalog import Catalog

STARTER = "starter"
_TEXTS = ("unlabelled/wiki_split", "unlabelled/movie_reviews", "unlabelled/speeches")
"""What our own decoders learn from, as far as the data folder has it."""
_VEC2SENT: dict[str, Any] = {
    "architecture": "lstm-mos", "clauses": False, "limit": 1_400_000,
}  # fmt: skip


@dataclass(frozen=True)
class Preset:
    """Settings to start from.

    Attributes:
        name: for addresses and commands.
        label: a few words for people.
        about: where the settings come from, and what to know.
        changes: fields of a DecoderSpec, `train` included; all but `encoder` and `out`.
    """

    name: str
    label: str
    about: str
    changes: dict[str, Any]


def presets(catalog: Catalog) -> list[Preset]:
    """List the presets, the usual one first.

    Args:
        catalog: the texts of ours that are there are taken, else the starter set.
    """
    train = texts(catalog)
    return [
        Preset(
            "usual",
            "Usual",
            "A Transformer that reads the vector as its first positions: better than the LSTMs at "
            "equal cost. Long sentences are cut into clauses, so that nothing is wasted.",
            {"train": train},
        ),
        Preset(
            "quick",
            "A first look",
            "The same, narrow and over few sentences: minutes, and it gets the gist at best.",
            {"train": train, "limit": 12_000, "width": 192, "layers": 3, "epochs": 4.0,
             "vocabulary": 4000},
        ),
        Preset(
            "code",
            "Vec2Sent's code",
            "Three LSTM layers of 1,024 and a mixture of five softmaxes, sentences of at most 14 "
            "words, as the released code has it.",
            {"train": train, "words": 14} | _VEC2SENT,
        ),
        Preset(
            "paper",
            "Vec2Sent's paper",
            "The same with sentences of at most 15 words, as the paper says. It had 1.4 million.",
            {"train": train, "words": 15} | _VEC2SENT,
        ),
    ]  # fmt: skip


def texts(catalog: Catalog) -> tuple[str, ...]:
    """What a decoder learns from unless told otherwise: the texts of ours that are here."""
    known = {info.name for info in catalog.list()}
    return tuple(name for name in _TEXTS if name in known) or (STARTER,)
