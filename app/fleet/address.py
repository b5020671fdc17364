"""The address of a fleet's database: parsed, checked, and never shown with its password."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from theodolite.engine.errors import UserError

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
        given = (text or os.environ.get(VARIABLE) or "").strip()
        if not given:
            raise UserError(
                "No fleet was named.",
                f"Give --fleet, or set {VARIABLE}. {_WRITE_IT}",
                code="missing",
            )
        shown = mask(given)
        try:
            parts = urlsplit(given)
            query = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
            hosts = _hosts(parts.netloc, query)
        except ValueError as error:
            raise UserError(f"{shown} cannot be read as an address.", _WRITE_IT) from error
        if parts.scheme not in ("postgresql", "postgres") or parts.fragment:
            raise UserError(f"{shown} is not the address of a Postgres database.", _WRITE_IT)
        if not parts.path.strip("/"):
            raise UserError(f"{shown} names no database.", _WRITE_IT)
        unknown = [name for name in _ELSEWHERE if name in query]
        if unknown:
            raise UserError(
                f"{shown} sets {unknown[0]}, which is not supported here.",
                _WRITE_IT,
                code="unsupported",
            )
        if not all(map(_is_here, hosts)):
            if query.setdefault("sslmode", "require") not in ENCRYPTED:
                raise UserError(
                    f"{shown} would reach another machine without TLS.",
                    f"Use sslmode={' or '.join(ENCRYPTED)}, or leave it out.",
                )
        more = f"?{urlencode(query)}" if query else ""
        return cls(f"postgresql://{parts.netloc}{parts.path}{more}")  # with both slashes always

    @property
    def has_password(self) -> bool:
        """Whether the address contains a password."""
        return mask(self.url) != self.url

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


def _hosts(netloc: str, query: dict[str, str]) -> list[str]:
    """Every host that libpq may connect to."""
    named = netloc.rpartition("@")[2]
    places = [unquote(_without_port(one)) for one in named.split(",")] if named else []
    if query.get("host"):
        places = query["host"].split(",")
    if query.get("hostaddr"):
        places += query["hostaddr"].split(",")
    # Without a host, libpq takes its own variables, and then a socket of this machine.
    asked = (os.environ.get("PGHOST", ""), os.environ.get("PGHOSTADDR", ""))
    return places or [one for text in asked if text for one in text.split(",")]


def _without_port(place: str) -> str:
    if place.startswith("["):
        return place[1:].partition("]")[0]
    host, _, port = place.partition(":")
    if port and not port.isdigit():
        raise ValueError(port)
    return host


def _is_here(host: str) -> bool:
    """Whether a host is this machine: a socket, or a loopback address."""
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
