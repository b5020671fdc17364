"""The tools for agents: the services of pages and commands, with limits and typed rows.

Results of an evaluation are stored as if the user had run it; nothing else changes. Docstrings are
the descriptions that an agent sees, so they state the limits.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import make_dataclass
from functools import wraps
from typing import Annotated, Any, Literal

from pydantic import Field as PydanticField

from theodolite.app import suites
from theodolite.app.agents.allowed import Allowed
from theodolite.app.jobs.job import Job
from theodolite.app.pages.evaluate.answer import Results
from theodolite.app.question import Question
from theodolite.app.spec import Parameter, parameters
from theodolite.app.workspace import Workspace
from theodolite.engine import rankers
from theodolite.engine.errors import UserError
from theodolite.engine.given import names_in
from theodolite.engine.tasks import get

MAX_ENCODERS, MAX_TASKS, MAX_QUERIES = 8, 20, 10
MAX_CHARACTERS, MAX_ROWS = 2000, 500
MAX_SENTENCES = 10_000
"""Of a data set, for what no run can prepare."""
Found = list[Any]
"""Rows, and what else a tool returns."""


def _with_schema(
    title: str, columns: Mapping[str, Any], **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have a tool that finds rows return them typed: the schema that an agent sees.

    The classes are the tool's own: the schema of a generic one would be that of an object with a
    single field, `result`.

    Args:
        title: name of the class.
        columns: name -> type of what is returned of a row.
        **more: likewise, of what the tool returns after its rows.
    """
    line: Any = make_dataclass(f"{title}Row", columns.items(), frozen=True)
    fields = {"rows": list[line], "left_out": int, **more}
    whole: Any = make_dataclass(title, fields.items(), frozen=True)

    def wrap(tool: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(tool)
        def run(*args: Any, **given: Any) -> Any:
            answer, *rest = tool(*args, **given)
            rows = [line(**{name: row.get(name) for name in columns}) for row in answer[:MAX_ROWS]]
            return whole(rows, len(answer) - len(rows), *rest)

        own = inspect.signature(tool, eval_str=True)
        run.__signature__ = own.replace(return_annotation=whole)  # type: ignore[attr-defined]
        return run

    return wrap


class Tools:
    """The tools, one a method.

    Args:
        workspace: store and data of the tools.
        allowed: checks the names that an agent gives.
    """

    def __init__(self, workspace: Workspace, allowed: Allowed) -> None:
        self._workspace = workspace
        self._allowed = allowed

    @_with_schema(
        "Encoders",
        {
            "name": str,
            "label": str | None,
            "dim": int | None,
            "parameters": int | None,
            "licence": str | None,
        },
    )
    def encoders(self) -> Found:
        """List the stored encoders. At most 500 rows."""
        from theodolite.app.pages.encoders import service

        return [service.list_facts(self._workspace)]

    @_with_schema("Data", {"name": str, "kind": str | None, "description": str, "task": str | None})
    def data(self) -> Found:
        """List the available data sets, with the task that uses each. At most 500 rows."""
        return [[vars(info) for info in self._workspace.catalog.list()]]

    @_with_schema("Results", Results.columns)
    def results(
        self,
        encoders: Annotated[
            list[str] | None,
            PydanticField(description="Specs, at most 8; all evaluated encoders if left out."),
        ] = None,
        tasks: Annotated[
            str | None,
            PydanticField(description="Names or suites with commas, at most 20; all if left out."),
        ] = None,
    ) -> Found:
        """Read stored scores; nothing is evaluated."""
        names = None if encoders is None else self._resolve(encoders)
        named = _few(names_in(tasks or ""), MAX_TASKS, "task")
        wanted = suites.measured(self._workspace, named)
        return [self._workspace.store.results.table(encoders=names, tasks=wanted)]

    @_with_schema("Results", Results.columns)
    def evaluate(
        self,
        encoders: Annotated[
            list[str],
            PydanticField(
                description="Specs, at most 8, of stored encoders or ones that ship, e.g. minilm, "
                "wordllama, random:256, minilm | normalise."
            ),
        ],
        tasks: Annotated[
            str, PydanticField(description="Names or suites with commas, at most 20 tasks.")
        ],
        protocol: Annotated[
            str | None,
            PydanticField(description="Of all tasks; each task's own if left out."),
        ] = None,
        seed: Annotated[
            int | None, PydanticField(description="The protocol's own if left out.")
        ] = None,
    ) -> Found:
        """Evaluate encoders on tasks and store the results; those already stored are read.

        This may take seconds to hours: begin with small tasks such as StarterSTS.
        """
        from theodolite.app.pages.evaluate.job import EvaluateJob, evaluate

        names = self._resolve(encoders)
        job = EvaluateJob.of(self._workspace, names, tasks, protocol, seed)
        for task in _few(job.tasks, MAX_TASKS, "task"):
            self._allowed.data(get(task, self._workspace.catalog).dataset)
        # The list of encoders on the pages is the user's: add nothing to it.
        return [list(evaluate(self._workspace, job, listed=False))]

    def ask(self, question: Question[Any, Any]) -> Callable[..., Any]:
        """The tool that asks a question: its schema comes from the spec, its rows from the answer.

        What takes long is left to a run that the user starts; what is short leaves no run.
        """
        offered = [one for one in parameters(question.spec) if one.field.for_agents]

        def do(job: Job) -> bool:
            if not job.is_short(self._workspace):
                raise UserError(
                    f"{job.title} takes long.",
                    f"The user can run this once: theodolite {question.verb} --queue.",
                    code="no-result",
                )
            return True  # the answer does it, without a run

        def tool(**values: Any) -> Found:
            checked = {
                parameter.name: self._check(question, parameter, values[parameter.name])
                for parameter in offered
                if values.get(parameter.name) is not None
            }
            answer = question.last(self._workspace, question.spec(**checked), do)
            return [answer.rows(), answer.warnings()]

        tool.__name__, tool.__doc__ = question.function, question.about
        tool.__signature__ = inspect.Signature(list(map(_keyword, offered)))  # type: ignore[attr-defined]
        columns = question.answer_type.columns
        return _with_schema(question.name.capitalize(), columns, warnings=list[str])(tool)

    def _check(self, question: Question[Any, Any], parameter: Parameter, value: Any) -> Any:
        """A value within the limits of an agent."""
        if not value:
            return value
        if parameter.field.names == "encoder":
            return self._resolve(value) if parameter.many else self._allowed.encoder(value)
        if parameter.field.names == "dataset":
            for name in value if parameter.many else [value]:
                self._check_data(question, name)
            return value
        if parameter.field.names == "task":
            names = names_in(*(value if parameter.many else [value]))
            for task in _few(names, MAX_TASKS, "task"):
                self._allowed.data(get(task, self._workspace.catalog).dataset)
            return value
        if parameter.field.names == "text" and value != "held-out":
            return self._allowed.data(value)
        if parameter.field.names == "rankers":
            return ", ".join(self._resolve(rankers.split(value)))
        return _texts(value) if parameter.many else value

    def _check_data(self, question: Question[Any, Any], name: str) -> None:
        """Refuse a data set that is not here, or too large for what no run can prepare."""
        self._allowed.data(name)
        n = 0 if question.queues else len(self._workspace.catalog.sentences(name)[0])
        if n > MAX_SENTENCES:
            raise UserError(
                f"{name} has {n:,} sentences; an agent may use {MAX_SENTENCES:,} at most.",
                f"The user can ask this: theodolite {question.verb}.",
                code="too-large",
            )

    def _resolve(self, encoders: Sequence[str]) -> list[str]:
        return [self._allowed.encoder(name) for name in _few(encoders, MAX_ENCODERS, "encoder")]


def _keyword(parameter: Parameter) -> inspect.Parameter:
    """A keyword whose annotation is the schema of a value."""
    field = parameter.field
    described = PydanticField(description=parameter.meaning, ge=field.ge, le=field.le)
    kind: Any = parameter.annotation
    if field.choices is not None:
        kind = Literal[tuple(field.choices)]
    default = inspect.Parameter.empty if parameter.required else parameter.default
    if parameter.many and not parameter.required:
        default = list(parameter.default)
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, described],
    )


def _texts(values: Sequence[str]) -> list[str]:
    for text in values:
        if len(text) > MAX_CHARACTERS:
            raise UserError(
                f"A text has {len(text):,} characters.",
                f"Give at most {MAX_CHARACTERS:,}.",
                code="too-large",
            )
    return _few(values, MAX_QUERIES, "text")


def _few(values: Sequence[str], most: int, what: str) -> list[str]:
    if len(values) > most:
        raise UserError(
            f"{len(values)} {what}s are too many at once.",
            f"Name at most {most}.",
            code="too-large",
        )
    return list(values)
