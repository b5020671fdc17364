"""The queue between homes and workers: the definitions that both share.

A unit is a workflow of `dbos`, enqueued once under the id of its unit and attempt. Its argument and
its answer are JSON; nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypedDict

from theodolite.app.fleet.address import Address
from theodolite.app.fleet.parcels import Parcel
from theodolite.store.fleet import FleetAway, Postgres

if TYPE_CHECKING:
    from dbos import DBOSClient

KINDS = {
    "evaluate": "evaluate",
    "train": "train",
    "train-decoder": "train",
    "encode-shard": "encode",
}
"""Kind of job whose units travel -> kind of work that workers take, see `--only`. Each kind of work
has a queue of its name, and each slot one of its own."""
APPLICATION = "theodolite"
SCHEMA = "theodolite_queue"
"""The schema of our `dbos` tables, so that another program may use `dbos` on the same database."""
VERSION = "2"
"""Version of what goes through the queue: workers take what homes of their version enqueue."""
WORKFLOW = "unit"


class Unit(TypedDict):
    """A unit as it goes out.

    Attributes:
        kind: of the job that the unit is by itself, see `Job.part`.
        spec: of that job.
        label: for people.
        needs: `Needs.to_json()`.
        files: path at home -> its parcel.
    """

    kind: str
    spec: dict[str, Any]
    label: str
    needs: dict[str, Any]
    files: dict[str, Parcel]


class Answer(TypedDict, total=False):
    """A worker's answer: how the unit ended; without `outcome` it was not done.

    Attributes:
        lacking: what the worker lacks, in words.
        outcome: arguments of `Runs.end_unit`.
        results: packed by `Results.pack`.
        reports: (kind, data) of what was not reported before.
        folder: the parcel of the output folder, if one comes home.
        slot: of the worker.
    """

    lacking: list[str]
    outcome: dict[str, Any]
    results: list[dict[str, Any]]
    reports: list[tuple[str, dict[str, Any]]]
    folder: Parcel | None
    slot: str


def database_of(address: Address) -> Postgres:
    """A connection to the database of the fleet at an address."""
    return Postgres(address.url, str(address))


def verify() -> None:
    """Check that the database in THEODOLITE_FLEET can be used; one that is away may come back."""
    database = database_of(Address.parse(None))
    with contextlib.suppress(FleetAway):
        database.rows("SELECT 1")
    database.close()


def client_of(address: Address) -> DBOSClient:
    """The home's side of the queue; a lost connection raises at once, without retries."""
    from dbos import DBOSClient, DBOSPortableJSONSerializer

    return DBOSClient(
        system_database_url=address.url,
        dbos_system_schema=SCHEMA,
        serializer=DBOSPortableJSONSerializer(),
        application_name=APPLICATION,
        lazy=True,
        retry_connection_errors=False,
    )


def config_of(address: Address, slot: str) -> Any:
    """A worker's side of the queue, as `DBOSConfig`."""
    from dbos import DBOSPortableJSONSerializer

    return {
        "name": APPLICATION,
        "system_database_url": address.url,
        "dbos_system_schema": SCHEMA,
        "serializer": DBOSPortableJSONSerializer(),
        "executor_id": slot,
        "application_version": VERSION,
        "log_level": "ERROR",
        "enable_otlp": False,
        "sys_db_pool_size": 4,
    }


def is_news(record: logging.LogRecord) -> bool:
    """Whether a line of dbos is printed: not that a unit has gone.

    It waits for the answer to a unit that was given back, which its home takes off the queue.
    """
    from dbos._error import DBOSNonExistentWorkflowError

    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, DBOSNonExistentWorkflowError)


@contextlib.contextmanager
def plain_errors(name: str) -> Iterator[None]:
    """Turn errors of the queue's library and of the database into `FleetAway`.

    Raises:
        FleetAway: it does not answer, or no worker has created the queue's tables yet.
    """
    from dbos._error import DBOSException
    from sqlalchemy.exc import ProgrammingError, SQLAlchemyError

    try:
        yield
    except ProgrammingError as error:  # the first worker makes the tables
        raise FleetAway(
            f"No worker has joined the fleet yet: theodolite worker --fleet {name}"
        ) from error
    except (SQLAlchemyError, DBOSException) as error:
        raise FleetAway(
            f"The fleet's queue at {name} does not answer.",
            "What waits there goes on when it is back.",
        ) from error
