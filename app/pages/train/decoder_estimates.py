"""Training time of a decoder: estimated at once from earlier speeds, or by a probe."""

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
    sentences = min(_sentences(workspace, spec), spec.limit or 10**9)
    encoding = sentences / speeds.get(f"encoding {spec.encoder}", _ENCODED_PER_SECOND)
    return Guess(encoding + sentences * _TOKENS * spec.epochs / rate, encoding)


def probed(workspace: Workspace, spec: DecoderSpec) -> DecoderEstimate:
    """Estimate the cost by a probe of some seconds; store the speeds for `guess`."""
    from theodolite.engine.decoding.estimate import estimate

    found = estimate(spec, workspace.load(spec.encoder), workspace.catalog)
    _remember(workspace, _key(spec), found.pieces_per_second)
    _remember(workspace, f"encoding {spec.encoder}", found.sentences_per_second)
    return found


def _remember(workspace: Workspace, name: str, speed: float) -> None:
    speeds = workspace.store.settings.get(_SPEEDS) or {}
    workspace.store.settings.set(_SPEEDS, speeds | {name: round(speed, 1)})


def _key(spec: DecoderSpec) -> str:
    return f"{spec.architecture} {spec.width or ''} {spec.layers or ''} {spec.vocabulary}"


def _sentences(workspace: Workspace, spec: DecoderSpec) -> int:
    """Approximate number of sentences in the text, from the size of its files."""
    return sum(_of_text(workspace, name) for name in spec.train)


def _of_text(workspace: Workspace, name: str) -> int:
    if name == STARTER:
        return 2000
    root, found = workspace.catalog.root, []
    if name in workspace.catalog.names():
        found = [*root.glob(f"{name}.*")] if root and not name.startswith("upload:") else []
    elif not workspace.read_only:  # paths that a visitor names are not looked up
        path = named(name)
        found = [path] if path.is_file() else []
    if not found:
        return _USUAL
    packed = 3 if found[0].suffix == ".gz" else 1
    return max(1, found[0].stat().st_size * packed // _BYTES)
