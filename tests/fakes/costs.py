"""What encoders cost, as the job that measures it leaves it in the store."""

from theodolite.app.pages.board import cost
from theodolite.app.workspace import Workspace

FOUND = {
    "encoder": "random:32",
    "dim": 32,
    "load_seconds": [2.0, 0.5, 0.4],
    "device": "CPU",
    "per_second": {"16": [10.0, 30.0, 20.0, 40.0, 50.0], "64": [8.0] * 5, "256": [2.0] * 5},
    "latency_ms": [float(ms) for ms in range(1, 101)],
    "memory_bytes": 3 * 2**20,
    "vector_bytes": 128,
    "bytes": 2**20,
    "parameters": 30_000_000,
    "embedding_parameters": 10_000_000,
}


def keep(workspace: Workspace, name: str, **other: object) -> None:
    """One that was measured on this machine."""
    info = FOUND | {"encoder": name, "machine": cost.machine()} | other
    workspace.store.derived.put(cost._key(name), cost.KIND, info)
