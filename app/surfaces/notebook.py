"""Questions as functions of `import theodolite`, whose answers a notebook shows."""

import inspect
from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from theodolite.app.formats import listed
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.submit import Move, perform
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Parameter, parameters
from theodolite.app.workspace import Workspace, default_data, default_store
from theodolite.engine.errors import UserError, did_you_mean

A = TypeVar("A", bound=Answer)
P = ParamSpec("P")
R = TypeVar("R")
_COMMON = {
    "workspace": "store and data; None for your own.",
    "move": "progress callback of what has to be computed, for a bar.",
}


def function(question: Question[Any, A]) -> Callable[..., A]:
    """The function that asks a question, with a keyword for each value of its spec."""

    @asks(question)
    def ask(workspace: Workspace | None = None, move: Move | None = None, **values: Any) -> A:
        place = own(workspace)
        spec = question.prepare(place, question.spec(**values))
        return question.last(place, spec, performed(place, move))

    return ask


def asks(question: Question[Any, A]) -> Callable[[Callable[..., A]], Callable[..., A]]:
    """Give a function the name, the signature and the documentation of a question."""

    def wrap(ask: Callable[..., A]) -> Callable[..., A]:
        every = parameters(question.spec)
        lines = [f"    {one.name}: {one.meaning}" for one in every]
        lines += [f"    {name}: {text}" for name, text in _COMMON.items()]
        own_words = inspect.cleandoc(ask.__doc__ or "")
        ask.__name__ = ask.__qualname__ = question.function
        ask.__doc__ = "\n\n".join(
            text for text in (question.about, own_words, "Args:\n" + "\n".join(lines)) if text
        )
        kind = inspect.Parameter.KEYWORD_ONLY
        common = [inspect.Parameter(name, kind, default=None) for name in _COMMON]
        ask.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*map(_keyword, every), *common], return_annotation=question.answer_type
        )
        return checked(ask)

    return wrap


def checked(call: Callable[P, R]) -> Callable[P, R]:
    """Have arguments that a function does not take refused with those that it takes."""
    signature = inspect.signature(call)
    takes = f"It takes {listed(signature.parameters)}."

    @wraps(call)
    def refusing(*args: P.args, **values: P.kwargs) -> R:
        for name in values:
            if name not in signature.parameters:
                near = did_you_mean(name, signature.parameters, "")
                raise UserError(
                    f"{call.__name__}() has no keyword {name!r}.",
                    f"{near} {takes}".strip(),
                    code="unknown",
                )
        try:
            bound = signature.bind(*args, **values)
        except TypeError as error:
            raise UserError(f"{call.__name__}(): {error}.", takes) from None
        return call(**bound.arguments)  # type: ignore[call-arg]

    return refusing


def _keyword(parameter: Parameter) -> inspect.Parameter:
    default = inspect.Parameter.empty if parameter.required else parameter.default
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(parameter.name, kind, default=default, annotation=parameter.annotation)


def performed(workspace: Workspace, move: Move | None = None) -> Do:
    """A function which does a job at once, in the foreground."""

    def do(job: Job) -> bool:
        for _ in perform(workspace, job, move=move):
            pass
        return True

    return do


def own(workspace: Workspace | None) -> Workspace:
    """The given workspace, or the user's own: THEODOLITE_HOME with THEODOLITE_DATA."""
    if workspace is None:
        return _open(default_store(), default_data())
    if not isinstance(workspace, Workspace):
        raise UserError(
            f"The workspace is of type {type(workspace).__name__}.",
            "Give a theodolite.Workspace(folder, data).",
            code="wrong-kind",
        )
    return workspace


@lru_cache(maxsize=2)
def _open(store: Path, data: Path | None) -> Workspace:
    """Open a workspace once, so that its encoders stay in memory between calls."""
    return Workspace(store, data)
