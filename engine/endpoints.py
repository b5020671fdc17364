"""Servers with OpenAI's API: their address, permission to send texts, and retries.

Nothing leaves the machine unless the caller names the address as one that texts may be sent to.
The content of requests and answers is left to the caller: `engine.encoders.endpoint` requests
embeddings.
"""

from __future__ import annotations

import email.utils
import ipaddress
import json
import os
import random
import re
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from theodolite.engine.errors import UserError, first_line

if TYPE_CHECKING:
    import httpx2

KEY = "THEODOLITE_API_KEY"
"""The environment variable of the key. With `_` and a host appended, as in
`THEODOLITE_API_KEY_API_OPENAI_COM`, it is the key of that host and takes precedence."""
TRIES = 6
FIRST_WAIT, LONGEST_WAIT = 0.5, 120.0
"""Seconds before the first retry, doubled for each later one; the most a server may ask for."""
SECONDS = 120.0
"""Timeout of one answer, from the request to its last byte."""
MAX_BYTES = 2**28
_CONNECT_SECONDS = 10.0
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_TOO_MUCH = frozenset({400, 413, 422})


class Unacceptable(UserError):
    """The server rejected the request; it may accept a smaller one."""


class _Again(Exception):
    """One try failed, for a reason that may be temporary.

    Args:
        why: the reason, for people.
        seconds: the wait that the server asks for, if any.
    """

    def __init__(self, why: str, seconds: float | None = None) -> None:
        super().__init__(why)
        self.seconds = seconds


@dataclass(frozen=True)
class Address:
    """A model of a server, written `URL#MODEL`.

    Attributes:
        url: of the API, as `https://api.openai.com/v1`: without a trailing slash.
        model: its name on the server.
    """

    url: str
    model: str

    @classmethod
    def parse(cls, text: str) -> Address:
        """Parse `URL#MODEL`; a path of a single service at the end of the URL is dropped."""
        url, _, model = text.strip().partition("#")
        try:
            parts = urlsplit(url)
            host, port = (parts.hostname or "").lower(), parts.port
        except ValueError:
            host, port = "", None
        if "@" in url or parts.query:  # before any message that repeats the address
            raise UserError(
                "The address of an endpoint contains a password or a query, which would be stored.",
                f"Write URL#MODEL alone; the key is read from {KEY}.",
            )
        if parts.scheme not in ("http", "https") or not host or not model.strip():
            raise UserError(
                f"'{text}' is not an endpoint.",
                "Write URL#MODEL, as https://api.openai.com/v1#MODEL.",
            )
        path = re.sub(r"(/embeddings|/chat/completions)?/*$", "", parts.path)
        place = f"[{host}]" if ":" in host else host
        address = cls(f"{parts.scheme}://{place}{f':{port}' if port else ''}{path}", model.strip())
        if parts.scheme == "http" and not address.is_here:
            raise UserError(
                f"http would send texts to {host} unencrypted.",
                "Write https.",
                code="denied",
            )
        return address

    @property
    def host(self) -> str:
        """Name of the host, with the port if one is given."""
        return urlsplit(self.url).netloc

    @property
    def is_here(self) -> bool:
        """Whether texts sent to the server stay on this machine."""
        host = urlsplit(self.url).hostname or ""
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"{self.url}#{self.model}"


class Endpoint:
    """Client of a server, with retries and rate limits. Thread-safe.

    Args:
        address: of the server and its model.
        send_texts: URLs that texts may be sent to; one on this machine is always allowed.
        rpm: most requests per minute.
        tpm: most tokens per minute, as counted by the caller.
        seconds: timeout of one answer.
        sleep: called with the seconds to wait.
        clock: returns monotonic seconds, for the limits per minute.
    """

    def __init__(
        self,
        address: Address,
        send_texts: Collection[str] = (),
        *,
        rpm: int | None = None,
        tpm: int | None = None,
        seconds: float = SECONDS,
        sleep: Callable[[float], object] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.address = address
        self.may_send = address.is_here or address.url in send_texts
        self._between = 60 / rpm if rpm else 0.0
        self._each_token = 60 / tpm if tpm else 0.0
        self._seconds = seconds
        self._sleep = sleep
        self._clock = clock
        self._next = 0.0
        self._lock = threading.Lock()

    def post(
        self, path: str, body: Mapping[str, Any], *, tokens: int = 0, tries: int = TRIES
    ) -> dict[str, Any]:
        """Send a request and return the answer, a JSON object.

        Args:
            path: of the service, below the address: `embeddings`.
            body: the request; the model is added.
            tokens: approximate number in the request, for the limit of tokens.
            tries: most requests made.

        Raises:
            Unacceptable: the server refuses the request, and may accept a smaller one.
        """
        if not self.may_send:
            raise UserError(
                f"Nothing leaves this machine without permission, and {self.address.host} would "
                "receive texts.",
                "Allow it: `theodolite encoders add 'SPEC' --send-texts`, the box on the page "
                f"Encoders, or load(SPEC, send_texts=['{self.address.url}']).",
                code="denied",
            )
        content = json.dumps({"model": self.address.model, **body}).encode()
        why = ""
        for number in range(tries):
            self._pace(tokens)
            try:
                return self._once(path, content)
            except _Again as again:
                why, retry_after = str(again), again.seconds
            if retry_after is not None and retry_after > LONGEST_WAIT:
                why += f", and asks to wait {retry_after:,.0f} seconds"
                break
            if number + 1 < tries:  # jitter: clients that failed together do not retry together
                wait = FIRST_WAIT * 2**number * random.uniform(0.5, 1.0)
                self._sleep(wait if retry_after is None else retry_after + wait)
        raise UserError(
            f"{self.address.host} gave no answer: {why}.", "Try again later.", code="unreachable"
        )

    def _pace(self, tokens: int) -> None:
        """Wait until the limits allow the next request."""
        with self._lock:
            now = self._clock()
            wait = self._next - now
            self._next = max(now, self._next) + max(self._between, self._each_token * tokens)
        if wait > 0:
            self._sleep(wait)

    @cached_property
    def _client(self) -> httpx2.Client:
        import httpx2

        # A proxy from the environment does not lead to this machine. Redirects are not followed.
        return httpx2.Client(
            timeout=httpx2.Timeout(self._seconds, connect=_CONNECT_SECONDS),
            trust_env=not self.address.is_here,
        )

    def _once(self, path: str, content: bytes) -> dict[str, Any]:
        import httpx2

        key = _key(self.address)
        headers = {"Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        url = f"{self.address.url}/{path}"
        end = time.monotonic() + self._seconds
        try:
            with self._client.stream("POST", url, content=content, headers=headers) as answer:
                raw = bytearray()
                for part in answer.iter_bytes():
                    raw += part
                    if time.monotonic() > end:
                        raise httpx2.ReadTimeout("")
                    if len(raw) > MAX_BYTES:
                        raise UserError(
                            f"The answer of {self.address.host} is over {MAX_BYTES >> 20} MiB.",
                            code="too-large",
                        )
        except httpx2.TimeoutException as error:
            raise _Again(f"nothing within {self._seconds:g} seconds") from error
        except httpx2.HTTPError as error:
            raise _Again(f"the connection broke ({first_line(error)})") from error
        text = raw.decode("utf-8", "replace")
        if answer.is_success:
            return self._object(text)
        message = _error_message(text).replace(key, "…") if key else _error_message(text)
        raise self._refusal(answer, f"HTTP {answer.status_code}{f': {message}' if message else ''}")

    def _object(self, text: str) -> dict[str, Any]:
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError) as error:
            if not text.lstrip().startswith("<"):
                raise _Again("half an answer") from error
            answer = None
        if not isinstance(answer, dict):
            raise UserError(
                f"{self.address.url} does not speak OpenAI's API: the answer is not a JSON object.",
                "The address usually ends with /v1.",
                code="wrong-kind",
            )
        return answer

    def _refusal(self, answer: httpx2.Response, text: str) -> Exception:
        """Return the exception for an answer with an error status."""
        host, status = self.address.host, answer.status_code
        if status in _AGAIN:
            return _Again(text, _retry_after(answer.headers.get("retry-after", "")))
        if answer.is_redirect:
            to = urlsplit(answer.headers["location"]).netloc or "another path"
            return UserError(
                f"{host} sends on to {to}; texts and keys do not follow.",
                "Give the address where the API is.",
                code="unreachable",
            )
        if status in (401, 403):
            hint = f"Set the environment variable {KEY}, or {_own_key(self.address)} for this host."
            return UserError(f"{host} denies access ({text}).", hint, code="denied")
        kind = Unacceptable if status in _TOO_MUCH else UserError
        return kind(
            f"{host} refuses ({text}).",
            "Check the address, the model and its limits.",
            code="unreachable",
        )


def _own_key(address: Address) -> str:
    return f"{KEY}_{re.sub('[^A-Z0-9]', '_', (urlsplit(address.url).hostname or '').upper())}"


def _key(address: Address) -> str:
    """The key for a host, from the environment alone; empty without one."""
    for name in (_own_key(address), KEY):
        if value := os.environ.get(name, "").strip():
            if not re.fullmatch(r"[!-~]+", value):
                raise UserError(f"{name} contains a character that no key has.", "Set it again.")
            return value
    return ""


def _error_message(text: str) -> str:
    """Extract the error message: from an error object like OpenAI's, or the first line."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return "" if text.lstrip().startswith("<") else text.strip().partition("\n")[0][:200]
    for key in ("error", "detail", "message"):
        message = message.get(key, message) if isinstance(message, dict) else message
    return message[:200] if isinstance(message, str) else ""


def _retry_after(text: str) -> float | None:
    """Parse a `Retry-After` header, a number or a date, to seconds; None if it is neither."""
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
