"""`theodolite jobs`, `workers` and `worker`: background runs, from a terminal."""

from typing import Annotated

import typer

from theodolite.app.fleet.address import Address
from theodolite.app.pages.jobs.service import act
from theodolite.app.terminal import (
    DataOption,
    FilesOption,
    FleetOption,
    JsonOption,
    StoreOption,
    done,
    emit,
    emit_json,
    join_fleet,
    line,
    plain_errors,
    progress_bar,
    say,
    verb,
    verbs,
)
from theodolite.app.workspace import Workspace, default_data, default_store
from theodolite.store import forget

job_verbs = verbs("List, follow, cancel and retry background runs.")


RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run's id; see `jobs list`.")]


@job_verbs.command("list")
@verb
def list_jobs(workspace: Workspace, as_json: JsonOption = False) -> None:
    """Show the runs, newest first, with the bytes that their events and logs take.

    theodolite jobs list --json
    """
    workspace.store.terminals.end_forsaken()
    sizes = forget.sizes(workspace.store)
    emit(
        [{**run, "bytes": sizes.get(run["id"], 0)} for run in workspace.store.runs.list()],
        ("id", "state", "title", "done", "failed", "total", "eta_seconds", "bytes", "error"),
        as_json,
    )


@job_verbs.command("log")
@verb
def show_log(workspace: Workspace, run: RunArgument, as_json: JsonOption = False) -> None:
    """Print what a run has logged.

    theodolite jobs log 36e4305ecb44
    """
    emit([{"line": line} for line in workspace.store.logs.lines(run)], ("line",), as_json)


@job_verbs.command("cancel")
@verb
def cancel_job(workspace: Workspace, run: RunArgument, as_json: JsonOption = False) -> None:
    """Stop a run within two seconds. What it finished stays, and so does a training's checkpoint.

    theodolite jobs cancel 36e4305ecb44
    """
    done({"cancelled": run}, act(workspace, "cancel", run), as_json)


@job_verbs.command("stop")
@verb
def stop_job(workspace: Workspace, run: RunArgument, as_json: JsonOption = False) -> None:
    """Have a training run stop now and keep its best, as if it had ended here.

    theodolite jobs stop 36e4305ecb44

    Of a sweep the training at work keeps its best, and those after it are left out.
    """
    text = act(workspace, "stop", run)
    is_over = workspace.store.runs.get(run)["state"] == "cancelled"
    done({"cancelled" if is_over else "stopping": run}, text, as_json)


@job_verbs.command("prioritise")
@verb
def prioritise_job(
    workspace: Workspace,
    run: RunArgument,
    priority: Annotated[
        int | None, typer.Option(help="Lower runs earlier; default: before all waiting runs.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Give a waiting run another place in the queue.

    theodolite jobs prioritise 36e4305ecb44 --priority 5
    """
    text = act(workspace, "next", run, priority)
    done({"id": run, "priority": workspace.store.runs.get(run)["priority"]}, text, as_json)


@job_verbs.command("retry")
@verb
def retry_job(workspace: Workspace, run: RunArgument, as_json: JsonOption = False) -> None:
    """Queue a run that failed, wholly or partly, or was cancelled again; what is done is kept.

    theodolite jobs retry 36e4305ecb44
    """
    done({"id": run}, act(workspace, "retry", run), as_json)


@job_verbs.command("remove")
@verb
def remove_jobs(
    workspace: Workspace,
    runs: Annotated[list[str], typer.Argument(metavar="RUN…", help="Ids; see `jobs list`.")],
    as_json: JsonOption = False,
) -> None:
    """Forget runs that are over: their parts, events and logs. Results and models stay.

    theodolite jobs remove 36e4305ecb44 8fd1c09a77e2
    """
    for run in runs:
        size = forget.size(workspace.store, run)
        done({"removed": run, "bytes": size}, act(workspace, "remove", run), as_json)


@job_verbs.command("wait")
@verb
def wait_for_job(workspace: Workspace, run: RunArgument, as_json: JsonOption = False) -> None:
    """Follow a run to its end; exit 1 when any of it failed, or it was cancelled.

    theodolite jobs wait 36e4305ecb44 && theodolite compare minilm random:256
    """
    from theodolite.app.jobs.submit import watch

    with progress_bar(run) as move:
        for row in watch(workspace.store, run):
            move(row["fraction"], 1.0, row["message"] or row["state"])
    emit([row], ("id", "state", "title", "done", "failed", "total", "error"), as_json)
    if row["state"] != "done":
        raise typer.Exit(1)


@verb
def workers(workspace: Workspace, fleet: FleetOption = None, as_json: JsonOption = False) -> None:
    """Show who works on this store and in a fleet, what each is at, and what waits for what.

    theodolite workers

    theodolite workers --fleet postgresql://lab@db.lab.org/fleet --json
    """
    from theodolite.app.pages.jobs.workers import now

    if fleet:
        join_fleet(fleet)
    state = now(workspace)
    if as_json:
        emit(state.rows(), (), as_json=True)
        return
    emit(list(map(vars, state.workers)), list(state.columns), as_json=False)
    for one in state.waiting:
        line(f"{one.title}: {one.parts} to do. {one.why}")
    if state.problem:
        say(state.problem)


@plain_errors
def worker(
    store: StoreOption = None,
    data: DataOption = None,
    slot: Annotated[
        str | None,
        typer.Option(
            help="Name of this worker, one process per name; use the same name to restart it. "
            "Default: extra-1; in a fleet host, store and the first free number."
        ),
    ] = None,
    fleet: FleetOption = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS", help="In a fleet: accept only this work: evaluate,train,encode."
        ),
    ] = None,
    files: FilesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start one more worker on a store, beside the one that the app runs, or one of a fleet.

    Workers share the queue: each takes one run at a time. A worker started again under its slot's
    name resumes what it was doing.

    theodolite worker --slot second --store /shared/theodolite

    A worker of a fleet takes parts of runs from the homes (theodolite serve --fleet URL) on the
    same database. Its store is a cache of its own, and it opens no file that a home names: only
    the data folder that it is started with, and copies of what was put at the address of --files.

    theodolite worker --fleet postgresql://lab@db.lab.org/fleet --data ~/senteval
    """

    def ready(name: str) -> None:
        if as_json:
            emit_json({"event": "started", "slot": name, "store": str(folder)})
        else:
            say(f"Worker {name} waits for {what}. Stop it with Ctrl+C.")

    if fleet:
        from theodolite.app.fleet import worker as away
        from theodolite.app.fleet.files import Files

        folder = store or default_store() / "fleet"
        what, takes = f"parts of runs at {join_fleet(fleet, files)}", away.parse_kinds(only)
        place = Files(files) if files else None
        away.run(folder, data or default_data(), slot, takes, Address.parse(fleet), ready, place)
    else:
        from theodolite.app.jobs import worker as here

        folder, slot = store or default_store(), slot or "extra-1"
        what = f"runs in {folder}"
        ready(slot)
        here.run(folder, data or default_data(), slot)
