"""The available decoders: those trained here, and those that ship with the app."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from theodolite.app.formats import last_part
from theodolite.app.pages.encoders.service import ensure_listed, names
from theodolite.app.recent import Recent
from theodolite.engine import paths
from theodolite.engine.decoding.facts import facts_of, shipped_decoders
from theodolite.engine.decoding.presets import default_texts
from theodolite.engine.errors import UserError
from theodolite.engine.protocols.vec2sent import VEC2SENT
from theodolite.engine.training.presets import STARTER

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.decode import Decoder
    from theodolite.engine.encoders.base import Encoder

FACTS = "decoder.json"
CARD = "README.md"
KEPT = 4
"""Decoders that stay in memory."""
ARCHITECTURES = {
    "prefix": "a Transformer",
    "lstm": "an LSTM of one layer",
    "lstm-mos": "an LSTM with five softmaxes",
    "causal": "a language model",
}
"""Descriptions of the architectures."""


@dataclass(frozen=True)
class DecoderInfo:
    """An available decoder.

    Attributes:
        name: name in the list; the encoder's name for a shipped one.
        encoder: canonical spec of the encoder whose vectors it reads.
        fingerprint: fingerprint of that encoder when the decoder was trained.
        folder: its folder.
        dim: dimension of the vectors it reads.
        architecture: `prefix`, `lstm`, …
        words: maximum number of words of its training sentences.
        trained_on: names of its training data.
        sentences: number of its training sentences.
        shipped: whether it ships with the app.
        added: seconds since 1970; 0 for a shipped one.
    """

    name: str
    encoder: str
    fingerprint: str
    folder: Path
    dim: int
    architecture: str
    words: int
    trained_on: str
    sentences: int
    shipped: bool
    added: float


def list_all(workspace: Workspace) -> list[DecoderInfo]:
    """Every decoder whose folder exists: trained ones, newest first, then the shipped ones."""
    entries = workspace.store.decoders.list()
    trained = [_info(**row) for row in entries if (row["folder"] / FACTS).is_file()]
    return [*trained, *_list_shipped()]


def texts(workspace: Workspace, chosen: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(label, name) of training texts for decoders: the default ones first, then all data sets."""
    names = [*default_texts(workspace.catalog), *workspace.catalog.names(), *chosen]
    others = [name for name in dict.fromkeys(names) if name != STARTER]
    return [("Starter set", STARTER), *((name, name) for name in others)]


def encoders(workspace: Workspace) -> list[str]:
    """Encoders that have a decoder, listed ones first; loads no encoder."""
    decoded = dict.fromkeys(row.encoder for row in list_all(workspace))
    return sorted(decoded, key=[*names(workspace), *decoded].index)


def decoder_of(workspace: Workspace, encoder: str) -> DecoderInfo | None:
    """The decoder of an encoder: the newest for its fingerprint, else for its name, else None.

    Args:
        workspace: loads the encoder.
        encoder: a spec; the row's `encoder` is its canonical form.
    """
    from theodolite.engine.encoders import parse

    name = str(parse(encoder))
    loaded = workspace.load(name)
    rows = [row for row in list_all(workspace) if row.dim == loaded.dim]
    fitting = [row for row in rows if row.fingerprint == loaded.fingerprint]
    fitting += [row for row in rows if row.encoder == name]
    return replace(fitting[0], encoder=name) if fitting else None


def token_f1(workspace: Workspace, encoder: str) -> float | None:
    """Of the newest diagnosis of the encoder's decoder; None if there is none."""
    rows = workspace.store.results.table(protocols=[VEC2SENT.name])
    scores = [row["score"] for row in rows if row["encoder"] == encoder and row["error"] is None]
    return scores[-1] if scores else None


def mark_of(workspace: Workspace, encoder: str) -> str | None:
    """A hash which identifies an encoder's decoder, or None; the decoder's weights are not read."""
    from theodolite.engine.encoders.fingerprint import file_sha256

    row = decoder_of(workspace, encoder)
    return None if row is None else file_sha256(row.folder / FACTS)


def load(workspace: Workspace, row: DecoderInfo) -> tuple[Decoder, Encoder]:
    """A decoder and its encoder, ready to use; the last few stay in memory."""
    from theodolite.engine.decode import open_decoder

    encoder = workspace.load(row.encoder)
    try:
        key = (str(row.folder), (row.folder / FACTS).stat().st_mtime_ns)
    except OSError as error:
        raise UserError(
            f"The decoder {row.name} no longer exists.",
            f"It was in {row.folder.name}; train it again.",
            code="no-file",
        ) from error
    return _opened.get(key, lambda: open_decoder(row.folder)), encoder


def register(workspace: Workspace, folder: Path) -> DecoderInfo:
    """Add a decoder's folder to the list, and its encoder with it."""
    facts = facts_of(folder)
    info = {name: facts.get(name) for name in _LISTED} | {"train": _training_texts(facts)}
    fingerprint = str(facts.get("fingerprint", ""))
    entry = workspace.store.decoders.add(folder, facts["encoder"], fingerprint, info)
    ensure_listed(workspace, [facts["encoder"]])
    return _info(**entry)


class Removed(NamedTuple):
    """A decoder removed from the list."""

    name: str
    folder: Path
    deleted: bool

    @property
    def notice(self) -> str:
        """What was done, in a sentence or two."""
        after = "Its files are deleted." if self.deleted else "Its folder is kept."
        return f"{self.name} is no longer listed. {after} Diagnoses of it are kept."


def remove(workspace: Workspace, name: str) -> Removed:
    """Remove a decoder from the list, with its files if they are in the store's own folder."""
    workspace.refuse_visitors()
    row = _find(workspace, name)
    if row.shipped:
        raise UserError(
            f"The decoder of {name} ships with the app and cannot be removed.",
            "One that you train for the same encoder is used instead of it.",
            code="denied",
        )
    deleted = inside(workspace, row.folder)
    workspace.store.decoders.remove(name)
    _opened.forget(lambda key: key[0] == str(row.folder))
    try:
        if deleted:
            shutil.rmtree(row.folder)
    except OSError as error:
        raise UserError(
            f"{name} is no longer listed, but its files could not be deleted: "
            f"{error.strerror or error}.",
            f"Remove the folder {row.folder.name} among the decoders of the store.",
            code="no-file",
        ) from error
    return Removed(name, row.folder, deleted)


def card_of(workspace: Workspace, name: str) -> str:
    """The card of a decoder, as Markdown: its training and its quality."""
    row = _find(workspace, name)
    try:
        return (row.folder / CARD).read_text("utf-8", errors="replace")
    except OSError as error:
        raise UserError(
            f"The decoder {name} has no card.",
            f"There is no {CARD} in {row.folder.name}.",
            code="no-file",
        ) from error


def folder_of(workspace: Workspace, name: str) -> Path:
    """The folder of a decoder, given by its name in the list or by its path."""
    rows = list_all(workspace)
    own = paths.expand(name).absolute()
    return next((row.folder for row in rows if row.name == name), own)


def inside(workspace: Workspace, folder: Path) -> bool:
    """Whether a folder really lies in the store's decoder folder, symbolic links resolved."""
    return folder.resolve().parent == workspace.store.decoders.folder.resolve()


def _find(workspace: Workspace, name: str) -> DecoderInfo:
    """The decoder of a name in the list."""
    for row in list_all(workspace):
        if row.name == name:
            return row
    message, hint = f"There is no decoder {name!r}.", "`theodolite decoders list` shows them."
    raise UserError(message, hint, code="unknown")


_LISTED = ("dim", "architecture", "words", "sentences", "loss", "step", "seconds")
_opened: Recent[tuple[str, int], Decoder] = Recent(KEPT)


def _info(
    *,
    name: str,
    folder: Path,
    encoder: str,
    fingerprint: str,
    info: Mapping[str, Any],
    added: float,
    shipped: bool = False,
) -> DecoderInfo:
    return DecoderInfo(
        name=name,
        encoder=encoder,
        fingerprint=fingerprint,
        folder=folder,
        dim=int(info["dim"]),
        architecture=str(info["architecture"]),
        words=int(info.get("words") or 0),
        trained_on=str(info.get("train") or ""),
        sentences=int(info.get("sentences") or 0),
        shipped=shipped,
        added=added,
    )


def _list_shipped() -> Iterator[DecoderInfo]:
    """The shipped decoders."""
    for name, folder in shipped_decoders().items():
        facts = facts_of(folder)
        yield _info(
            name=name,
            folder=folder,
            encoder=name,
            fingerprint=str(facts.get("fingerprint", "")),
            info=facts | {"train": "the texts that its card names"},
            added=0.0,
            shipped=True,
        )


def _training_texts(facts: Mapping[str, Any]) -> str:
    """The names of a decoder's training files and data sets, without their folders."""
    train = (facts.get("spec") or {}).get("train", ())
    return ", ".join(last_part(str(name)) for name in train)
