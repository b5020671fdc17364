"""`theodolite interpolate | analogy`: from points of a space back to sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.app.pages.decode.answer import DecodeAnswer, offering
from theodolite.app.pages.decode.service import STEPS, DecodeOptions
from theodolite.app.terminal import JsonOption, emit, progress_bar, say, takes_values, verb
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.pages.decode.service import Step

EncoderOption = Annotated[
    str, typer.Option("--encoder", "-e", metavar="ENCODER", help="A spec string.")
]
EncodersOption = Annotated[
    list[str] | None,
    typer.Option(
        "--encoder",
        "-e",
        metavar="ENCODER",
        help="A spec string; once for each of several. Default: minilm.",
    ),
]
USUAL = "minilm"


@verb
@takes_values("options", DecodeOptions)
def interpolate(
    workspace: Workspace,
    first: Annotated[str, typer.Argument(metavar="A", help="The first sentence.")],
    second: Annotated[str, typer.Argument(metavar="B", help="The last sentence.")],
    encoder: EncoderOption = USUAL,
    steps: Annotated[int, typer.Option(help="Number of points, including both ends.")] = STEPS,
    spherical: Annotated[
        bool, typer.Option("--spherical", help="Follow the great circle instead of the line.")
    ] = False,
    collection: Annotated[
        str | None,
        typer.Option(
            "--in", metavar="DATASET", help="Also show the nearest sentences of this data set."
        ),
    ] = None,
    near: Annotated[int, typer.Option(help="How many of them.")] = 3,
    options: DecodeOptions = DecodeOptions(),  # noqa: B008 - given by `takes_values`
    as_json: JsonOption = False,
) -> None:
    """Decode the points between two sentences.

    theodolite interpolate "The cat sleeps." "The train is late." --encoder minilm --steps 7

    theodolite interpolate "A dog runs." "A dog sleeps." --spherical --in starter-topics --json

    Each step has the cosine of what was decoded to both ends. With --json a step is one object,
    with the nearest real sentences where --in names a collection.
    """
    from theodolite.app.pages.decode import service

    with progress_bar("decoding"):
        try:
            found = service.interpolate(
                workspace,
                encoder,
                first,
                second,
                steps,
                options,
                spherical=spherical,
                collection=collection,
                near=near,
            )
        except service.NoDecoder as error:
            raise service.with_offer(workspace, encoder, error) from error
    rows = [_step(step) for step in found]
    columns = ("share", "to_first", "to_second", "sentence")
    if as_json:
        emit(rows, columns, True)
        return
    emit([_rounded(row) for row in rows], columns, False)
    for step in found if collection else ():
        say(f"Near {step.share:.2f}: " + " | ".join(hit.sentence for hit in step.near))


def _step(step: Step) -> dict[str, Any]:
    return {
        "share": step.share,
        "sentence": step.result.sentence,
        "to_first": step.to_first,
        "to_second": step.to_second,
        "cosine": step.result.cosine,
        "point_first": step.point_first,
        "point_second": step.point_second,
        "cut": step.result.cut,
        "near": [{"sentence": hit.sentence, "cosine": hit.cosine} for hit in step.near],
    }


@verb
@takes_values("options", DecodeOptions)
def analogy(
    workspace: Workspace,
    expression: Annotated[
        str,
        typer.Argument(metavar="EXPRESSION", help='+ - * / ( ), numbers and names: "a - b + c"'),
    ],
    named: Annotated[
        list[str] | None,
        typer.Option("--let", metavar="NAME=SENTENCE", help="Repeat for each name."),
    ] = None,
    encoders: EncodersOption = None,
    options: DecodeOptions = DecodeOptions(),  # noqa: B008 - given by `takes_values`
    as_json: JsonOption = False,
) -> None:
    """Calculate with sentences and decode where that leads; a : b :: z : c is z = a - b + c.

    theodolite analogy "a - b + c" --let a="he visits italy" --let b="he eats pizza" --let
    c="she drinks wine"

    theodolite analogy "(a + b) / 2" --let a="A cat sleeps." --let b="A dog runs." -e wordllama

    With --json every encoder is one object. Exit 1 when one of several could not answer.
    """
    from theodolite.app.pages.decode import service

    names, sentences = encoders or [USUAL], _named(named)
    with progress_bar("decoding"):
        results = service.calculate(workspace, names, expression, sentences, options)
    every = [offering(workspace, result) for result in results]
    answer = DecodeAnswer([(expression, every)]).complete()
    emit(answer.rows(), answer.table_columns(), as_json, answer.decimals)
    for text in answer.notes():
        say(text)
    if answer.problems():
        raise typer.Exit(1)


def _named(given: Sequence[str] | None) -> dict[str, str]:
    """Name -> sentence of every --let."""
    found: dict[str, str] = {}
    for text in given or ():
        name, equals, sentence = text.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise UserError(
                f"--let {text[:60]!r} does not name a sentence.",
                'Write --let a="a sentence".',
                code="damaged",
            )
        if name in found:
            raise UserError(
                f"{name} is given twice.", "Use another name for one of them.", code="conflict"
            )
        found[name] = sentence
    return found


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Format floats with three decimals: `emit` gives tables fewer, too few for cosines."""
    return {k: f"{v:.3f}" if isinstance(v, float) else v for k, v in row.items()}
