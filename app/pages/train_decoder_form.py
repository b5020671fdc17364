"""The form of the page *Train decoder*: its fields, what it is filled with, the spec it makes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import gradio as gr

from app import address
from app.decoding.texts import STARTER, to_learn
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.decoding.spec import DecoderSpec

OWN = "own"


@dataclass(frozen=True)
class Field:
    """One field of a DecoderSpec on the form.

    Attributes:
        name: as in DecoderSpec.
        label, info: for people.
        kind: how it is asked and read.
        choices: (label, value) of a choice.
        optional: empty is None; `info` says what that means.
        folded: whether it stands in the fold.
    """

    name: str
    label: str
    kind: Literal["whole", "number", "choice", "flag", "text"]
    info: str = ""
    choices: Sequence[tuple[str, str]] = ()
    optional: bool = False
    folded: bool = True


FIELDS = (
    Field("architecture", "Architecture", "choice", "",
          (("Transformer", "prefix"), ("Simple LSTM", "lstm"), ("Paper's LSTM", "lstm-mos"),
           ("A language model", "causal")), folded=False),
    Field("base", "Language model", "text", "hf:ID or dir:FOLDER.",
          optional=True, folded=False),
    Field("words", "Longest sentence", "whole", "Words.", folded=False),
    Field("limit", "First sentences only", "whole", "Empty: all of them.", optional=True,
          folded=False),
    Field("epochs", "Passes", "number", "Over all sentences.", folded=False),
    Field("clauses", "Cut longer sentences into clauses, instead of leaving them out", "flag",
          folded=False),
    Field("width", "Width", "whole", "Empty: the architecture's own.", optional=True),
    Field("layers", "Layers", "whole", "Empty: its own.", optional=True),
    Field("vocabulary", "Vocabulary", "whole", "Pieces, learned from the text."),
    Field("dropout", "Dropout", "number", "Empty: the architecture's own.", optional=True),
    Field("learning_rate", "Learning rate", "number", "The highest of it."),
    Field("warmup", "Warm-up", "whole", "Updates."),
    Field("batch_tokens", "Batch", "whole", "Pieces of an update."),
    Field("noise", "Noise", "number", "On the vectors, for points between sentences."),
    Field("held_out", "Kept apart", "whole", "Sentences that choose the best."),
    Field("seed", "Seed", "whole", "Of all that is drawn."),
    Field("device", "Device", "choice", "",
          (("the first GPU, if any", ""), ("CPU", "cpu"), ("CUDA", "cuda"), ("Apple MPS", "mps")),
          optional=True),
)  # fmt: skip
BY_NAME = {field.name: field for field in FIELDS}
NAMES = ("encoder", "train", *BY_NAME)
"""Every control of the form, in the order in which handlers are given their values."""


def usual() -> dict[str, Any]:
    """Every field as DecoderSpec has it, as the controls show it."""
    from engine.decoding.spec import DecoderSpec

    known = {field.name: field.default for field in fields(DecoderSpec)}
    return {name: shown(name, known[name]) for name in BY_NAME}


def shown(name: str, value: Any) -> Any:
    """A field's value as its control has it: text, except for a flag."""
    if BY_NAME[name].kind == "flag":
        return bool(value)
    if value is None:
        return ""
    return f"{value:g}".replace("e-0", "e-") if isinstance(value, float) else str(value)


def control(field: Field) -> Any:
    """The component of one field."""
    about: dict[str, Any] = {"label": field.label, "elem_id": f"decoder-{field.name}"}
    if field.kind == "flag":
        return gr.Checkbox(**about, container=False, elem_classes="t-flag")
    about["info"] = field.info or None
    if field.kind == "choice":
        return gr.Dropdown(list(field.choices), filterable=False, min_width=220, **about)
    plain = gr.InputHTMLAttributes(spellcheck=False, autocapitalize="none", autocomplete="off")
    if field.kind == "text":
        about["visible"] = False  # until it applies
    return gr.Textbox(max_lines=1, min_width=130, html_attributes=plain, **about)


def read(field: Field, typed: Any) -> Any:
    """The value that was meant.

    Raises:
        UserError: it cannot be read; names the field and what was given.
    """
    if field.kind == "flag":
        return bool(typed)
    text = "" if typed is None else str(typed).strip()
    if not text:
        if field.optional:
            return None
        raise UserError(f"{field.label} is empty.", f"Usual is {usual()[field.name]}.")
    if field.kind in ("choice", "text"):
        return text
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (field.kind == "whole" and value != int(value)):
        expected = "a whole number" if field.kind == "whole" else "a number"
        raise UserError(
            f"{field.label}: {text[:40]!r} is no number that fits.",
            f"Expected {expected}, such as {usual()[field.name] or 4}.",
        )
    return int(value) if field.kind == "whole" else value


def spec(values: Mapping[str, Any]) -> DecoderSpec:
    """The spec that the form describes; its folder is named when it is queued.

    Raises:
        UserError: something is missing, cannot be read, or cannot be trained.
    """
    from engine.decoding.spec import DecoderSpec

    encoder = str(values["encoder"] or "").strip()
    train = tuple(str(name).strip() for name in values["train"] or () if str(name).strip())
    if not encoder:
        raise UserError("There is no encoder to decode.", "Choose one.")
    if not train:
        raise UserError("There is nothing to learn from.", "Choose a text, or give a file's path.")
    given = {field.name: read(field, values[field.name]) for field in FIELDS}
    if given["architecture"] != "causal":
        given["base"] = None
    return DecoderSpec(encoder=encoder, train=train, out="", **given)


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
    return usual() | {key: shown(key, value) for key, value in changes.items() if key in BY_NAME}


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
