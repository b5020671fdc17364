"""The form of the page *Train decoder*: its fields, what it is filled with, the spec it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.pages.train.decoder_texts import STARTER, to_learn
from app.pages.train.form_parts import Field, read, shown
from app.web import address
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.decoding.spec import DecoderSpec

OWN = "own"
FOLD = "fold"
"""The group of fields that stand in the fold."""


FIELDS = (
    Field("architecture", "Architecture", "choice", "how", "How it reads the vector.",
          choices=(("Transformer", "prefix"), ("Simple LSTM", "lstm"),
                   ("Paper's LSTM", "lstm-mos"), ("A language model", "causal"))),
    Field("base", "Language model", "text", "how", "hf:ID or dir:FOLDER.",
          lambda v: v["architecture"] == "causal", optional=True),
    Field("words", "Longest sentence", "whole", "how", "Words."),
    Field("limit", "First sentences only", "whole", "how", "Empty: all of them.", optional=True),
    Field("epochs", "Passes", "number", "how", "Over all sentences."),
    Field("clauses", "Cut longer sentences into clauses, instead of leaving them out", "flag",
          "how"),
    Field("width", "Width", "whole", FOLD, "Empty: the architecture's own.", optional=True),
    Field("layers", "Layers", "whole", FOLD, "Empty: its own.", optional=True),
    Field("vocabulary", "Vocabulary", "whole", FOLD, "Pieces, learned from the text."),
    Field("dropout", "Dropout", "number", FOLD, "Empty: the architecture's own.", optional=True),
    Field("learning_rate", "Learning rate", "number", FOLD, "The highest of it."),
    Field("warmup", "Warm-up", "whole", FOLD, "Updates."),
    Field("batch_tokens", "Batch", "whole", FOLD, "Pieces of an update."),
    Field("noise", "Noise", "number", FOLD, "On the vectors, for points between sentences."),
    Field("held_out", "Kept apart", "whole", FOLD, "Sentences that choose the best."),
    Field("seed", "Seed", "whole", FOLD, "Of all that is drawn."),
    Field("device", "Device", "choice", FOLD,
          choices=(("the first GPU, if any", ""), ("CPU", "cpu"), ("CUDA", "cuda"),
                   ("Apple MPS", "mps")), optional=True),
)  # fmt: skip
BY_NAME = {field.name: field for field in FIELDS}
NAMES = ("encoder", "train", *BY_NAME)
"""Every control of the form, in the order in which handlers are given their values."""


def usual() -> dict[str, Any]:
    """Every field as DecoderSpec has it, as the controls show it."""
    from engine.decoding.spec import DecoderSpec

    known = {field.name: field.default for field in fields(DecoderSpec)}
    return {name: shown(field, known[name]) for name, field in BY_NAME.items()}


def spec(values: Mapping[str, Any]) -> DecoderSpec:
    """The spec that the form describes; its folder is named when it is queued.

    Raises:
        UserError: something is missing, cannot be read, or cannot be trained.
    """
    from engine.decoding.spec import DecoderSpec
    from engine.encoders import parse

    encoder = str(values["encoder"] or "").strip()
    train = tuple(str(name).strip() for name in values["train"] or () if str(name).strip())
    if not encoder:
        raise UserError("There is no encoder to decode.", "Choose one.")
    if not train:
        raise UserError("There is nothing to learn from.", "Choose a text, or give a file's path.")
    known = usual()
    given = {
        field.name: read(field, values[field.name], known[field.name], example=4)
        for field in FIELDS
        if field.applies(values)
    }
    return DecoderSpec(encoder=str(parse(encoder)), train=train, out="", **given)


def load(workspace: Workspace, request: gr.Request) -> tuple[Any, ...]:
    """Fill the form from the address: what it names, over its preset, over what is usual.

    Returns:
        The preset, a word on it, and every control in the order of NAMES.
    """
    from engine.decoding.presets import PRESETS

    offered = [preset.name for preset in PRESETS]
    named = any(address.every(request, name) for name in BY_NAME)
    name = address.choice(request, "preset", [*offered, OWN], OWN if named else offered[0])
    values = of_preset(name)
    for field in FIELDS:
        if address.every(request, field.name):
            given = address.first(request, field.name)
            values[field.name] = given == "true" if field.kind == "flag" else given
    known = encoders(workspace)
    encoder = address.first(request, "encoder") or known[0]
    train = address.every(request, "train") or list(to_learn(workspace.catalog))
    choices = [(preset.label, preset.name) for preset in PRESETS]
    return (
        gr.update(choices=[*choices, ("My own settings", OWN)], value=name),
        about(name),
        gr.update(choices=list(dict.fromkeys([*known, encoder])), value=encoder),
        gr.update(choices=texts(workspace, train), value=train),
        *(values[name] for name in BY_NAME),
    )


def picked(name: str) -> tuple[Any, ...]:
    """A word on the preset that was picked, and every field of it; nothing of my own settings."""
    if name == OWN:
        return tuple(gr.skip() for _ in range(len(BY_NAME) + 1))
    values = of_preset(name)
    return (about(name), *(values[field] for field in BY_NAME))


def of_preset(name: str) -> dict[str, Any]:
    """Every field as a preset has it, as the controls show it."""
    from engine.decoding.presets import preset

    changes = {} if name == OWN else preset(name).changes
    said = {key: shown(BY_NAME[key], value) for key, value in changes.items() if key in BY_NAME}
    return usual() | said


def preset_of(values: Mapping[str, Any]) -> str:
    """The preset that says what the form says; OWN for none."""
    from engine.decoding.presets import PRESETS

    for preset in PRESETS:
        said = of_preset(preset.name)
        if all(values[name] == said[name] for name in BY_NAME):
            return preset.name
    return OWN


def about(name: str) -> str:
    """A preset in a sentence; nothing of my own settings."""
    from engine.decoding.presets import preset

    return "" if name == OWN else f'<p class="t-small t-muted">{escape(preset(name).about)}</p>'


def encoders(workspace: Workspace) -> list[str]:
    """Encoders that are kept, in the order they were added; MiniLM is always there."""
    kept = [row["name"] for row in workspace.store.encoders.list()]
    return list(dict.fromkeys([*kept, "minilm"]))


def texts(workspace: Workspace, chosen: Sequence[str] = ()) -> list[tuple[str, str]]:
    """(label, name) of what can be learned from: the usual first, then all data sets."""
    first = [("Starter set", STARTER)]
    listed = [(info.name, info.name) for info in workspace.catalog.list()]
    listed.sort(key=lambda pair: pair[1] not in to_learn(workspace.catalog))
    known = {name for _, name in (*first, *listed)}
    return [*first, *listed, *((name, name) for name in chosen if name not in known)]
