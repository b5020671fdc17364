"""`theodolite jobs`: background runs, from a terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from app.pages.jobs import service
from app.terminal import (
    DataOption,
    JsonOption,
    StoreOption,
    done,
    emit,
    open_workspace,
    plain_errors,
    progress_bar,
    verbs,
)
from store import forget

job_verbs = verbs("Queue, follow, cancel and retry background runs.")


RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run's id; see `jobs list`.")]


@job_verbs.command("list")
@plain_errors
def list_jobs(
    store: StoreOption = None, data: DataOption = None, as_json: JsonOption = False
) -> None:
    """Show the runs, newest first, with the bytes that their events and logs take.

    theodolite jobs list --json
    """
    workspace = open_workspace(store, data)
    sizes = forget.sizes(workspace.store)
    rows = [{**run, "bytes": sizes.get(run["id"], 0)} for run in workspace.store.runs.list()]
    emit(
        rows,
        ("id", "state", "title", "done", "failed", "total", "eta_seconds", "bytes", "error"),
        as_json,
    )


@job_verbs.command("log")
@plain_errors
def show_log(
    run: RunArgument,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what a run has logged.

    theodolite jobs log 36e4305ecb44
    """
    lines = open_workspace(store, data).store.logs.lines(run)
    emit([{"line": line} for line in lines], ("line",), as_json)


@job_verbs.command("cancel")
@plain_errors
def cancel_job(
    run: RunArgument,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop a run within two seconds. What it finished stays, and so does a training's checkpoint.

    theodolite jobs cancel 36e4305ecb44
    """
    done({"cancelled": run}, service.cancel(open_workspace(store, data), run), as_json)


@job_verbs.command("stop")
@plain_errors
def stop_job(
    run: RunArgument,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Have a training run stop now and keep its best, as if it had ended here.

    theodolite jobs stop 36e4305ecb44

    Of a sweep the training at work keeps its best, and those after it are left out.
    """
    workspace = open_workspace(store, data)
    said = service.stop(workspace, run)
    waited = workspace.store.runs.get(run)["state"] == "cancelled"
    done({"cancelled" if waited else "stopping": run}, said, as_json)


@job_verbs.command("prioritise")
@plain_errors
def prioritise_job(
    run: RunArgument,
    priority: Annotated[
        int | None, typer.Option(help="Lower runs earlier; default: before all that wait.")
    ] = None,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a waiting run another place in the queue.

    theodolite jobs prioritise 36e4305ecb44 --priority 5
    """
    workspace = open_workspace(store, data)
    said = service.prioritise(workspace, run, priority)
    done({"id": run, "priority": workspace.store.runs.get(run)["priority"]}, said, as_json)


@job_verbs.command("retry")
@plain_errors
def retry_job(
    run: RunArgument,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Queue a run that failed, wholly or partly, or was cancelled again; what is done is kept.

    theodolite jobs retry 36e4305ecb44
    """
    done({"id": run}, service.retry(open_workspace(store, data), run), as_json)


@job_verbs.command("remove")
@plain_errors
def remove_jobs(
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Ids; see `jobs list`.")],
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Forget runs that are over: their parts, events and logs. Results and models stay.

    theodolite jobs remove 36e4305ecb44 8fd1c09a77e2
    """
    workspace = open_workspace(store, data)
    for run in runs:
        size = forget.size(workspace.store, run)
        done({"removed": run, "bytes": size}, service.remove(workspace, run), as_json)


@job_verbs.command("wait")
@plain_errors
def wait_for_job(
    run: RunArgument,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Follow a run to its end; exit 1 when any of it failed, or it was cancelled.

    theodolite jobs wait 36e4305ecb44 && theodolite compare minilm random:256
    """
    from app.jobs.submit import watch

    with progress_bar(run) as move:
        for row in watch(open_workspace(store, data).store, run):
            move(row["fraction"], 1.0, row["message"] or row["state"])
    emit([row], ("id", "state", "title", "done", "failed", "total", "error"), as_json)
    if row["state"] != "done":
        raise typer.Exit(1)
