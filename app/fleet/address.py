"""The address of a fleet's database: parsed, checked, and never shown with its password."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass

from theodolite.engine.errors import UserError
from theodolite.store.fleet import Fleet

VARIABLE = "THEODOLITE_FLEET"
ENCRYPTED = ("require", "verify-ca", "verify-full")
"""Values of `sslmode` under which nothing is sent in the clear."""
WARNING = (
    "The password of the fleet's database is part of its address, where other users of this "
    "machine can read it. Use PGPASSWORD or a line in ~/.pgpass instead."
)

_WRITE_IT = "Write it like postgresql://user@host/database."
_UNSUPPORTED = ("service", "servicefile", "passfile", "options")
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

        address = (text or os.environ.get(VARIABLE) or "").strip()
        if not address:
            raise UserError(
                "No fleet was named.",
                f"Give --fleet, or set {VARIABLE}. {_WRITE_IT}",
                code="missing",
            )
        wrong = UserError("The fleet's address is not that of a Postgres database.", _WRITE_IT)
        try:
            known = {name: str(value) for name, value in conninfo_to_dict(address).items()}
        except ProgrammingError as error:
            raise wrong from error
        is_url = re.match("postgres(ql)?://[^#]*$", address)
        if not is_url or not known.get("dbname") or re.search("[^0-9,]", known.get("port", "")):
            raise wrong
        for name in _UNSUPPORTED:
            if name in known:
                raise UserError(
                    f"The fleet's address sets {name}, which is not supported.",
                    _WRITE_IT,
                    code="unsupported",
                )
        if all(map(_is_here, _hosts(known))) or known.get("sslmode") in ENCRYPTED:
            return cls(address)
        if "sslmode" not in known:
            return cls(f"{address}{'&' if '?' in address else '?'}sslmode=require")
        raise UserError(
            "The fleet's address would reach another machine without TLS.",
            f"Use sslmode={' or '.join(ENCRYPTED)}, or leave it out.",
        )

    @property
    def has_password(self) -> bool:
        """Whether the address contains a password."""
        return mask(self.url) != self.url

    def database(self) -> Fleet:
        """A connection to the database."""
        return Fleet(self.url, str(self))

    def __str__(self) -> str:
        return mask(self.url)

    __repr__ = __str__


def mask(address: str) -> str:
    """An address with `***` in place of its password, wherever that stands."""
    masked = re.sub(r"(?<=://)([^/?#]*?:)[^/?#]*(?=@)", r"\1***", address)
    return re.sub(r"(?<=[?&])([^=&]*)=[^&]*", _without_secret, masked)


def _without_secret(parameter: re.Match[str]) -> str:
    # A name that is not written plainly, as libpq allows, may be one of a password.
    is_secret = re.search("password|%", parameter[1])
    return f"{parameter[1]}=***" if is_secret else parameter[0]


def _hosts(known: dict[str, str]) -> list[str]:
    """Every host that libpq may connect to; by default from its own variables, else a socket."""
    hosts = [known[name] for name in ("host", "hostaddr") if known.get(name)]
    hosts = hosts or [os.environ.get(name, "") for name in ("PGHOST", "PGHOSTADDR")]
    return [host for names in hosts for host in names.split(",")]


def _is_here(host: str) -> bool:
    """Whether a host is this machine: a socket, or a loopback address."""
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
