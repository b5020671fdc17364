"""Logins from a file: hashed by Argon2, and what is no such file is said."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from tests.errors import refused
from theodolite.app.web.guard import accounts
from theodolite.app.web.guard.accounts import Accounts
from theodolite.app.web.guard.login import Login, visitor
from theodolite.engine.errors import Code


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Argon2 with little work: how much is the package's own choice."""
    defaults = PasswordHasher.__init__.__defaults__
    assert defaults is not None
    monkeypatch.setattr(PasswordHasher.__init__, "__defaults__", (1, 8, 1, *defaults[3:]))


def test_the_logins_of_a_file_match_their_passwords_and_no_others(tmp_path: Path) -> None:
    """The lines are as the verb writes them; the hash is argon2-cffi's to check."""
    made = accounts.line("ada", "lovelace:1815")
    assert PasswordHasher().verify(made.partition(":")[2], "lovelace:1815")
    assert "lovelace" not in made
    file = tmp_path / "logins"
    file.write_text(f"# who may come\n\n{made}\n{accounts.line('bob', 'another one')}\n")
    found = Accounts.read(file)
    assert found.match("ada", "lovelace:1815")
    assert found.match("bob", "another one")
    for name, password in (
        ("ada", "another one"),
        ("eve", "lovelace:1815"),
        ("", ""),
        ("ada", ""),
        ("ada", "\ud800"),
        ("ada", "x" * 100_000),
    ):
        assert not found.match(name, password)


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("", "missing", "logins"),
        ("# nobody\n", "missing", "logins"),
        ("ada:lovelace\n", "damaged", "Line 1"),
        ("ada\n", "damaged", "Line 1"),
        (":$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA\n", "damaged", "Line 1"),
    ],
    ids=repr,
)
def test_a_file_without_hashed_passwords_is_refused(
    tmp_path: Path, text: str, code: Code, named: str
) -> None:
    """A password that stands there as it is would be taken for one that is safe."""
    (tmp_path / "logins").write_text(text)
    with refused(code, named) as error:
        Accounts.read(tmp_path / "logins")
    assert "lovelace" not in str(error.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    """With what writes one."""
    with refused("no-file", "logins", "theodolite password"):
        Accounts.read(tmp_path / "logins")


@pytest.mark.parametrize("name", ["", " ada", "a:b", "#ada", "a\nb"])
def test_names_that_the_file_could_not_hold_are_refused(name: str) -> None:
    """Before a password is hashed."""
    with refused("invalid", repr(name)):
        accounts.line(name, "long enough")


@pytest.mark.parametrize("password", ["", "short", "x" * 1001])
def test_a_password_has_a_length(password: str) -> None:
    """Neither one that is guessed at once nor one that takes long to hash."""
    with refused("invalid", len(password)):
        accounts.line("ada", password)


def test_guesses_made_at_once_are_not_all_looked_at() -> None:
    """Of fifty in the same moment as many as of fifty in a row."""
    looked: list[str] = []

    def match(name: str, password: str) -> bool:
        looked.append(password)
        return False

    async def guess() -> None:
        visitor.set("10.0.0.9")
        login = Login(match, lambda: 0.0)
        tries = (login.check("ada", str(n)) for n in range(50))
        await asyncio.gather(*tries, return_exceptions=True)

    asyncio.run(guess())
    assert len(looked) == 5
