"""`theodolite store`: verify the store, and reclaim its space."""

from typing import Annotated

import typer

from theodolite.app import formats
from theodolite.app.terminal import JsonOption, done, emit, emit_json, say, verb, verbs
from theodolite.app.workspace import Workspace
from theodolite.store.check import check, clean

store_verbs = verbs("Verify the store and reclaim its space.")


@store_verbs.command("check")
@verb
def check_store(
    workspace: Workspace,
    repair: Annotated[
        bool, typer.Option("--repair", help="Queue again the results that cannot be read.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Verify the database, every file of results and every vector; exit 1 on a finding.

    theodolite store check --json

    theodolite store check --repair
    """
    findings = check(workspace.store)
    rows = [{"finding": str(finding)} for finding in findings]
    if rows or as_json:
        emit(rows, ("finding",), as_json)
    if not as_json:
        say(f"{formats.plural(len(rows), 'finding')}." if rows else "No problems found.")
    if repair:
        _repair(workspace, as_json)
    if rows:
        raise typer.Exit(1)


def _repair(workspace: Workspace, as_json: bool) -> None:
    from theodolite.app.pages.evaluate.job import repair

    runs, left = repair(workspace)
    if as_json:
        emit_json({"queued": runs, "left": left})
        return
    for run in runs:
        title = workspace.store.runs.get(run)["title"]
        say(f"Queued again as {run}: {title}. Follow it: theodolite jobs wait {run}")
    for sentence in left:
        say(sentence)


@store_verbs.command("clean")
@verb
def clean_store(
    workspace: Workspace,
    runs_older_than: Annotated[
        float | None,
        typer.Option(metavar="DAYS", min=0, help="Also remove runs that ended before this."),
    ] = None,
    results_older_than: Annotated[
        float | None,
        typer.Option(metavar="DAYS", min=0, help="Also remove results older than this."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Remove what nothing refers to any more, and say how much space that freed.

    theodolite store clean --store /shared/theodolite

    theodolite store clean --runs-older-than 90

    With a run go its events and its log. Results are kept however old, unless asked for.
    """
    from theodolite.store import forget

    store = workspace.store
    runs = results = 0
    if runs_older_than is not None:
        runs = forget.runs_older(store, runs_older_than)
    if results_older_than is not None:
        results = forget.results_older(store, results_older_than)
    freed = clean(store)
    text = f"{formats.size(freed)} reclaimed."
    if runs or results:
        gone = f"{formats.plural(runs, 'run')} and {formats.plural(results, 'result')}"
        text = f"{gone} forgotten, {text}"
    done({"bytes": freed, "runs": runs, "results": results}, text, as_json)
