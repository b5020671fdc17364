"""A local server that speaks OpenAI's API over a socket, and its ways of failing.

    with FakeOpenAI() as server:
        load(f"api:{server.url}#fake").encode(["a boat"])

A vector is the text's length and the codes of its first characters. Asked for a chat it judges: the
grade is what `server.judge` makes of query and document; for a document alone it writes a query of
the document's first words. What goes wrong is said in
advance: `server.next += [...]` of callables that answer one request each in place of the usual.
"""

import json
import threading
from collections.abc import Callable

from tests.fakes.server import FakeServer, Handler

DIM, JSON = 4, "application/json"
Answering = Callable[["Request"], None]


def vector(text: str, dim: int = DIM) -> list[float]:
    """What the server makes of a text."""
    return [float(len(text)), *(float(ord(c)) for c in text[: dim - 1].ljust(dim - 1))]


class FakeOpenAI(FakeServer):
    """Serves until the `with` block ends.

    Attributes:
        url: of the API.
        next: how the requests to come are answered; the usual way when it is empty.
        most: texts of a request; more are refused as too many.
        judge: (query, document) -> what it says in a chat.
        requests: (headers, body) of everything asked for, in order.
    """

    def __init__(self) -> None:
        self.next: list[Answering] = []
        self.most = 2048
        self.judge: Callable[[str, str], str] = lambda query, document: grade(0)
        self.requests = []
        super().__init__(Request)
        self.url += "/v1"

    @property
    def texts(self) -> list[str]:
        """Every text that was asked for, as often as it was."""
        return [text for _, body in self.requests for text in body["input"]]

    @property
    def judged(self) -> list[tuple[str, str]]:
        """Every query with the document that a mark was asked for, as often as it was."""
        chats = [body["messages"] for _, body in self.requests if "messages" in body]
        return [(request["query"], request["document"]) for request in map(question, chats)]


class Request(Handler[FakeOpenAI]):
    """One request."""

    body: dict

    def do_POST(self) -> None:
        """Answer as was said in advance, else with vectors."""
        fake = self.fake
        self.body = json.loads(self.read())
        fake.requests.append((dict(self.headers), self.body))
        if fake.next:
            fake.next.pop(0)(self)
        elif "messages" in self.body:
            self.send_json(self.usual(), 200)
        elif self.path != "/v1/embeddings":
            self.send_json({"error": {"message": f"no {self.path}"}}, 404)
        elif len(self.body["input"]) > fake.most:
            self.send_json({"error": f"batch size {len(self.body['input'])} > {fake.most}"}, 413)
        else:
            self.send_json(self.usual(), 200)

    def usual(self) -> dict:
        """The right answer, its vectors in another order than the texts."""
        if "messages" in self.body:
            asked_for = question(self.body["messages"])
            if "query" not in asked_for:
                words = asked_for["document"].split()[:5]
                return chat(json.dumps({"query": " ".join(words)}))
            return chat(self.fake.judge(asked_for["query"], asked_for["document"]))
        dim = self.body.get("dimensions", DIM)
        data = [
            {"object": "embedding", "index": i, "embedding": vector(text, dim)}
            for i, text in enumerate(self.body["input"])
        ]
        return {"object": "list", "data": data[::-1], "model": self.body["model"]}


def question(messages: list[dict[str, str]]) -> dict[str, str]:
    """What a judge is asked."""
    return json.loads(messages[-1]["content"])


def grade(number: int) -> str:
    """What a judge is to say."""
    return json.dumps({"grade": number})


def chat(content) -> dict:
    """The answer of a chat."""
    return {"object": "chat.completion", "choices": [{"message": {"content": content}}]}


def talking(content) -> Answering:
    """Say this in a chat."""
    return lambda request: request.send_json(chat(content), 200)


def status(code: int, message: str = "", **headers: str) -> Answering:
    """Answer with an error."""
    return lambda request: request.send_json({"error": {"message": message}}, code, **headers)


def saying(change: Callable) -> Answering:
    """Answer with the usual, changed in place or replaced by what the function returns."""

    def answer(request: Request) -> None:
        usual = request.usual()
        changed = change(usual)
        request.send_json(usual if changed is None else changed, 200)

    return answer


def half(request: Request) -> None:
    """Break off in the middle of the answer."""
    content = json.dumps(request.usual()).encode()
    request.send(
        200, content[: len(content) // 2], Content_Length=str(len(content)), Content_Type=JSON
    )
    request.close_connection = True


def cut(request: Request) -> None:
    """Send half of the JSON as if it were all of it."""
    content = json.dumps(request.usual()).encode()
    request.send(200, content[: len(content) // 2], Content_Type=JSON)


def page(request: Request) -> None:
    """Send a page for people."""
    request.send(200, b"<!doctype html><title>Welcome</title>", Content_Type="text/html")


def hang_up(request: Request) -> None:
    """Close the connection without a word."""
    request.close_connection = True


def held(until: threading.Event, begun: threading.Event) -> Answering:
    """Say that the request is there, and answer nothing before the other event."""

    def wait(request: Request) -> None:
        begun.set()
        until.wait(60)
        request.close_connection = True

    return wait


def dripping(until: threading.Event) -> Answering:
    """Send a space now and then, and never the answer, until the event."""

    def drip(request: Request) -> None:
        request.send(200, b"", Content_Type=JSON, Content_Length="1000000")
        while not until.wait(0.02):
            try:
                request.wfile.write(b" ")
            except OSError:
                return
        request.close_connection = True

    return drip
