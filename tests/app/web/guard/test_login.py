"""Guesses at the password: each wrong one makes the next wait."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx

from tests.app.web.guard.conftest import Clock
from theodolite.app import ui
from theodolite.app.web.guard.accounts import Accounts
from theodolite.app.web.guard.login import (
    FREE_BY_ADDRESS,
    FREE_BY_NAME,
    MAX_WAIT,
    Login,
    visitor,
)
from theodolite.app.workspace import Workspace

LOGIN = ("ada", "lovelace")


async def tried(login: Login, password: str, address: str = "10.0.0.1", name: str = "ada") -> Any:
    """What a try gets: yes, no, or the seconds to wait."""
    visitor.set(address)
    try:
        return await login.check(name, password)
    except Exception as error:
        assert error.status_code == 429  # type: ignore[attr-defined]
        return int(error.headers["Retry-After"])  # type: ignore[attr-defined]


def test_each_wrong_password_makes_the_next_wait_longer() -> None:
    """Twice as long each time, up to a quarter of an hour; the right one has to wait, too."""

    async def guess() -> list[int]:
        clock = Clock()
        login, waits = Login(Accounts.one(*LOGIN).match, clock), []
        for _ in range(FREE_BY_ADDRESS):
            assert await tried(login, "wrong") is False
        for _ in range(14):
            waits.append(await tried(login, LOGIN[1]))
            clock.now += waits[-1]
            assert await tried(login, "wrong") is False
        clock.now += MAX_WAIT
        assert await tried(login, LOGIN[1]) is True
        assert await tried(login, "wrong") is False  # free ones again
        assert await tried(login, LOGIN[1]) is True
        return waits

    assert asyncio.run(guess()) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, *[900] * 4]


def test_many_addresses_that_guess_at_one_name_are_held_back() -> None:
    """But not one from which the right password came before, nor guesses at another name."""

    async def guess() -> None:
        login = Login(Accounts.one(*LOGIN).match, Clock())
        assert await tried(login, LOGIN[1], "10.0.0.1") is True
        for number in range(FREE_BY_NAME):
            assert await tried(login, "wrong", f"10.0.1.{number}") is False
        assert await tried(login, LOGIN[1], "10.0.2.1") == 1
        assert await tried(login, LOGIN[1], "10.0.0.1") is True
        assert await tried(login, "wrong", "10.0.2.1", "bob") is False

    asyncio.run(guess())


def test_the_app_answers_guesses_so(tmp_path: Path) -> None:
    """Of a hundred guesses over HTTP five are looked at, and then not even the right one is."""
    workspace = Workspace(tmp_path / "store")
    demo = ui.launch(workspace, open_browser=False, block=False, auth=LOGIN)
    with httpx.Client(base_url=demo.local_url) as guesser:
        codes = [
            guesser.post("/login", data={"username": "ada", "password": str(n)}).status_code
            for n in range(100)
        ]
        last = guesser.post("/login", data={"username": "ada", "password": "lovelace"})
    demo.close()
    workspace.close()
    assert codes[:FREE_BY_ADDRESS] == [400] * FREE_BY_ADDRESS
    assert codes.count(400) <= FREE_BY_ADDRESS + 3  # a wait of seconds may have passed
    assert last.status_code == 429
    assert int(last.headers["retry-after"]) >= 1
