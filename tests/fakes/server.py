"""What the fake servers have in common: a thread that serves, and answers with their length."""

import contextlib
import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Generic, Self, TypeVar

Fake = TypeVar("Fake", bound="FakeServer")


class _Server(ThreadingHTTPServer):
    """Knows its connections: a client that keeps one would be answered after the end, too."""

    def __init__(self, *given) -> None:
        super().__init__(*given)
        self._open = set()

    def process_request(self, request, client_address) -> None:
        """Answer a connection, in a thread of its own."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request) -> None:
        """End a connection."""
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """End every connection."""
        for request in list(self._open):
            with contextlib.suppress(OSError):
                request.shutdown(socket.SHUT_RDWR)


class FakeServer:
    """Serves on this machine until the `with` block ends or it is closed.

    Attributes:
        url: of its root.
    """

    def __init__(self, handler: "type[Handler]", host: str = "127.0.0.1") -> None:
        self._server = _Server((host, 0), handler)
        self._server.daemon_threads = True
        self._server.fake = self
        self.url = f"http://{host}:{self._server.server_port}"

    def close(self) -> None:
        """Stop answering, as without a network: the port refuses from now on."""
        self._server.shutdown()
        self._server.server_close()
        self._server.hang_up()

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Handler(BaseHTTPRequestHandler, Generic[Fake]):
    """One connection to a fake."""

    protocol_version = "HTTP/1.1"

    @property
    def fake(self) -> Fake:
        """The server."""
        return self.server.fake

    def read(self) -> bytes:
        """The body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send_json(self, value: object, status: int = 200, **headers: str) -> None:
        """Answer with JSON."""
        content = {"Content_Type": "application/json"}
        self.send(status, json.dumps(value).encode(), **content | headers)

    def send(self, status: int, body: bytes, **headers: str) -> None:
        """Answer; headers have `_` for `-`."""
        self.send_response(status)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: pytest's output is for failures."""
