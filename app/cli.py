"""`theodolite …`: every action of the pages as a verb. Each verb teaches itself with --help."""

from __future__ import annotations

import sys
from importlib.metadata import version

import typer

from app import serve
from app import store_command as store
from app.pages.compare import command as compare
from app.pages.curate import command as curate
from app.pages.data import command as data
from app.pages.decode import command as decode
from app.pages.diagnose import command as diagnose
from app.pages.encoders import command as encoders
from app.pages.evaluate import command as evaluate
from app.pages.fair import command as fair
from app.pages.geometry import command as geometry
from app.pages.jobs import command as jobs
from app.pages.map import command as project
from app.pages.overview import command as results
from app.pages.search import command as search
from app.pages.spaces import command as spaces
from app.pages.train import command as train
from app.pages.train import decoder_command as decoders
from app.pages.trainings import command as runs

app = typer.Typer(
    name="theodolite",
    help=(
        "A workbench for sentence encoders: load or name them, measure them, compare them fairly, "
        "search with them, train your own.\n\nWithout a verb, the app opens in the browser."
    ),
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(serve.serve)
app.command()(encoders.encode)
app.command()(evaluate.evaluate)
app.command()(compare.compare)
app.command()(fair.fair)
app.command()(search.search)
app.command()(geometry.geometry)
app.command()(curate.curate)
app.command()(project.project)
app.command()(spaces.spaces)
app.command()(decode.decode)
app.command()(decode.interpolate)
app.command()(decode.analogy)
app.command()(diagnose.diagnose)
app.command("train-decoder")(decoders.train_decoder)
app.command()(train.train)
app.command()(train.sweep)
app.command()(runs.runs)
app.add_typer(encoders.encoder_verbs, name="encoders")
app.add_typer(decoders.decoder_verbs, name="decoders")
app.add_typer(data.data_verbs, name="data")
jobs.job_verbs.command("add")(evaluate.add_job)
app.add_typer(jobs.job_verbs, name="jobs")
app.add_typer(results.result_verbs, name="results")
app.add_typer(store.store_verbs, name="store")
app.command()(serve.worker)


@app.callback(invoke_without_command=True)
def root(
    show_version: bool = typer.Option(False, "--version", help="Print the version."),
) -> None:
    """Say the version; the rest is in the verbs."""
    if show_version:
        sys.stdout.write(f"theodolite {version('theodolite')}\n")
        raise typer.Exit


def main() -> None:
    """Run the command line; `theodolite` and `theodolite --port 8000` mean `serve`."""
    arguments = sys.argv[1:]
    asks_help = any(word in ("-h", "--help", "--version") for word in arguments[:1])
    if not arguments or (arguments[0].startswith("-") and not asks_help):
        arguments = ["serve", *arguments]
    app(args=arguments)


if __name__ == "__main__":
    main()
