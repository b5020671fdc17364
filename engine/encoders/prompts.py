"""A model's own prompts, and which of them a task uses.

Names are resolved as mteb resolves them: by the task's name and by its type, each with the side of
a search before the plain one, then by the side alone. Knows neither tasks nor models in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.spec import TASK_DATA, SourceSpec

Side = Literal["query", "document"]
TWO_SIDED = ("Retrieval", "Reranking", "InstructionRetrieval", "InstructionReranking")
"""Types of tasks, in mteb's words, that encode queries and documents apart."""


@dataclass(frozen=True)
class PromptTask:
    """A task by which a model may name a prompt.

    Attributes:
        name: of the task, as mteb has it where the task is mteb's too.
        type: mteb's word for the type; empty where mteb has no such type.
    """

    name: str = ""
    type: str = ""


@dataclass(frozen=True)
class Prompts:
    """The prompts in the files of a model.

    Attributes:
        named: name -> text. sentence-transformers gives every model `query` and `document`, which
            are empty where the files do not say otherwise.
        default: name of the prompt that is used when the spec gives none; None for no prompt.
    """

    named: Mapping[str, str]
    default: str | None = None

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> Prompts:
        """Read `config_sentence_transformers.json`, if there is one."""
        config = checkpoint.sentence_transformers
        prompts = {"query": "", "document": ""}
        own = config.get("prompts")
        for name, text in own.items() if isinstance(own, dict) else ():
            prompts[name] = str(text or "")
        default = config.get("default_prompt_name")
        return cls(prompts, default if isinstance(default, str) and default in prompts else None)

    @classmethod
    def of_columns(cls, texts: Sequence[str]) -> Prompts:
        """Those of a training: of queries in its first column, of documents in the second.

        A single text stands before every sentence.
        """
        query, document = (*texts, texts[-1])[:2]
        same = query if query == document else ""
        return cls({"query": query, "document": document}, "query" if same else None)

    def with_options(self, spec: SourceSpec) -> Prompts:
        """The same with what a spec asks for by its options, but for `@task`."""
        options = (spec.option("prompt"), spec.option("query_prompt"))
        prompt, query = (None if text == TASK_DATA else text for text in options)
        sides = {"document": prompt, "query": prompt if query is None else query}
        texts = {side: self.text(name) for side, name in sides.items() if name is not None}
        return Prompts({**self.named, **texts}, self.default if prompt is None else "document")

    def columns(self, *, sided: bool) -> tuple[str, ...]:
        """The texts before queries and documents, or the one before sentences without a side."""
        return (self.named["query"], self.named["document"]) if sided else (self.text(None),)

    @property
    def own(self) -> dict[str, str]:
        """The prompts that are not empty."""
        return {name: text for name, text in self.named.items() if text}

    def text(self, prompt: str | None) -> str:
        """The text before every sentence: the prompt of that name, else the given text itself."""
        if prompt is None:
            return self.named[self.default] if self.default else ""
        return self.named.get(prompt, prompt)

    def of_task(self, task: PromptTask, side: Side | None) -> str | None:
        """Name of the prompt that the task takes; None for the default.

        Args:
            task: the task.
            side: what is encoded; None for a task without sides.
        """
        for what in (task.name, task.type):
            for name in (f"{what}-{side}", what) if side else (what,):
                if what and name in self.named:
                    return name
        return side  # every model has these two, perhaps empty

    def shortest(self, name: str | None) -> str | None:
        """The prompt as a spec's option; None for the model's default, to share its vectors."""
        return None if self.text(name) == self.text(None) else self.as_option(name)

    def as_option(self, name: str | None) -> str | None:
        """The prompt as a spec's option, whatever the default is."""
        return name if name is None or self.text(name) else ""


NO_PROMPTS = Prompts({"query": "", "document": ""})
