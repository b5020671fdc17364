"""Clients that keep the server waiting: they are left after a while, and use up nothing."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from theodolite.app.web.guard import connections

HALF = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n"


async def _echo(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def _slow(request: Request) -> Response:
    """As the stream of events to a page: long silence, then a word."""

    async def words() -> Iterator[bytes]:  # type: ignore[misc]
        yield b"begun "
        await asyncio.sleep(1.2)
        yield b"ended"

    return StreamingResponse(words())


async def _busy(request: Request) -> Response:
    """An app that takes its time before it reads."""
    await asyncio.sleep(1.2)
    return PlainTextResponse(str(len(await request.body())))


async def _large(request: Request) -> Response:
    async def pieces() -> Iterator[bytes]:  # type: ignore[misc]
        for _ in range(2000):
            yield b"x" * 2**16

    return StreamingResponse(pieces())


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server whose patience is short."""
    monkeypatch.setattr(connections, "PATIENCE", 0.8)
    monkeypatch.setattr(connections, "MAX_OF_ADDRESS", 20)
    routes = [
        Route("/echo", _echo, methods=["POST"]),
        Route("/slow", _slow),
        Route("/busy", _busy, methods=["POST"]),
        Route("/large", _large),
    ]
    config = uvicorn.Config(
        Starlette(routes=routes), http=connections.Connection, log_level="error"
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join(10.0)


def _open(port: int, text: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=10.0)
    made.sendall(text)
    return made


def _closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("begun", [b"", b"GET / HT", HALF, HALF + b"\r\nhalf of it"], ids=str)
def test_half_a_request_is_waited_for_so_long_and_no_longer(port: int, begun: bytes) -> None:
    """Nothing, half a head, half a body: the connection is closed."""
    with _open(port, begun) as connection:
        assert _closed(connection)


def test_a_head_that_trickles_in_gets_no_more_time(port: int) -> None:
    """A byte now and then is not a request."""
    with _open(port) as connection, pytest.raises(OSError):
        for byte in b"GET /slow HTTP/1.1\r\nX-Long: " + b"a" * 100:
            connection.sendall(bytes([byte]))
            time.sleep(0.1)


def test_who_takes_in_no_response_is_left(port: int) -> None:
    """A connection that is not read from ends before all was sent."""
    with _open(port, b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n") as connection:
        time.sleep(2.0)
        got = 0
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(2**20):
                got += len(piece)
        assert got < 2000 * 2**16


def test_who_goes_on_sending_what_was_refused_is_left(port: int) -> None:
    """Some of it is taken, so that a browser comes to read the answer."""
    head = b"POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
    with _open(port, head % 2**22) as connection:
        connection.sendall(bytes(2**22))
        assert b"404" in connection.recv(1000)
    with _open(port, head % 2**28) as connection, pytest.raises(OSError):
        connection.sendall(bytes(2**28))


def test_what_takes_long_is_not_cut_off(port: int) -> None:
    """A stream that is silent, an upload that goes on, an app that has not begun to read."""

    def trickle() -> Iterator[bytes]:
        for _ in range(12):
            time.sleep(0.1)
            yield b"12345"

    address = f"http://127.0.0.1:{port}"
    assert httpx.get(f"{address}/slow").text == "begun ended"
    assert httpx.post(f"{address}/echo", content=trickle()).text == "60"
    assert httpx.post(f"{address}/busy", content=b"x" * 2**20).text == str(2**20)


def test_a_crowd_of_half_requests_locks_nobody_out(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one address only so many are waited for; streams that are open stay."""
    monkeypatch.setattr(connections, "PATIENCE", 60.0)
    address = f"http://127.0.0.1:{port}"
    with contextlib.ExitStack() as held, httpx.stream("GET", f"{address}/slow") as stream:
        crowd = [held.enter_context(_open(port, HALF)) for _ in range(150)]
        for _ in range(3):
            assert httpx.post(f"{address}/echo", content=b"abc", timeout=5.0).text == "3"
        assert stream.read() == b"begun ended"
        crowd.reverse()  # the newest of them are still waited for
        time.sleep(0.2)
        assert all(map(_closed, crowd[20:]))
        crowd[0].settimeout(0.2)
        with pytest.raises(TimeoutError):
            crowd[0].recv(1)
