"""A unit as it goes out, its answer, and its files on the machine of a worker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from theodolite.app.fleet.files import Bundle, Files, hash_of, is_address
from theodolite.app.fleet.needs import move_encoder, replace_texts
from theodolite.app.jobs.kinds import KINDS, job_of
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.fleet.needs import Resources
    from theodolite.app.jobs.job import Job

    AnyJob = TypeVar("AnyJob", bound=Job)
    from theodolite.engine.datasets import Catalog
    from theodolite.store import Store

WORK = {
    "evaluate": "evaluate",
    "train": "train",
    "train-decoder": "train",
    "encode-shard": "encode",
}
"""Kind of job whose units go out -> kind of work that workers take, see `--only`."""
VERSION = "3"
"""Version of units and answers: workers take what homes of their version send."""
RECEIVED, MADE = "received", "made"
"""Folders of a worker's store: files that came with units, and output until it is home."""


Unit = dict[str, Any]
"""A unit as it goes out: `kind` and `spec` of the job that it is by itself, see `Job.part`; `label`
for people; `needs`; `files`, path at home -> its bundle."""
Answer = dict[str, Any]
"""A worker's answer: the `slot` of the worker, and either what is `lacking` or `damaged`, in words,
or `outcome`, arguments of `Runs.end_unit`; `results`, packed by `Results.pack`; `reports`, (kind,
data) of what was not reported before; `folder`, the bundle of the output folder, if any."""


def admit(unit: Unit, only: tuple[str, ...], catalog: Catalog) -> Job:
    """The job of a unit, under the paths of its home."""
    if WORK.get(unit["kind"]) not in only:
        raise UserError(f"This worker takes {', '.join(only)} only.", code="unsupported")
    job = job_of(dict(unit), KINDS)
    if why := job.resources(catalog).local_only_reason():
        raise UserError("This is not done for others.", why, code="denied")
    return job


def move(job: AnyJob, resources: Resources, places: Mapping[str, str]) -> AnyJob:
    """A job that has these resources, with other paths."""
    return job.from_spec(replace_texts(job.to_spec(), resources.new_names(places)))


class Copy:
    """A unit's job with the paths of this machine, and copies of the files that it reads.

    Args:
        job: under the paths of its home.
        unit: with which it came.
        store: of this worker, which holds the files.

    Attributes:
        job: the same under paths of this machine.
        out: its output folder; None when it only makes results.
    """

    def __init__(
        self, job: Job, unit: Unit, store: Store, files: Files | None, catalog: Catalog
    ) -> None:
        self._home, self._files, places = job.resources(catalog), files, {}
        for path in self._home.paths():
            bundle = unit["files"].get(path)
            if bundle is None or files is None:
                raise UserError(
                    "A worker opens no file that a home names.",
                    f"{path} was not sent.",
                    code="denied",
                )
            folder = store.folder / RECEIVED / hash_of(bundle)
            places[path] = str(files.fetch(bundle, folder))
            folder.touch()
        self.out: Path | None = None
        if self._home.out:
            mark = hash_of({**unit["files"], "spec": {**job.to_spec(), "out": ""}})
            self.out = store.folder / MADE / mark
            self.out.parent.mkdir(exist_ok=True)
            places[self._home.out] = str(self.out)
        self.job = move(job, self._home, places)
        here = self.job.resources(catalog)
        if not set(here.paths()) <= set(places.values()) or here.out != str(self.out or ""):
            raise UserError("A worker opens no file that a home names.", code="denied")
        if self.out is not None:
            _settle(self.out, here.record)  # it was sent off before, with its home's paths
        self._back = {there: path for path, there in places.items()}

    def result(self, packed: Mapping[str, Any]) -> dict[str, Any]:
        """A packed result under the paths of the home."""
        return {**packed, "encoder": move_encoder(packed["encoder"], self._back)}

    def event(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The data of an event under the paths of the home; a model at an address is no encoder."""
        new = {}
        if self.out is not None:
            encoder = move_encoder(f"dir:{self.out}", self._back)
            new = {str(self.out): self._home.out}
            new[move_encoder(f"dir:{self.out}", {})] = "" if is_address(self._home.out) else encoder
        return dict(replace_texts(data, new))

    def send(self) -> Bundle | None:
        """Put the output at the fleet's address for files; None when there is none."""
        if self.out is None or self._files is None:
            return None
        _settle(self.out, self._home.record)
        return self._files.put(str(self.out))


def _settle(folder: Path, record: tuple[str, Mapping[str, Any]]) -> None:
    """Write a job's entries into the record of its output, which was made under other paths."""
    name, entries = record
    path = folder / name
    if path.is_file():
        text = json.dumps(
            json.loads(path.read_text("utf-8")) | entries, indent=1, ensure_ascii=False
        )
        path.write_text(text, "utf-8")
