"""The login: its page, and the check, which each failed attempt makes slower the next time."""

import asyncio
import math
import time
from collections.abc import Callable
from contextvars import ContextVar

from gradio.utils import LRUCache
from starlette.responses import HTMLResponse

from theodolite.app.web.guard import policy
from theodolite.app.web.guard.limits import MAX_KEPT, Refused
from theodolite.app.web.guard.plain_page import plain_page
from theodolite.app.web.template import MANIFEST

visitor: ContextVar[str] = ContextVar("visitor", default="")
"""The address that sent the current request."""

FREE_BY_ADDRESS = 5
"""Failed attempts of an address before it has to wait: people mistype."""
FREE_BY_NAME = 20
"""The same for a name, from any address: many addresses may guess at one name."""
MAX_WAIT = 900.0
FORGOTTEN_AFTER = 3600.0
_FORM = """
<form method="post" action="./login">
<label>Name <input name="username" autocomplete="username" required autofocus></label>
<label>Password
<input name="password" type="password" autocomplete="current-password" required></label>
<p role="alert"></p>
<button>Sign in</button>
</form>
<small>After five wrong tries the next has to wait, each time twice as long, at most a quarter of an
hour. Attempts made before then are ignored.</small>
"""
_SCRIPT = """
const form = document.querySelector("form"), said = document.querySelector("[role=alert]");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  said.textContent = "";
  try {
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form) });
    if (answer.ok) return location.reload();
    const wrong = answer.status === 400;
    said.textContent = wrong ? "Name and password do not match." : (await answer.json()).detail;
  } catch {
    said.textContent = "The app does not answer. Try again in a moment.";
  }
  form.password.select();
});
"""


def login_page() -> HTMLResponse:
    """The page with the form, in place of one that somebody opens who is not signed in."""
    script = f'<script nonce="{policy.number()}">{_SCRIPT}</script>'
    return HTMLResponse(plain_page("Sign in", _FORM + script, head=f"{MANIFEST}>"))


class _Waits:
    """Waiting times by key, from the number of failed attempts."""

    def __init__(self, free: int, clock: Callable[[], float]) -> None:
        self._free = free
        self._clock = clock
        self._failures: LRUCache[str, tuple[int, float]] = LRUCache(MAX_KEPT)
        """Number of failures, and the time of the last."""

    def left(self, key: str) -> float:
        """Seconds until the next attempt is accepted."""
        count, last = self._failures.get(key, (0, 0.0))
        if count < self._free:
            return 0.0
        wait = min(MAX_WAIT, 2.0 ** min(count - self._free, 20))
        return max(0.0, last + wait - self._clock())

    def fail(self, key: str) -> None:
        """Record a failed attempt."""
        now = self._clock()
        count, last = self._failures.get(key, (0, now))
        self._failures[key] = (1 if now - last > FORGOTTEN_AFTER else count + 1, now)

    def forget(self, key: str) -> None:
        """Forget the failures of a key."""
        self._failures.pop(key, None)


class Login:
    """The login check, with waiting times after failed attempts.

    Attempts are slowed down by address, and by name from any address. An address that has signed in
    before is slowed down by its own failures only, so that strangers who guess cannot lock the
    owner out.
    """

    def __init__(
        self, match: Callable[[str, str], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._match = match
        self._by_address = _Waits(FREE_BY_ADDRESS, clock)
        self._by_name = _Waits(FREE_BY_NAME, clock)
        self._welcome: LRUCache[str, None] = LRUCache(MAX_KEPT)
        self._one_at_a_time = asyncio.Lock()

    async def check(self, name: str, password: str) -> bool:
        """Whether name and password are a login; Gradio's `auth`.

        Checks run one after another: concurrent guesses would all be checked before the first has
        failed, and hashing a password takes memory by design.

        Raises:
            Refused: after too many failed attempts.
        """
        self._refuse_early(name)
        async with self._one_at_a_time:
            self._refuse_early(name)  # others may have failed meanwhile
            right = await asyncio.to_thread(self._match, name, password)
            address = visitor.get()
            if not right:
                self._by_address.fail(address)
                self._by_name.fail(name[:100])
                return False
            self._by_address.forget(address)
            self._welcome[address] = None
            return True

    def _refuse_early(self, name: str) -> None:
        address = visitor.get()
        wait = self._by_address.left(address)
        if address not in self._welcome:
            wait = max(wait, self._by_name.left(name[:100]))
        if wait > 0:
            raise Refused(429, f"Too many failed attempts. Try again in {math.ceil(wait)} s.", wait)
