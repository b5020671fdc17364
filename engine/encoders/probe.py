"""Tries a model out as soon as its weights are read: what cannot encode is refused there.

Two texts of different length are encoded alone and together. That shows the length of a vector,
which for some models only the vectors themselves tell, and whether padding changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.engine.errors import UserError, first_line

if TYPE_CHECKING:
    from torch import nn

TEXTS = ("A boat.", "On the river, a small red boat sails past the old house on the green hill.")
_CLOSE = {"float32": 1e-4, "int8": 1.0}
"""Largest difference, as a share of the largest value; int8 rounds what padding moves by a bit."""
_HALF = 0.05
_TABLES = ("position_embeddings", "position_embedding", "wpe", "embed_positions")
_NOT_TEXT = ("vision", "visual", "image", "audio", "decoder")


@dataclass(frozen=True)
class Probe:
    """What two texts showed.

    Attributes:
        dim: length of a vector.
        agrees: whether a text has the same vector alone and among others.
    """

    dim: int
    agrees: bool

    def warnings(self, label: str) -> tuple[str, ...]:
        """What to know of the vectors, as sentences."""
        if self.agrees:
            return ()
        return (
            f"A text's vector by {label} depends on the texts that are encoded with it: its "
            "modules do not leave out the padding beside shorter ones.",
        )


def probe(encode: Callable[[Sequence[str]], Any], label: str, dtype: str = "float32") -> Probe:
    """Encode two texts alone and together.

    Args:
        encode: gives a row for each text.
        label: of the model, for messages.
        dtype: in which it computes.
    """
    try:
        alone = [np.asarray(encode([text]), np.float32) for text in TEXTS]
        together = np.asarray(encode(TEXTS), np.float32)
    except UserError:
        raise
    except Exception as error:  # modules raise every kind where they do not fit each other
        raise refusal(error, label) from error
    if together.ndim != 2 or len(together) != len(TEXTS) or alone[0].shape != together[:1].shape:
        raise UserError(
            f"{label} does not give one vector a text: two texts gave shape {together.shape}.",
            "Use a model of sentences, whose last modules pool the tokens.",
            code="wrong-kind",
        )
    finite = np.nan_to_num(together)
    apart = np.abs(np.nan_to_num(np.concatenate(alone)) - finite).max(initial=0.0)
    close = _CLOSE.get(dtype, _HALF) * np.abs(finite).max(initial=0.0)
    return Probe(together.shape[1], bool(apart <= close))


def refusal(error: Exception, label: str) -> UserError:
    """Put what a model raised while it encoded into a sentence."""
    if isinstance(error, KeyError) and error.args == ("sentence_embedding",):
        return UserError(
            f"{label} has a vector for each token, and none for a sentence: no module of it pools "
            "them.",
            "Add a Pooling module to it, or name a pooling: ?pooling=avg.",
            code="wrong-kind",
        )
    if isinstance(error, IndexError):
        return UserError(
            f"{label} cannot encode: its tokenizer gives tokens beyond those of its weights.",
            "Get the folder again, as one. Where tokens were added, resize the model's embeddings "
            "and save both.",
            code="mismatch",
        )
    if "route" in str(error).lower():
        return UserError(f"{label} has no route for this: {first_line(error)}", code="unsupported")
    return UserError(
        f"{label} cannot encode: {type(error).__name__}: {first_line(error)}",
        "Its files may not fit each other, or need another version of the library that wrote them.",
        code="failed",
    )


def positions(model: nn.Module) -> int | None:
    """Number of tokens for which a model has learnt positions; None for other positions."""
    from torch.nn import Embedding

    places = []
    for name, part in model.named_modules():
        *above, own = name.split(".")
        text = not any(word in one for one in above for word in _NOT_TEXT)
        if isinstance(part, Embedding) and own in _TABLES and text:
            # Those of RoBERTa start after the padding id, those of BART at 2.
            start = 0 if part.padding_idx is None else part.padding_idx + 1
            places.append(part.num_embeddings - int(getattr(part, "offset", start)))
    return min((n for n in places if n > 0), default=None)
