"""The initial questions of the decode pages, and the shipped decoders' answers to them.

A shipped answer is shown only for the encoder, decoder and decoding options it was made with.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

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
from theodolite.app.pages.decode.service import DecodeResult, Step
from theodolite.app.workspace import STARTER_ENCODERS, Workspace
from theodolite.engine.decoding.differing import differing
from theodolite.engine.decoding.text import words

SENTENCE = "He drinks coffee in the morning."
ENDS = ("He plays the guitar.", "She cooks dinner for her friends.")
PRESET = next(preset for preset in PRESETS if preset.title == "Question")
SENTENCES = DecodeSpec(sentences=(SENTENCE,), encoders=STARTER_ENCODERS)
EXPRESSION = AnalogySpec(
    expression=PRESET.expression, named=PRESET.lines.splitlines(), encoders=STARTER_ENCODERS
)
WALK = InterpolateSpec(first=ENDS[0], second=ENDS[1], data="starter-topics")
_FIELDS = ("decoder", "sentence", "cosine", "others", "cut", "known")
"""Of a result, what ships."""


def make(workspace: Workspace) -> None:
    """Answer the initial questions, and write the answers."""
    decoded = DECODE.last(workspace, SENTENCES, lambda job: False)
    calculated = ANALOGY.last(workspace, EXPRESSION, lambda job: False)
    for answer in (decoded, calculated):
        for one in answer.every:
            _keep(workspace, _alone(answer.spec, one.encoder), _plain(one), one.encoder)
    rows = [
        vars(step) | {"result": _plain(step.result), "near": [asdict(hit) for hit in step.near]}
        for step in INTERPOLATE.last(workspace, WALK, lambda job: False).steps
    ]
    _keep(workspace, WALK, rows, WALK.encoder, data=[WALK.data])


def results(workspace: Workspace, spec: DecodeSpec | AnalogySpec) -> dict[str, DecodeResult]:
    """Encoder -> its shipped result for exactly this question; empty if none ships."""
    sentence = spec.sentences[0] if isinstance(spec, DecodeSpec) else ""
    rows = {
        name: shipped.read(workspace, type(spec).__name__, vars(_alone(spec, name)))
        for name in spec.encoders
    }
    return {name: _result(name, row, sentence) for name, row in rows.items() if row is not None}


def steps(workspace: Workspace, spec: InterpolateSpec) -> list[Step]:
    """The shipped steps of exactly this interpolation; empty if none ship."""
    return [
        Step(
            **row
            | {
                "result": _result(spec.encoder, row["result"]),
                "near": tuple(Hit(**hit) for hit in row["near"]),
            }
        )
        for row in shipped.read(workspace, type(spec).__name__, vars(spec)) or ()
    ]


def _alone(spec: DecodeSpec | AnalogySpec, encoder: str) -> DecodeSpec | AnalogySpec:
    return replace(spec, encoders=(encoder,))


def _keep(
    workspace: Workspace,
    spec: DecodeSpec | AnalogySpec | InterpolateSpec,
    answer: Any,
    encoder: str,
    **more: Any,
) -> None:
    made_with = {"encoders": [encoder], "decoders": [encoder], **more}
    shipped.keep(workspace, type(spec).__name__, answer, vars(spec), **made_with)


def _plain(result: DecodeResult) -> dict[str, Any]:
    return {name: getattr(result, name) for name in _FIELDS}


def _result(encoder: str, plain: Mapping[str, Any], sentence: str = "") -> DecodeResult:
    """Read what `_plain` wrote, with the word differences to a sentence."""
    return DecodeResult(
        encoder,
        **{**plain, "others": tuple(map(tuple, plain["others"]))},
        words=differing(sentence, plain["sentence"]) if sentence else (),
        given=words(sentence) if sentence else 0,
        seconds=None,
    )
