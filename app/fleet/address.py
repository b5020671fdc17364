"""The address of a fleet's database: parsed, checked, and never shown with its password."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from theodolite.engine.errors import UserError
from theodolite.store.fleet import FleetAway, Postgres

VARIABLE = "THEODOLITE_FLEET"
ENCRYPTED = ("require", "verify-ca", "verify-full")
"""Values of `sslmode` under which nothing is sent in the clear."""
WARNING = (
    "The password of the fleet's database stands in its address, where others of this machine may "
    "read it. Better: PGPASSWORD, or a line in ~/.pgpass."
)

_WRITE_IT = "Write it like postgresql://user@host/database."
_ELSEWHERE = ("service", "servicefile", "passfile", "options")
"""Parameters of libpq that are refused: they name files, or settings that we cannot check."""


@dataclass(frozen=True)
class Address:
    """The address of a Postgres database.

    Attributes:
        url: for libpq, complete; may hold a password, so it is never shown.
    """

    url: str

    @classmethod
    def parse(cls, text: str | None) -> Address:
        """Parse an address, by default that in THEODOLITE_FLEET.

        Connections to other machines are encrypted: `sslmode` is `require` by default.
        """
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict

        given = (text or os.environ.get(VARIABLE) or "").strip()
        if not given:
            raise UserError(
                "No fleet was named.",
                f"Give --fleet, or set {VARIABLE}. {_WRITE_IT}",
                code="missing",
            )
        shown = mask(given)
        if not re.match("postgres(ql)?://", given) or "#" in given:
            raise UserError(f"{shown} is not the address of a Postgres database.", _WRITE_IT)
        try:
            known = {name: str(value) for name, value in conninfo_to_dict(given).items()}
        except ProgrammingError as error:
            raise UserError(f"{shown} cannot be read as an address.", _WRITE_IT) from error
        if re.search("[^0-9,]", known.get("port", "")):
            raise UserError(f"{shown} cannot be read as an address.", _WRITE_IT)
        if not known.get("dbname"):
            raise UserError(f"{shown} names no database.", _WRITE_IT)
        if unknown := [name for name in _ELSEWHERE if name in known]:
            raise UserError(
                f"{shown} sets {unknown[0]}, which is not supported here.",
                _WRITE_IT,
                code="unsupported",
            )
        if all(map(_is_here, _hosts(known))):
            return cls(given)
        if "sslmode" not in known:
            return cls(f"{given}{'&' if '?' in given else '?'}sslmode=require")
        if known["sslmode"] not in ENCRYPTED:
            raise UserError(
                f"{shown} would reach another machine without TLS.",
                f"Use sslmode={' or '.join(ENCRYPTED)}, or leave it out.",
            )
        return cls(given)

    @property
    def has_password(self) -> bool:
        """Whether the address contains a password."""
        return mask(self.url) != self.url

    def database(self) -> Postgres:
        """A connection to the database."""
        return Postgres(self.url, str(self))

    def verify(self) -> None:
        """Check that the database can be used; one that is away may come back."""
        database = self.database()
        with contextlib.suppress(FleetAway):
            database.rows("SELECT 1")
        database.close()

    def __str__(self) -> str:
        return mask(self.url)

    def __repr__(self) -> str:
        return f"Address({mask(self.url)!r})"


def mask(text: str) -> str:
    """An address with `***` in place of its password, wherever that stands."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return "What was given"
    login, at, host = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    # In an address without a host the password stands where a port would.
    host = re.sub(r":(?!\d+(,|$))[^:\],]+$", ":***", host)
    netloc = f"{user}:***@{host}" if colon else f"{login}{at}{host}"
    pairs = [
        f"{name}=***" if unquote(name) in ("password", "sslpassword") else pair
        for pair in parts.query.split("&")
        for name in [pair.partition("=")[0]]
    ]
    more = f"?{'&'.join(pairs)}" if parts.query else ""
    return f"{parts.scheme}://{netloc}{parts.path}{more}" if parts.scheme else text


def _hosts(known: dict[str, str]) -> list[str]:
    """Every host that libpq may connect to; by default from its own variables, else a socket."""
    named = [known[name] for name in ("host", "hostaddr") if known.get(name)]
    named = named or [os.environ.get(name, "") for name in ("PGHOST", "PGHOSTADDR")]
    return [host for names in named for host in names.split(",")]


def _is_here(host: str) -> bool:
    """Whether a host is this machine: a socket, or a loopback address."""
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
