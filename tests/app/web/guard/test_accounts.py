"""Logins: from a file, hashed by Argon2; each wrong password makes the next one wait."""

import asyncio
from pathlib import Path
from unittest.mock import Mock

import pytest
from argon2 import PasswordHasher

from tests.app.web.guard.conftest import Clock
from tests.errors import refused
from tests.fakes.started import launched
from theodolite.app.web.guard import accounts
from theodolite.app.web.guard.login import (
    FREE_BY_ADDRESS,
    FREE_BY_NAME,
    MAX_WAIT,
    Login,
    visitor,
)
from theodolite.app.workspace import Workspace


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Argon2 with little work: how much is the package's own choice."""
    defaults = PasswordHasher.__init__.__defaults__
    monkeypatch.setattr(PasswordHasher.__init__, "__defaults__", (1, 8, 1, *defaults[3:]))


def test_the_logins_of_a_file_match_their_passwords_and_no_others(tmp_path: Path) -> None:
    """The lines are as the verb writes them; the hash is argon2-cffi's to check."""
    made = accounts.line("ada", "lovelace:1815")
    assert PasswordHasher().verify(made.partition(":")[2], "lovelace:1815")
    assert "lovelace" not in made
    file = tmp_path / "logins"
    file.write_text(f"# who may come\n\n{made}\n{accounts.line('bob', 'another one')}\n")
    found = accounts.Accounts.read(file)
    assert found.match("ada", "lovelace:1815") and found.match("bob", "another one")
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
    tmp_path: Path, text: str, code: str, named: str
) -> None:
    """A password that stands there as it is would be taken for one that is safe."""
    (tmp_path / "logins").write_text(text)
    with refused(code, named) as error:
        accounts.Accounts.read(tmp_path / "logins")
    assert "lovelace" not in str(error.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    """With what writes one."""
    with refused("no-file", "logins", "theodolite password"):
        accounts.Accounts.read(tmp_path / "logins")


@pytest.mark.parametrize(
    ("name", "password", "named"),
    [
        *((name, "long enough", repr(name)) for name in ("", " ada", "a:b", "#ada", "a\nb")),
        *(("ada", text, len(text)) for text in ("", "short", "x" * 1001)),
    ],
)
def test_what_makes_no_line_of_the_file_is_refused(name: str, password: str, named: object) -> None:
    """A name that it could not hold; a password guessed at once, or one that takes long to hash."""
    with refused("invalid", named):
        accounts.line(name, password)


LOGIN = ("ada", "lovelace")


async def tried(login: Login, password: str, address: str = "10.0.0.1", name: str = "ada"):
    """What a try gets: yes, no, or the seconds to wait."""
    visitor.set(address)
    try:
        return await login.check(name, password)
    except Exception as error:
        assert error.status_code == 429
        return int(error.headers["Retry-After"])


def test_guesses_made_at_once_are_not_all_looked_at() -> None:
    """Of fifty in the same moment as many as of fifty in a row."""
    match = Mock(return_value=False)

    async def guess() -> None:
        login = Login(match, Clock())
        await asyncio.gather(*(tried(login, str(n)) for n in range(50)))

    asyncio.run(guess())
    assert match.call_count == FREE_BY_ADDRESS


def test_each_wrong_password_makes_the_next_wait_longer() -> None:
    """Twice as long each time, up to a quarter of an hour; the right one has to wait, too."""

    async def guess() -> list[int]:
        clock = Clock()
        login, waits = Login(accounts.Accounts.one(*LOGIN).match, clock), []
        for _ in range(FREE_BY_ADDRESS):
            assert await tried(login, "wrong") is False
        for _ in range(14):
            waits.append(await tried(login, LOGIN[1]))
            clock.now += waits[-1]
            assert await tried(login, "wrong") is False
        clock.now += MAX_WAIT
        words = (LOGIN[1], "wrong", LOGIN[1])  # free ones again
        assert [await tried(login, word) for word in words] == [True, False, True]
        return waits

    assert asyncio.run(guess()) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, *[900] * 4]


def test_many_addresses_that_guess_at_one_name_are_held_back() -> None:
    """But not one from which the right password came before, nor guesses at another name."""

    async def guess() -> None:
        login = Login(accounts.Accounts.one(*LOGIN).match, Clock())
        assert await tried(login, LOGIN[1], "10.0.0.1") is True
        for number in range(FREE_BY_NAME):
            assert await tried(login, "wrong", f"10.0.1.{number}") is False
        assert await tried(login, LOGIN[1], "10.0.2.1") == 1
        assert await tried(login, LOGIN[1], "10.0.0.1") is True
        assert await tried(login, "wrong", "10.0.2.1", "bob") is False

    asyncio.run(guess())


def test_the_app_answers_guesses_so(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a hundred guesses over HTTP five are looked at, and then not even the right one is."""
    monkeypatch.setattr(Login.__init__, "__defaults__", (Clock(),))
    with launched(workspace, auth=LOGIN) as guesser:
        tries = [
            guesser.post("/login", data={"username": "ada", "password": password})
            for password in [*map(str, range(100)), LOGIN[1]]
        ]
    assert [one.status_code for one in tries] == [400] * FREE_BY_ADDRESS + [429] * 96
    assert tries[-1].headers["retry-after"] == "1"
