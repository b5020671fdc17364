"""`theodolite report`: a comparison, map, training, judgement or decision as one file."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.app import formats
from theodolite.app.jobs.job import Job
from theodolite.app.pages import load, questions
from theodolite.app.pages.map.answer import MAP
from theodolite.app.question import Question
from theodolite.app.report.file import Report, of_answer
from theodolite.app.spec import Spec
from theodolite.app.terminal import (
    JsonOption,
    check_writable,
    do_here,
    done,
    takes,
    takes_values,
    verb,
    verbs,
)
from theodolite.app.workspace import Workspace

report_verbs = verbs(
    "Write one answer to a self-contained file that opens offline and without Theodolite."
)
ENDINGS = (".html", ".md")
REPORT = "report"
"""Stem of the Markdown file in a folder."""


class Out:
    """Where a report goes."""

    def __init__(
        self,
        out: Annotated[
            Path,
            typer.Option(
                metavar="FILE",
                help="FILE.html; FILE.md or a folder for Markdown, with tables.",
            ),
        ],
    ) -> None:
        from theodolite.engine.errors import UserError

        if out.suffix and out.suffix.lower() not in ENDINGS:
            raise UserError(
                f"{out.name} has no ending of a report format.",
                "Use a file name that ends in .html or .md, or a folder for Markdown with "
                "its files.",
                code="wrong-kind",
            )
        self.markdown = out.suffix.lower() != ".html"
        self.path = out if out.suffix else out / f"{REPORT}.md"
        check_writable(self.path if out.suffix or out.is_dir() else out)

    def write(self, report: Report, as_json: bool) -> None:
        """Write a report, and print where it is."""
        from theodolite.app.report import file, markdown

        files = (
            markdown.files(report, self.path.stem)
            if self.markdown
            else {self.path.name: file.html(report).encode()}
        )
        self.path.parent.mkdir(exist_ok=True)  # that of a file exists: see check_writable
        for name, content in files.items():
            (self.path.parent / name).write_bytes(content)
        size = sum(map(len, files.values()))
        row = {
            "kind": report.kind,
            "title": report.title,
            "file": str(self.path),
            "files": list(files),
            "bytes": size,
        }
        done(row, f"{report.title}: {self.path}, {formats.size(size)}.", as_json)


def _report_verb(command: Any) -> Any:
    """Make a verb of a function that takes a workspace and an `Out`."""
    return verb(takes("out", Out)(command))


@report_verbs.command("training")
@_report_verb
def report_training(
    workspace: Workspace,
    keys: Annotated[list[str], typer.Argument(metavar="RUN…", help="Keys of `theodolite runs`.")],
    out: Out,
    as_json: JsonOption = False,
) -> None:
    """Report trainings with their curves, several over each other.

    theodolite report training 36e4305ecb44 --out training.html
    """
    from theodolite.app.pages.trainings.answer import TRAINING, TrainingsSpec

    spec = TrainingsSpec(keys)
    answer = TRAINING.last(workspace, spec, lambda job: False)
    out.write(of_answer(TRAINING, spec, answer), as_json)


def _of_question(question: Question[Any, Any]) -> Callable[..., None]:
    """The verb that reports a question's answer, with the options of its command."""

    @takes_values("spec", question.spec)
    def report(workspace: Workspace, spec: Spec, out: Out, as_json: JsonOption = False) -> None:
        def do(job: Job) -> bool:
            do_here(workspace, job)
            return True

        call = question.prepare(workspace, spec)
        out.write(of_answer(question, call, question.last(workspace, call, do)), as_json)

    name = question.report_name or question.name
    words = question.examples[0].removeprefix(f"{question.group} ").removeprefix(question.name)
    example = f"theodolite report {name}{words} --out {name}.html"
    report.__doc__ = f"{question.about}\n\n{example}"
    written: Callable[..., None] = _report_verb(report)
    return written


report_verbs.command("map")(_of_question(MAP))
for _place in questions().values():
    _question = load(_place)
    report_verbs.command(_question.report_name or _question.name)(_of_question(_question))
