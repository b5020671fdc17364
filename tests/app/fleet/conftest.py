"""A real Postgres of this machine's own, from Debian's packages, for the tests of the fleet."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.app.fleet.network import Network
from tests.fakes.folder import files
from tests.waiting import wait_until
from theodolite.app.jobs import processes
from theodolite.app.jobs.submit import perform
from theodolite.app.pages.train.job import TrainDecoderJob, TrainJob
from theodolite.app.workspace import Workspace
from theodolite.store import Store

NOBODY = "nobody"
PASSWORD = secrets.token_hex(8)


class Postgres:
    """A server in a folder of its own, reached by a socket there; as root it runs as nobody.

    Args:
        programs: folder of `initdb` and `postgres`.
        network: of machines which reach it as well, by TLS and with a password.
    """

    def __init__(self, programs: Path, network: Network | None = None) -> None:
        # Not below pytest's own folder: that is for one user, and a socket's path is short.
        self._folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
        if os.getuid() == 0:
            shutil.chown(self._folder, NOBODY)
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None
        options = "-U lab -A trust --no-sync --encoding UTF8".split()
        initdb = self._command(str(programs / "initdb"), "-D", str(self._data), *options)
        subprocess.run(initdb, check=True, capture_output=True)
        self._log = (self._folder / "log").open("wb")
        self.network = network
        self._port = 5432
        self._listens: list[str] = ["-c", "listen_addresses="]
        if network is not None:
            self._listens = self._open_to(network)

    def _open_to(self, network: Network) -> list[str]:
        """Let the machines in; options of the server for that."""
        with socket.create_server((network.address, 0)) as free:
            self._port = free.getsockname()[1]
        key, certificate = self._folder / "key.pem", self._folder / "certificate.pem"
        options = "req -x509 -new -nodes -days 2 -newkey rsa:2048 -subj /CN=lab".split()
        openssl = self._command("openssl", *options, "-keyout", str(key), "-out", str(certificate))
        subprocess.run(openssl, check=True, capture_output=True)
        with (self._data / "pg_hba.conf").open("a") as rules:
            rules.write(f"hostssl all lab {network.machines} scram-sha-256\n")
        given = {
            "listen_addresses": network.address,
            "port": str(self._port),
            "ssl": "on",
            "ssl_key_file": str(key),
            "ssl_cert_file": str(certificate),
        }
        return [word for name, value in given.items() for word in ("-c", f"{name}={value}")]

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def url(self, name: str) -> str:
        """The address of a database."""
        return f"postgresql:///{name}?host={self._folder}&user=lab&port={self._port}"

    def url_elsewhere(self, name: str) -> str:
        """The address of a database for a machine of the network; the password is not in it."""
        return f"postgresql://lab@{self.network.address}:{self._port}/{name}"

    def make(self, name: str, encoding: str = "UTF8") -> str:
        """Make a database; its address."""
        how = f"ENCODING '{encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {how}".encode())
        return self.url(name)

    def machines(self) -> set[tuple[str, bool]]:
        """(address, whether encrypted) of the connections from other machines."""
        with psycopg.connect(self.url("postgres")) as connection:
            rows = connection.execute(
                "SELECT host(client_addr), ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)"
                " WHERE client_addr IS NOT NULL"
            )
            return {(str(row[0]), bool(row[1])) for row in rows}

    def start(self) -> None:
        """Start, and wait until it answers."""
        options = [*self._listens, "-c", f"unix_socket_directories={self._folder}"]
        # Processes are killed here, not machines: nothing needs to reach the disk for that.
        options += ["-c", "max_connections=200", "-c", "fsync=off"]
        command = self._command(str(self._programs / "postgres"), "-D", str(self._data), *options)
        self._process = subprocess.Popen(
            command, stdout=self._log, stderr=self._log, process_group=0
        )
        wait_until(self._answers)

    def _answers(self) -> bool:
        with suppress(psycopg.OperationalError):
            psycopg.connect(self.url("postgres")).close()
            return True
        return False

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it at once, with or without a word to its clients (SIGINT, SIGQUIT)."""
        if self._process is None:
            return
        os.kill(int((self._data / "postmaster.pid").read_text().splitlines()[0]), how)
        self._process.wait()
        self._process = None

    def close(self) -> None:
        """End it and remove its folder."""
        self.stop(signal.SIGQUIT)
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _command(self, *command: str) -> list[str]:
        """A command as somebody that Postgres runs as; it refuses root."""
        as_nobody = ["setpriv", "--reuid", NOBODY, "--clear-groups"]
        return [*(as_nobody if os.getuid() == 0 else ()), *command]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server that runs; skips where there is none to start."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("there is no Postgres below /usr/lib/postgresql")
    network = None
    with suppress(OSError):  # then machines are separate stores only
        network = Network()
    made = Postgres(found[-1].parent, network)
    made.start()
    with psycopg.connect(made.url("postgres"), autocommit=True) as connection:
        connection.execute(f"ALTER USER lab PASSWORD '{PASSWORD}'")
    yield made
    made.close()
    if network is not None:
        network.close()


@pytest.fixture
def database(postgres: Postgres) -> str:
    """The address of a fresh database."""
    return postgres.make(f"fleet_{os.getpid()}_{time.monotonic_ns()}")


class Lab:
    """Homes and workers of one fleet, each a process with a store of its own.

    Args:
        folder: for the stores.
        address: of the database.
        postgres: the server; where it has a network, workers are on machines of that.
    """

    def __init__(self, folder: Path, address: str, postgres: Postgres | None = None) -> None:
        self._postgres = postgres
        self.folder = folder
        self.address = address
        self.home = Store.open(folder / "home")
        self.files = folder / "files"
        self.files.mkdir()
        self._environment = {
            **{name: value for name, value in os.environ.items() if name != "THEODOLITE_DATA"},
            "THEODOLITE_FLEET": address,
            "THEODOLITE_FILES": str(self.files),
            "PYTHONPATH": str(processes.ROOT),
            "OMP_NUM_THREADS": "1",
        }
        self._started: list[subprocess.Popen[bytes]] = []
        self._log = (folder / "log").open("w+b")

    def start_home(
        self, store: Path | None = None, *more: str, **environment: str
    ) -> subprocess.Popen[bytes]:
        """What the app keeps running."""
        given = ["--store", str(store or self.home.folder), "--slot", "local-0", "--fleet", *more]
        return self._start("theodolite.app.jobs.worker", *given, **environment)

    @property
    def host(self) -> str:
        """The address of this machine for the workers."""
        network = self._postgres.network if self._postgres else None
        return network.address if network else "127.0.0.1"

    def start_worker(self, number: int, *more: str, **environment: str) -> subprocess.Popen[bytes]:
        """`theodolite worker --fleet`, with a store by that number."""
        given = ["--store", str(self.folder / f"worker-{number}"), "--slot", f"lab-{number}", *more]
        if self._postgres is None or self._postgres.network is None:
            return self._start("theodolite.app", "worker", *given, **environment)
        name = urlsplit(self.address).path.strip("/")
        there = {"THEODOLITE_FLEET": self._postgres.url_elsewhere(name), "PGPASSWORD": PASSWORD}
        machine = self._postgres.network.inside(number)
        return self._start(
            "theodolite.app", "worker", *given, machine=machine, **there, **environment
        )

    def rows(self, table: str) -> int:
        """The number of rows of a table of the database."""
        with psycopg.connect(self.address) as connection:
            found = connection.execute(f"SELECT count(*) FROM theodolite.{table}".encode())  # noqa: S608
            return int(found.fetchall()[0][0])

    def close(self) -> str:
        """End everything; what was printed."""
        for process in self._started:
            processes.kill_tree(process)
        self.home.close()
        self._log.close()
        return self.printed()

    def printed(self) -> str:
        """What all of them said so far."""
        return (self.folder / "log").read_text()

    def _start(
        self, module: str, *given: str, machine: Sequence[str] = (), **environment: str
    ) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*machine, sys.executable, "-m", module, *given],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            process_group=0,
            env=self._environment | environment,
        )
        self._started.append(process)
        return process


@pytest.fixture
def lab(tmp_path: Path, database: str, postgres: Postgres) -> Iterator[Lab]:
    """A fleet of which nothing runs yet."""
    made = Lab(tmp_path, database, postgres)
    yield made
    print(made.close())  # noqa: T201 - shown when a test fails


@pytest.fixture
def workspace(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """What the pages of the home have."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    return Workspace(lab.home.folder)


def begun(workspace: Workspace, job):
    """The row of a run of this job that a worker here is at."""
    run_id = workspace.store.runs.create(job.kind, job.to_spec(), job.title)
    workspace.store.runs.start(run_id, 1, "local-0", job.units())
    return workspace.store.runs.get(run_id)


def films(folder: Path) -> Path:
    """A data folder with a small MR."""
    reviews = {
        f"downstream/MR/rt-polarity.{name}": "".join(
            f"a {name} film of number {number}\n" for number in range(20)
        )
        for name in ("pos", "neg")
    }
    return files(folder / "data", reviews)


def weights(folder: Path) -> bytes:
    """Of what was trained."""
    return (folder / "model.safetensors").read_bytes()


def trained(workspace: Workspace, job: TrainJob | TrainDecoderJob) -> Path:
    """The same training, done here."""
    list(perform(workspace, job))
    return Path(job.spec.out)
