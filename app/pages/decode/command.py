"""`theodolite decode | interpolate | analogy`: from points of a space back to sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.app.pages.decode.service import STEPS, DecodeOptions, offer
from theodolite.app.terminal import JsonOption, emit, progress_bar, say, takes, verb
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.pages.decode.service import DecodeResult, Step

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


def _options(
    method: Annotated[
        str,
        typer.Option(
            help="beam, greedy, sample, or vec2sent-ref: the beam search of the released code."
        ),
    ] = DecodeOptions.method,
    beams: Annotated[
        int,
        typer.Option(
            help="Number of candidates of beam search or sampling; the best by cosine is kept."
        ),
    ] = DecodeOptions.beams,
    temperature: Annotated[
        float, typer.Option(help="Of the sampling.")
    ] = DecodeOptions.temperature,
    top_p: Annotated[
        float, typer.Option(help="Sampling: probability mass to draw from (top-p).")
    ] = DecodeOptions.top_p,
    seed: Annotated[int, typer.Option(help="Of the sampling.")] = DecodeOptions.seed,
    corrections: Annotated[
        int,
        typer.Option(
            help="Rounds of correction: encode the result, shift the vector by the error, keep "
            "the best. None with vec2sent-ref."
        ),
    ] = DecodeOptions.rounds,
    known_words: Annotated[
        bool,
        typer.Option(
            "--known-words/--any-words",
            help="Restrict to words of the decoder's training text, or allow any.",
        ),
    ] = DecodeOptions.known_words,
) -> DecodeOptions:
    """The decoding options; each parameter is an option of every command that decodes."""
    how = (temperature, top_p, seed, corrections, known_words)
    return DecodeOptions(method, beams, *how)  # type: ignore[arg-type]


takes_options = takes("options", _options)


@verb
@takes_options
def decode(
    workspace: Workspace,
    sentence: Annotated[
        str, typer.Argument(metavar="SENTENCE", help="The sentence to encode and decode.")
    ],
    encoders: EncodersOption = None,
    options: DecodeOptions = DecodeOptions(),  # noqa: B008 - given by `takes_options`
    as_json: JsonOption = False,
) -> None:
    """Encode a sentence and decode its vector: what comes back is what the vector kept.

    theodolite decode "The old dog slept by the fire." --encoder minilm

    theodolite decode "He visits Italy." -e minilm -e wordllama --beams 5 --json

    The encoder needs a decoder; `theodolite train-decoder` makes one. With --json every encoder is
    one object, with the other candidates and what became of each word. Exit 1 when one of several
    encoders could not answer.
    """
    from theodolite.app.pages.decode import service

    names = encoders or [USUAL]
    with progress_bar("decoding"):
        found = [
            one for name in names for one in service.decode(workspace, [name], sentence, options)
        ]
    _print_results(workspace, found, as_json)


@verb
@takes_options
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
    options: DecodeOptions = DecodeOptions(),  # noqa: B008 - given by `takes_options`
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
            offer(workspace, encoder, error)
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
@takes_options
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
    options: DecodeOptions = DecodeOptions(),  # noqa: B008 - given by `takes_options`
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
        found = service.calculate(workspace, names, expression, sentences, options)
    _print_results(workspace, found, as_json)


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


def _print_results(workspace: Workspace, found: Sequence[DecodeResult], as_json: bool) -> None:
    """Print each encoder's result; raise if all failed, exit 1 if some did."""
    failed = [result for result in found if result.problem]
    if failed and len(failed) == len(found):
        offer(workspace, failed[0].encoder, failed[0].problem)
    rows = [_row(result) for result in found]
    if as_json:
        emit(rows, (), True)
    else:
        columns = ("encoder", "cosine", "sentence", *(("error",) if failed else ()))
        emit([_rounded(row) for row in rows], columns, False)
        for result in found:
            if result.longer:
                say(
                    f"{result.encoder}: the sentence has {result.given} words, but the decoder was "
                    f"trained on at most {result.known}: the rest was cut."
                )
            elif result.cut:
                say(f"{result.encoder}: it was cut at the maximum length.")
    if failed:
        raise typer.Exit(1)


def _row(result: DecodeResult) -> dict[str, Any]:
    if result.problem:
        return {
            "encoder": result.encoder,
            "error": result.problem.message,
            "hint": result.problem.hint,
        }
    return {
        "encoder": result.encoder,
        "decoder": result.decoder,
        "sentence": result.sentence,
        "cosine": result.cosine,
        "cut": result.cut or result.longer,
        "words": [{"text": word.text, "fate": word.fate} for word in result.words],
        "others": [vars(other) for other in result.others],
        "seconds": result.seconds,
    }


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Format floats with three decimals: `emit` gives tables fewer, too few for cosines."""
    return {k: f"{v:.3f}" if isinstance(v, float) else v for k, v in row.items()}
