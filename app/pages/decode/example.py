"""The initial inputs of the decode pages, and the shipped decoders' answers to them.

A shipped answer is shown only for the encoder, decoder and decoding options it was made with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from theodolite.app import decoders
from theodolite.app.blocks import Hit
from theodolite.app.examples import shipped
from theodolite.app.pages.decode.analogies import PRESETS
from theodolite.app.pages.decode.answer import ANALOGY as CALCULATE
from theodolite.app.pages.decode.answer import (
    DECODE,
    INTERPOLATE,
    AnalogySpec,
    DecodeSpec,
    InterpolateSpec,
)
from theodolite.app.pages.decode.service import DEFAULTS, NEAR, STEPS, DecodeResult, Step
from theodolite.app.workspace import STARTER_ENCODERS
from theodolite.engine.decoding.differing import differing
from theodolite.engine.decoding.text import words

if TYPE_CHECKING:
    from theodolite.app.pages.decode.service import DecodeOptions
    from theodolite.app.workspace import Workspace

SENTENCE = "He drinks coffee in the morning."
ENDS = ("He plays the guitar.", "She cooks dinner for her friends.")
WALKED = "minilm"
COLLECTION = "starter-topics"
ANALOGY = next(preset for preset in PRESETS if preset.title == "Question")


def make_decode(workspace: Workspace) -> None:
    """Decode the sentence with every shipped decoder, and write the answer."""
    spec = DecodeSpec(sentences=(SENTENCE,), encoders=STARTER_ENCODERS)
    _write(workspace, "decode", DECODE.last(workspace, spec, lambda job: False).every)


def make_arithmetic(workspace: Workspace) -> None:
    """Decode the analogy with every shipped decoder, and write the answer."""
    lines = ANALOGY.lines.splitlines()
    spec = AnalogySpec(expression=ANALOGY.expression, named=lines, encoders=STARTER_ENCODERS)
    _write(workspace, "arithmetic", CALCULATE.last(workspace, spec, lambda job: False).every)


def make_interpolate(workspace: Workspace) -> None:
    """Decode the interpolation, with real sentences beneath each step, and write the answer."""
    spec = InterpolateSpec(first=ENDS[0], second=ENDS[1], encoder=WALKED, data=COLLECTION)
    steps = INTERPOLATE.last(workspace, spec, lambda job: False).steps
    answer = _about(workspace, [WALKED]) | {"steps": [_step(step) for step in steps]}
    shipped.write_answer(workspace, "interpolate", answer, [WALKED], [COLLECTION])


def decoded(
    workspace: Workspace, encoders: Sequence[str], sentence: str, options: DecodeOptions
) -> dict[str, DecodeResult]:
    """Encoder -> its shipped result for this sentence and these options; empty if none ships."""
    return _known(workspace, "decode", encoders, options) if sentence == SENTENCE else {}


def calculated(
    workspace: Workspace,
    encoders: Sequence[str],
    expression: str,
    lines: str,
    options: DecodeOptions,
) -> dict[str, DecodeResult]:
    """Encoder -> its shipped result for this expression; empty if none ships."""
    same = (expression, lines) == (ANALOGY.expression, ANALOGY.lines)
    return _known(workspace, "arithmetic", encoders, options) if same else {}


def interpolated(
    workspace: Workspace,
    encoder: str,
    ends: tuple[str, str],
    steps: int,
    path: str,
    collection: str | None,
    options: DecodeOptions,
) -> list[Step]:
    """The shipped steps of exactly this interpolation; empty if none ship."""
    example = shipped.read("interpolate")
    key = (encoder, ends, steps, path, collection)
    if example is None or key != (WALKED, ENDS, STEPS, "linear", COLLECTION):
        return []
    if not _fits(workspace, example, encoder, options):
        return []
    return [
        Step(
            **step
            | {
                "result": _result(encoder, step["result"]),
                "near": tuple(Hit(**hit) for hit in step["near"][:NEAR]),
            }
        )
        for step in example.answer["steps"]
    ]


def _write(workspace: Workspace, page: str, found: Sequence[DecodeResult]) -> None:
    names = [one.encoder for one in found]
    results = {one.encoder: _plain(one) for one in found}
    answer = _about(workspace, names) | {"results": results}
    shipped.write_answer(workspace, page, answer, names)


def _about(workspace: Workspace, encoders: Sequence[str]) -> dict[str, Any]:
    """The decoding options, and the marks of the decoders."""
    return {
        "options": asdict(DEFAULTS),
        "decoders": {encoder: decoders.mark_of(workspace, encoder) for encoder in encoders},
    }


def _fits(
    workspace: Workspace, example: shipped.Example, encoder: str, options: DecodeOptions
) -> bool:
    mark = example.answer["decoders"].get(encoder)
    return (
        mark is not None
        and asdict(options) == example.answer["options"]
        and example.is_of(workspace, encoder)
        and decoders.mark_of(workspace, encoder) == mark
    )


def _known(
    workspace: Workspace, page: str, encoders: Sequence[str], options: DecodeOptions
) -> dict[str, DecodeResult]:
    example = shipped.read(page)
    if example is None:
        return {}
    return {
        encoder: _result(encoder, example.answer["results"][encoder], page == "decode")
        for encoder in encoders
        if _fits(workspace, example, encoder, options)
    }


def _plain(found: DecodeResult) -> dict[str, Any]:
    return {
        "decoder": found.decoder,
        "sentence": found.sentence,
        "cosine": found.cosine,
        "others": [list(one) for one in found.others],
        "cut": found.cut,
        "known": found.known,
    }


def _result(encoder: str, plain: Mapping[str, Any], beside: bool = False) -> DecodeResult:
    """Read what `_plain` wrote; `beside` adds the word differences to the example sentence."""
    sentence = plain["sentence"]
    return DecodeResult(
        encoder,
        **{**plain, "others": tuple((text, cosine) for text, cosine in plain["others"])},
        words=differing(SENTENCE, sentence) if beside else (),
        given=words(SENTENCE) if beside else 0,
        seconds=None,
    )


def _step(step: Step) -> dict[str, Any]:
    plain = {name: value for name, value in vars(step).items() if name not in ("result", "near")}
    return plain | {"result": _plain(step.result), "near": [asdict(hit) for hit in step.near]}
