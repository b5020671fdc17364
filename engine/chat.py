"""Language models behind OpenAI's API: how they are written, and their answer to one question."""

import json
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from theodolite.engine.encoders.endpoint import Sending, tokens
from theodolite.engine.encoders.spec import parse
from theodolite.engine.endpoints import Address, Endpoint, Unacceptable
from theodolite.engine.errors import UserError

Messages = list[dict[str, str]]
"""What is sent with one question: instructions, then the question."""
LONGEST = 8000
"""Most characters of a document that are sent."""
_OPTIONS = ("rpm", "tpm")


def canonical(text: str) -> str:
    """Return `api:URL#MODEL` in canonical form; empty for none."""
    if not text.strip():
        return ""
    hint = "Write api:URL#MODEL, with ?rpm= and &tpm= if it has limits."
    spec = parse(text)
    source = spec.sources[0]
    if len(spec.sources) > 1 or spec.steps or source.kind != "api":
        raise UserError(f"{text!r} is not a language model of a server.", hint, code="wrong-kind")
    if extra := [name for name, _ in source.options if name not in _OPTIONS]:
        raise UserError(f"A language model has no {extra[0]}=.", hint, code="unknown")
    return str(spec)


def address(spec: str) -> Address:
    """Return the address of the model, from a spec in canonical form."""
    return Address.parse(parse(spec).sources[0].value)


class Chat:
    """Asks a model. Thread-safe.

    Args:
        spec: in canonical form.
        send_texts: URLs that texts may be sent to.
        sleep: called with the seconds to wait.
    """

    def __init__(
        self,
        spec: str,
        send_texts: Collection[str] = (),
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        source = parse(spec).sources[0]
        rpm, tpm = (int(source.option(name) or 0) or None for name in _OPTIONS)
        self._endpoint = Endpoint(address(spec), send_texts, rpm=rpm, tpm=tpm, sleep=sleep)
        self._settings = {"temperature": 0}

    def ask(self, messages: Messages) -> str:
        """Return the text of the answer, as `said`.

        Raises:
            Unacceptable: the server refuses these messages, which may be too long for it.
        """
        return text_of(self._post(messages))

    def _post(self, messages: Messages) -> dict[str, Any]:
        many = tokens([message["content"] for message in messages])
        settings = self._settings
        try:
            return self._endpoint.post(
                "chat/completions", {"messages": messages, **settings}, tokens=many
            )
        except Unacceptable as error:  # some models accept only their default temperature
            if not settings or "temperature" not in error.message:
                raise
            self._settings = {}
            return self._endpoint.post("chat/completions", {"messages": messages}, tokens=many)


def messages(instructions: str, document: str, **texts: str) -> Messages:
    """Return the messages to send about a document, which is cut at `LONGEST`.

    Texts are sent as JSON, so that no document can break out of its field and pose as an
    instruction.
    """
    question = json.dumps({**texts, "document": document[:LONGEST]}, ensure_ascii=False)
    return [{"role": "system", "content": instructions}, {"role": "user", "content": question}]


def text_of(answer: dict[str, Any]) -> str:
    """Return the text of an answer, without its thoughts; empty where there is none."""
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return ""
    return text.rpartition("</think>")[2] if isinstance(text, str) else ""


def amount_sent(spec: str, questions: Sequence[Messages]) -> Sending:
    """Return the amount of text that would be sent with these questions, each once."""
    texts = [messages[-1]["content"] for messages in questions]
    every = [message["content"] for messages in questions for message in messages]
    return Sending(address(spec).host, len(texts), sum(map(len, texts)), tokens(every), len(texts))
