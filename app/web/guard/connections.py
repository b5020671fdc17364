"""Connections that keep the server waiting are closed, so that they cannot use up all there are.

The server waits for a client that has not sent the whole of a request, or does not take in the
response. Uvicorn waits for ever. A connection whose request is being answered, such as the stream
of events to an open page, is left alone however long that takes: nothing here stops many tabs, nor
a proxy, behind which all visitors share an address and which sends whole requests.
"""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.server import ServerState

PATIENCE = 30.0
"""Seconds for the head of a request, for each next piece of a body, and for each of a response."""
MAX_WAITING, MAX_OF_ADDRESS = 256, 100
"""Connections that the server waits for: one more, and that which is waited for longest is closed.
Systems commonly let a process have 1,024 files and connections."""
MAX_UNREAD = 2**24
"""Bytes of a body that still come once the request was refused: a browser first sends them all."""

_of_server: WeakKeyDictionary[ServerState, dict[Connection, None]] = WeakKeyDictionary()


class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """Uvicorn's, with an end to its patience."""

    _timer: asyncio.TimerHandle | None = None
    _held_up = False
    _unread = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._waiting = _of_server.setdefault(self.server_state, {})
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        self._look()

    def data_received(self, data: bytes) -> None:
        """Wait for the next piece of a body anew, but for the head of a request once."""
        super().data_received(data)
        if self._in_body():
            self._leave()
            self._held_up = self.flow.read_paused
        elif self.cycle is not None and self.cycle.more_body:  # answered before it was sent
            self._unread += len(data)
            if self._unread > MAX_UNREAD:
                self._end()
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._unread = 0
        self._leave()
        self._look()

    def pause_writing(self) -> None:
        """Wait for the client to take in what was sent."""
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        """Wait no longer."""
        super().resume_writing()
        self._leave()
        self._look()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _in_body(self) -> bool:
        return self._is_answering() and bool(self.cycle.more_body)

    def _waits(self) -> bool:
        """Whether it is the client's turn."""
        if self not in self.connections:  # closed, or no longer of HTTP
            return False
        return not self._is_answering() or self._in_body() or self.flow.write_paused

    def _look(self) -> None:
        """Begin to wait, go on waiting, or end it."""
        if not self._waits():
            self._leave()
        elif self not in self._waiting:
            self._waiting[self] = None
            self._timer = self.loop.call_later(PATIENCE, self._lose_patience)
            mine = [one for one in self._waiting if one._address() == self._address()]
            if len(mine) > MAX_OF_ADDRESS:
                mine[0]._end()
            elif len(self._waiting) > MAX_WAITING:
                next(iter(self._waiting))._end()

    def _leave(self) -> None:
        self._waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _lose_patience(self) -> None:
        """Close the connection, unless it was the app that did not read on."""
        held_up, self._held_up = self._held_up, self._in_body() and self.flow.read_paused
        if held_up:
            self._leave()
            self._look()
        else:
            self._end()

    def _end(self) -> None:
        self._leave()  # it is lost later, when others may have come
        self.transport.abort()

    def _address(self) -> Any:
        return self.client and self.client[0]
