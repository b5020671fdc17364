"""User names and hashed passwords: one from the command line, or a file of them.

A line of the file is `NAME:HASH`, as `theodolite password` writes it: Argon2id by argon2-cffi, with
its parameters and salt (the PHC string format). Lines that begin with `#` are comments.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import InvalidHash, VerificationError

from theodolite.app import terminal
from theodolite.engine.errors import UserError

MIN_PASSWORD = 8
MAX_PASSWORD = 1000
"""Maximum number of characters that are hashed."""


class Accounts:
    """Logins: names with hashed passwords."""

    def __init__(self, hashes: Mapping[str, str]) -> None:
        self._hashes = hashes

    @classmethod
    def one(cls, name: str, password: str) -> Accounts:
        """A single login, whose password may be short; it is kept hashed."""
        return cls({name.strip(): PasswordHasher().hash(_bytes(password))})

    @classmethod
    def read(cls, file: Path) -> Accounts:
        """Read the logins of a file."""
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(
                f"The file of logins {file.name} cannot be read.",
                "Write one with: theodolite password NAME >> FILE",
                code="no-file",
            ) from error
        hashes = {}
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            name, _, hashed = line.strip().partition(":")
            if not name or not _is_hash(hashed):
                raise UserError(
                    f"Line {number} of {file.name} is not a login with a hashed password.",
                    "Create the line with: theodolite password NAME",
                    code="damaged",
                )
            hashes[name] = hashed
        if not hashes:
            raise UserError(
                f"There is no login in {file.name}.",
                "Add one with: theodolite password NAME >> FILE",
                code="missing",
            )
        return cls(hashes)

    def match(self, name: str, password: str) -> bool:
        """Whether a name has this password; takes as long for an unknown name."""
        # Checked for an unknown name too, so that no name is answered sooner than another.
        hashed = self._hashes.get(name) or next(iter(self._hashes.values()))
        with suppress(VerificationError):
            PasswordHasher().verify(hashed, _bytes(password[:MAX_PASSWORD]))
            return name in self._hashes and len(password) <= MAX_PASSWORD
        return False


def line(name: str, password: str) -> str:
    """Format a login as a line of the file, without its line break."""
    if not name or name != name.strip() or name[0] == "#" or ":" in name or not name.isprintable():
        raise UserError(
            f"{name!r} cannot be the name of a login.",
            "Use letters, digits and other characters except the colon.",
        )
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        raise UserError(
            f"The password has {len(password)} characters.",
            f"Choose one of {MIN_PASSWORD} to {MAX_PASSWORD}.",
        )
    return f"{name}:{PasswordHasher().hash(password)}"


def _is_hash(text: str) -> bool:
    with suppress(InvalidHash):
        extract_parameters(text)
        return True
    return False


def _bytes(password: str) -> bytes:
    return password.encode("utf-8", "replace")


@terminal.plain_errors
def password(
    name: Annotated[str, typer.Argument(help="Of the login.")],
    as_json: terminal.JsonOption = False,
) -> None:
    """Make a line for --auth-file: a name and its password, hashed by Argon2id.

    The password is read from the terminal, or is the first line of what is piped in.

    theodolite password ada >> logins
    """
    if sys.stdin.isatty():
        text = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        text = sys.stdin.readline().rstrip("\r\n")
    entry = line(name, text)
    if as_json:
        terminal.emit_json({"name": name, "hash": entry.partition(":")[2]})
    else:
        terminal.line(entry)
