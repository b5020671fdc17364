"""A training in several processes of this machine, launched by `torchrun`.

Their collective operations are in `engine.training.devices`. As a program, `python -m
theodolite.app.pages.train.launch FILE N`, this is the launcher, and started by the launcher a rank;
FILE is the request. The processes end with the one that follows them.
"""

import json
import logging
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from theodolite.app.jobs import processes
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.training.events import EVENTS, Event
from theodolite.engine.training.spec import TrainSpec

NAME = "theodolite.app.pages.train.launch"
MARK = "\x1etheodolite "
"""Prefix of lines that are events rather than output of a library."""
POLL_SECONDS = 0.5
_LOG_BYTES = 4000

log = logging.getLogger("theodolite.training")


def train(workspace: Workspace, spec: TrainSpec, stop: Callable[[], bool]) -> Iterator[Event]:
    """Train in `spec.processes` processes; yield the events of rank 0.

    Args:
        workspace: holds the data they read.
        spec: what to train.
        stop: polled; once true, the best weights so far become the encoder.
    """
    with tempfile.TemporaryDirectory(prefix="theodolite-") as folder:
        request, asked_to_stop = Path(folder) / "request.json", Path(folder) / "stop"
        data = workspace.catalog.root
        facts = {
            "spec": spec.to_dict(),
            "store": str(workspace.store.folder),
            "data": None if data is None else str(data),
            "stop": str(asked_to_stop),
            "threads": max(1, (os.cpu_count() or 1) // spec.processes),
        }
        request.write_text(json.dumps(facts), "utf-8")
        with (Path(folder) / "log").open("w+b") as printed:
            words = [str(request), str(spec.processes)]
            started = processes.start(NAME, words, stdout=subprocess.PIPE, stderr=printed)
            try:
                yield from _follow(started, asked_to_stop, stop)
            finally:
                processes.kill_tree(started)
                printed.seek(max(0, printed.seek(0, os.SEEK_END) - _LOG_BYTES))
                if started.returncode and (tail := printed.read().decode("utf-8", "replace")):
                    log.warning("The processes printed:\n%s", tail)


def _follow(
    started: subprocess.Popen[bytes], asked_to_stop: Path, stop: Callable[[], bool]
) -> Iterator[Event]:
    """Yield the events of a launched training until it ends."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def drain() -> None:
        for line in started.stdout or ():
            lines.put(line)
        lines.put(b"")

    threading.Thread(target=drain, name="ranks", daemon=True).start()
    line = b" "
    while line:
        if stop():
            asked_to_stop.touch()
        try:
            line = lines.get(timeout=POLL_SECONDS)
        except queue.Empty:
            continue
        _, mark, text = line.decode("utf-8", "replace").partition(MARK)
        if not mark:  # output of a library
            continue
        event = json.loads(text)
        if "error" in event:
            raise UserError(event["error"], event["hint"], code=event["code"])
        yield EVENTS[event.pop("kind")](**event)
    if started.wait():
        raise UserError(
            f"One of the processes that train together {processes.death(started.returncode)}.",
            "Start it again: it resumes from its checkpoint. Their output is in the log.",
            code="failed",
        )


def main() -> None:
    """Launch the ranks, or run as one."""
    processes.follow_parent()
    file, number = sys.argv[1:]
    if processes.under_torchrun():
        _train(json.loads(Path(file).read_text("utf-8")))
        return
    from torch.distributed import run

    # By the loopback address: the host name may not resolve, or may lead to the network.
    alone = ["--nnodes=1", "--max-restarts=0", "--rdzv-backend=c10d", "--local-addr=127.0.0.1"]
    ranks = [f"--nproc-per-node={number}", "--rdzv-endpoint=127.0.0.1:0"]
    run.main([*alone, *ranks, "-m", NAME, file, number])


def _train(request: dict[str, Any]) -> None:
    import torch

    from theodolite.engine.train import train

    def send(**event: Any) -> None:
        os.write(1, (MARK + json.dumps(event) + "\n").encode())  # at once: ranks share the pipe

    torch.set_num_threads(request["threads"])  # torchrun gives each process one thread
    stop, data = Path(request["stop"]), request["data"]
    workspace = Workspace(Path(request["store"]), data and Path(data))
    try:
        spec = TrainSpec.from_dict(request["spec"])
        for event in train(spec, workspace.catalog, stop=stop.exists):
            send(**event.to_dict())
    except UserError as error:
        send(error=error.message, hint=error.hint, code=error.code)
        sys.exit(1)


def on_several_machines(command: Sequence[str], machines: int = 2, rank: int = 0) -> list[str]:
    """Arguments of the command that runs a training on several machines, for one of them.

    `HOST` stands for the address of the first machine.

    Args:
        command: the command for one machine; its `--processes` is the number on each.
        machines: number of machines.
        rank: of this machine, from 0.
    """
    each = command[command.index("--processes") + 1] if "--processes" in command else "1"
    words = ["torchrun", f"--nnodes={machines}", f"--node-rank={rank}", f"--nproc-per-node={each}"]
    return [*words, "--master-addr=HOST", "--master-port=29500", "--no-python", *command]


if __name__ == "__main__":
    main()
