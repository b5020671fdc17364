"""How long the training of a decoder will take: at once from experience, or by a probe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.paths import named
from engine.training.presets import STARTER

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.decoding.estimate import DecoderEstimate
    from engine.decoding.spec import DecoderSpec

_SPEEDS = "decoder-speeds"
_TOKENS_PER_SECOND = 1500.0
"""Of the usual decoder on two cores, until this machine has shown what it does."""
_ENCODED_PER_SECOND = 150.0
_TOKENS = 17
"""Of a sentence of 14 words, about."""
_BYTES = 90
"""Of a line of text that becomes one sentence, about."""
_USUAL = 150_000
"""Sentences of a data set whose size is not known."""


@dataclass(frozen=True)
class Guess:
    """About how long a training takes.

    Attributes:
        seconds: in all.
        encoding: of them, for encoding the sentences.
    """

    seconds: float
    encoding: float


def guess(workspace: Workspace, spec: DecoderSpec) -> Guess:
    """A first idea, given at once and without loading anything: a factor of two off is usual."""
    speeds = workspace.store.settings.get(_SPEEDS) or {}
    rate = speeds.get(_key(spec), _TOKENS_PER_SECOND / (10 if "mos" in spec.architecture else 1))
    sentences = min(_sentences(workspace, spec), spec.limit or 10**9)
    encoding = sentences / speeds.get(f"encoding {spec.encoder}", _ENCODED_PER_SECOND)
    return Guess(encoding + sentences * _TOKENS * spec.epochs / rate, encoding)


def probed(workspace: Workspace, spec: DecoderSpec) -> DecoderEstimate:
    """What it will take, by a probe of some seconds; the speeds are remembered for `guess`.

    Raises:
        UserError: what cannot be trained.
    """
    from engine.decoding.estimate import estimate

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
    """About how many sentences the text becomes, by the size of its files."""
    return sum(_of_text(workspace, name) for name in spec.train)


def _of_text(workspace: Workspace, name: str) -> int:
    if name == STARTER:
        return 2000
    root, found = workspace.catalog.root, []
    if name in workspace.catalog.names():
        found = [*root.glob(f"{name}.*")] if root and not name.startswith("upload:") else []
    elif not workspace.read_only:  # what a visitor names is not looked for
        path = named(name)
        found = [path] if path.is_file() else []
    if not found:
        return _USUAL
    packed = 3 if found[0].suffix == ".gz" else 1
    return max(1, found[0].stat().st_size * packed // _BYTES)
