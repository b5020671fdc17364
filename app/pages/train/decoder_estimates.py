"""Training time of a decoder, estimated at once from the speeds of earlier probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from theodolite.engine.paths import named
from theodolite.engine.training.presets import STARTER

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.decoding.estimate import DecoderEstimate
    from theodolite.engine.decoding.spec import DecoderSpec

_SPEEDS = "decoder-speeds"
_TOKENS_PER_SECOND = 1500.0
"""Training speed of the default decoder on two cores, until one is measured here."""
_ENCODED_PER_SECOND = 150.0
_TOKENS = 17
"""Tokens of a sentence of about 14 words."""
_BYTES = 90
"""Approximate bytes of text per sentence."""
_USUAL = 150_000
"""Sentences assumed for a data set of unknown size."""


@dataclass(frozen=True)
class Guess:
    """A rough estimate of a training's time.

    Attributes:
        seconds: total.
        encoding: seconds of the total spent encoding the sentences.
    """

    seconds: float
    encoding: float


def guess(workspace: Workspace, spec: DecoderSpec) -> Guess:
    """Estimate the time at once, without loading anything; often off by a factor of two."""
    speeds = workspace.store.settings.get(_SPEEDS) or {}
    rate = speeds.get(_key(spec), _TOKENS_PER_SECOND / (10 if "mos" in spec.architecture else 1))
    sentences = sum(_sentences(workspace, name) for name in spec.train)
    sentences = min(sentences, spec.limit or sentences)
    encoding = sentences / speeds.get(f"encoding {spec.encoder}", _ENCODED_PER_SECOND)
    return Guess(encoding + sentences * _TOKENS * spec.epochs / rate, encoding)


def remember(workspace: Workspace, spec: DecoderSpec, cost: DecoderEstimate) -> None:
    """Store the speeds that a probe measured, for `guess`."""
    speeds = dict(workspace.store.settings.get(_SPEEDS) or {})
    speeds[_key(spec)] = round(cost.pieces_per_second, 1)
    speeds[f"encoding {spec.encoder}"] = round(cost.sentences_per_second, 1)
    workspace.store.settings.set(_SPEEDS, speeds)


def _key(spec: DecoderSpec) -> str:
    return f"{spec.architecture} {spec.width or ''} {spec.layers or ''} {spec.vocabulary}"


def _sentences(workspace: Workspace, name: str) -> int:
    """Approximate number of sentences in a text, from the size of its file."""
    if name == STARTER:
        return 2000
    root, files = workspace.catalog.root, []
    if name in workspace.catalog.names():
        files = [*root.glob(f"{name}.*")] if root and not name.startswith("upload:") else []
    elif not workspace.read_only:  # paths that a visitor names are not looked up
        files = [path for path in [named(name)] if path.is_file()]
    if not files:
        return _USUAL
    packed = 3 if files[0].suffix == ".gz" else 1
    return max(1, files[0].stat().st_size * packed // _BYTES)
