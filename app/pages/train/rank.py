"""`python -m theodolite.app.pages.train.rank FILE N`: `torchrun` for a training, and its processes.

FILE is the request. Started by itself, this is the launcher; started by the launcher, a rank.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from theodolite.app.jobs import processes
from theodolite.app.jobs.processes import under_torchrun
from theodolite.app.pages.train.launch import send
from theodolite.engine.errors import UserError


def main() -> None:
    """Launch the ranks, or run as one."""
    processes.follow_parent()
    file = sys.argv[1]
    if under_torchrun():
        _train(json.loads(Path(file).read_text("utf-8")))
        return
    from torch.distributed import run

    # By the loopback address: the host name may not resolve, or may lead to the network.
    run.main(
        [
            "--nnodes=1",
            f"--nproc-per-node={sys.argv[2]}",
            "--max-restarts=0",
            "--rdzv-backend=c10d",
            "--rdzv-endpoint=127.0.0.1:0",
            "--local-addr=127.0.0.1",
            "-m",
            __spec__.name,
            file,
            sys.argv[2],
        ]
    )


def _train(request: dict[str, Any]) -> None:
    import torch

    from theodolite.app.workspace import Workspace
    from theodolite.engine.train import train
    from theodolite.engine.training.spec import TrainSpec

    torch.set_num_threads(request["threads"])  # torchrun gives each process one thread
    stop = Path(request["stop"])
    workspace = Workspace(Path(request["store"]), request["data"] and Path(request["data"]))
    try:
        spec = TrainSpec.from_dict(request["spec"])
        for event in train(spec, workspace.catalog, stop=stop.exists):
            send(event.to_dict())
    except UserError as error:
        send({"error": error.message, "hint": error.hint, "code": error.code})
        sys.exit(1)


if __name__ == "__main__":
    main()
