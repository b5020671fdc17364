"""The initial questions of the decode pages, and the shipped decoders' answers to them.

A shipped answer is shown only for exactly its question, the encoders and the decoders it was made
with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from theodolite.app import decoders
from theodolite.app.blocks import Hit
from theodolite.app.examples import shipped
from theodolite.app.pages.decode.analogies import PRESETS
from theodolite.app.pages.decode.answer import (
    ANALOGY,
    DECODE,
    INTERPOLATE,
    AnalogySpec,
    DecodeSpec,
    InterpolateSpec,
)
from theodolite.app.pages.decode.service import NEAR, DecodeResult, Step
from theodolite.app.workspace import STARTER_ENCODERS
from theodolite.engine.decoding.differing import differing
from theodolite.engine.decoding.text import words

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

SENTENCE = "He drinks coffee in the morning."
ENDS = ("He plays the guitar.", "She cooks dinner for her friends.")
PRESET = next(preset for preset in PRESETS if preset.title == "Question")
SENTENCES = DecodeSpec(sentences=(SENTENCE,), encoders=STARTER_ENCODERS)
EXPRESSION = AnalogySpec(
    expression=PRESET.expression, named=PRESET.lines.splitlines(), encoders=STARTER_ENCODERS
)
WALK = InterpolateSpec(first=ENDS[0], second=ENDS[1], data="starter-topics")


def make_decode(workspace: Workspace) -> None:
    """Decode the sentence with every shipped decoder, and write the answer."""
    _write(workspace, "decode", DECODE, SENTENCES)


def make_arithmetic(workspace: Workspace) -> None:
    """Decode the analogy with every shipped decoder, and write the answer."""
    _write(workspace, "arithmetic", ANALOGY, EXPRESSION)


def _write(workspace: Workspace, page: str, question: Any, spec: Any) -> None:
    every = question.last(workspace, spec, lambda job: False).every
    answer = {
        "decoders": {one.encoder: decoders.mark_of(workspace, one.encoder) for one in every},
        "results": {one.encoder: _plain(one) for one in every},
    }
    shipped.write_answer(workspace, page, answer, spec.encoders)


def make_interpolate(workspace: Workspace) -> None:
    """Decode the interpolation, with real sentences beneath each step, and write the answer."""
    steps = INTERPOLATE.last(workspace, WALK, lambda job: False).steps
    plain = [
        vars(step) | {"result": _plain(step.result), "near": [asdict(hit) for hit in step.near]}
        for step in steps
    ]
    answer = {
        "decoders": {WALK.encoder: decoders.mark_of(workspace, WALK.encoder)},
        "steps": plain,
    }
    shipped.write_answer(workspace, "interpolate", answer, [WALK.encoder], [str(WALK.data)])


def results(workspace: Workspace, spec: DecodeSpec | AnalogySpec) -> dict[str, DecodeResult]:
    """Encoder -> its shipped result for this sentence or expression; empty if none ships."""
    usual, page = (
        (SENTENCES, "decode") if isinstance(spec, DecodeSpec) else (EXPRESSION, "arithmetic")
    )
    example = shipped.read(page)
    if example is None or replace(spec, encoders=usual.encoders) != usual:
        return {}
    plain = example.answer["results"]
    known = {
        encoder: _result(encoder, plain[encoder])
        for encoder in spec.encoders
        if _fits(workspace, example, encoder)
    }
    if usual is EXPRESSION:
        return known
    return {
        encoder: replace(one, words=differing(SENTENCE, one.sentence), given=words(SENTENCE))
        for encoder, one in known.items()
    }


def steps(workspace: Workspace, spec: InterpolateSpec) -> list[Step]:
    """The shipped steps of exactly this interpolation; empty if none ship."""
    example = shipped.read("interpolate")
    if example is None or spec != WALK or not _fits(workspace, example, spec.encoder):
        return []
    return [
        Step(
            **step
            | {
                "result": _result(spec.encoder, step["result"]),
                "near": tuple(Hit(**hit) for hit in step["near"][:NEAR]),
            }
        )
        for step in example.answer["steps"]
    ]


def _fits(workspace: Workspace, example: shipped.Example, encoder: str) -> bool:
    mark = example.answer["decoders"].get(encoder)
    return (
        mark is not None
        and example.is_of(workspace, encoder)
        and decoders.mark_of(workspace, encoder) == mark
    )


def _plain(found: DecodeResult) -> dict[str, Any]:
    kept = ("decoder", "sentence", "cosine", "others", "cut", "known")
    return {name: getattr(found, name) for name in kept}


def _result(encoder: str, plain: Mapping[str, Any]) -> DecodeResult:
    others = tuple((text, cosine) for text, cosine in plain["others"])
    return DecodeResult(encoder, **{**plain, "others": others}, seconds=None)
