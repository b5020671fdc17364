"""Settings to start from: ours, those of Vec2Sent's paper, and those of its code.

    spec = DecoderSpec("minilm", ("sentences.txt",), "my-decoder", **preset("code").changes)

The paper states 1.4 million training sentences of at most 15 words and 10,000 to test on; its
released scripts keep at most 14 words and test on 1,000. Both train the LSTM with a mixture of
softmaxes over 50,000 tokens. Their text is lower-cased, with every digit as 0; ours never is.
"""

from typing import Any

from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.errors import UserError
from theodolite.engine.training.presets import STARTER, Preset

TRAIN_TEXTS = ("unlabelled/wiki_split", "unlabelled/movie_reviews", "unlabelled/speeches")
"""Training texts of our own decoders, where the data folder has them."""
TEST_TEXTS = ("unlabelled/abc", "starter-topics")
"""Texts that none of them was trained on."""


_OF_PAPER: dict[str, Any] = {
    "architecture": "lstm-mos",
    "clauses": False,
    "limit": 1_400_000,
    "vocabulary": 50_000,
}

PRESETS = (
    Preset(
        "ours",
        "A small Transformer",
        "Four layers that read the vector as their first positions: hours on one processor core "
        "for a hundred thousand sentences. Longer sentences are cut into clauses.",
        {},
    ),
    Preset(
        "quick",
        "A first look",
        "The same, narrower and from 12,000 sentences: minutes, and it gets the gist at best.",
        {"limit": 12_000, "vocabulary": 4000, "width": 192, "layers": 3},
    ),
    Preset(
        "paper",
        "Vec2Sent, as the paper says",
        "1.4 million sentences of at most 15 words, three LSTM layers of 1024 and five softmaxes. "
        "It needs a GPU.",
        _OF_PAPER | {"words": 15},
    ),
    Preset(
        "code",
        "Vec2Sent, as its code does",
        "As the paper, but sentences of at most 14 words, and 1,000 to test on. It needs a GPU.",
        _OF_PAPER | {"words": 14},
    ),
)


def preset(name: str) -> Preset:
    """Return one of `PRESETS` by name."""
    for one in PRESETS:
        if one.name == name:
            return one
    known = ", ".join(each.name for each in PRESETS)
    raise UserError(
        f"There is no preset {name!r} for decoders.", f"Choose one of {known}.", code="unknown"
    )


def default_texts(catalog: Catalog) -> tuple[str, ...]:
    """Return the texts to train on: those of `TRAIN_TEXTS` in the catalog, else the starter set."""
    known = {info.name for info in catalog.list()}
    return tuple(name for name in TRAIN_TEXTS if name in known) or (STARTER,)
