"""`theodolite judge`: encoders compared by your own judgements, from a terminal or a script."""

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from theodolite.app.pages.data import service as uploads
from theodolite.app.pages.judge import export, session as judging
from theodolite.app.pages.judge.answer import board_of, judgement
from theodolite.app.pages.judge.job import JudgeJob, SecondJudgeJob, ask_second
from theodolite.app.pages.judge.session import JudgeSpec, Question, open_session
from theodolite.app.terminal import (
    JsonOption,
    QueueOption,
    do_here,
    done,
    emit,
    emit_json,
    line,
    report_queued,
    say,
    takes_values,
    verb,
    verbs,
)
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.files import lines
from theodolite.engine.errors import UserError

judge_verbs = verbs("Compare encoders without labels, by judging what they return.")

SessionArgument = Annotated[str, typer.Argument(metavar="SESSION", help="See `judge list`.")]
JudgeOption = Annotated[str, typer.Option("--judge", metavar="NAME", help="Who judges.")]
KEYS = {"r": "relevant", "n": "not", "1": "left", "2": "right", "0": "neither", "u": "undo"}
SHOWN = 1500
"""Characters of a document that fit a terminal; `m` shows the rest."""


@judge_verbs.command("start")
@verb
@takes_values("spec", JudgeSpec)
def start_session(
    workspace: Workspace,
    spec: JudgeSpec,
    queries: Annotated[
        Path | None,
        typer.Option(help="A file of queries, one per line; by default they are drawn."),
    ] = None,
    prefer: Annotated[
        bool, typer.Option("--prefer", help="The same as --mode preference.")
    ] = False,
    send_texts: Annotated[
        bool, typer.Option("--send-texts", help="Allow documents and queries to be sent to it.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Ask the encoders every query, and start a session of judging what they return.

    theodolite judge start starter-topics -e minilm -e wordllama

    theodolite judge play SESSION

    With --second a model marks the same in the background: that may narrow the interval and never
    makes it invalid. Its key is read from THEODOLITE_API_KEY.
    """
    if queries is not None:
        with uploads.bring([queries]) as folder:
            spec = replace(spec, queries=list(lines(folder.path)))
        if not spec.queries:
            raise UserError(f"{queries} holds no query.", "Write one per line.", code="missing")
    if prefer:
        spec = replace(spec, mode="preference")
    judging.check_allowed(workspace, spec.second, allow=send_texts)
    job = JudgeJob.of(spec)
    do_here(workspace, job)
    if spec.second:
        here = f"theodolite judge second {job.session}"
        say(f"The app's worker has it mark the documents. To do that here: {here}")
    text = f"Started session {job.session}. Judge it: theodolite judge play {job.session}"
    done({"id": job.session}, text, as_json)


@judge_verbs.command("list")
@verb
def list_sessions(workspace: Workspace, as_json: JsonOption = False) -> None:
    """Show the sessions, newest first.

    theodolite judge list --json
    """
    emit(workspace.store.judgements.list(), ("id", "title", "marks"), as_json)


@judge_verbs.command("next")
@verb
def next_question(
    workspace: Workspace,
    session: SessionArgument,
    judge: JudgeOption = "me",
    as_json: JsonOption = False,
) -> None:
    """Show what is to be judged next; without names.

    theodolite judge next 36e4305ecb44 --json
    """
    _show(judging.ask(workspace, session, judge), as_json)


@judge_verbs.command("mark")
@verb
def mark_question(
    workspace: Workspace,
    session: SessionArgument,
    mark: Annotated[str, typer.Argument(help="relevant or not; left, right or neither; undo.")],
    position: Annotated[
        int | None, typer.Option(help="Position of the question; default: the next one.")
    ] = None,
    judge: JudgeOption = "me",
    as_json: JsonOption = False,
) -> None:
    """Mark a question, or undo the last mark; shows the next one.

    theodolite judge mark 36e4305ecb44 relevant
    """
    _show(judging.mark(workspace, session, mark, judge, position), as_json)


@judge_verbs.command("play")
@verb
def play_session(
    workspace: Workspace,
    session: SessionArgument,
    judge: JudgeOption = "me",
    as_json: JsonOption = False,
) -> None:
    """Judge question after question: reads a mark a line until the input ends.

    theodolite judge play 36e4305ecb44

    With --json each question is an object on a line and the last one the status, for scripts.
    """
    if not as_json:
        marks = (*judging.MARKS[open_session(workspace, session).spec.mode], "undo")
        keys = ", ".join(f"{key}: {mark}" for key, mark in KEYS.items() if mark in marks)
        say(f"{keys}; m: more of a long document; Ctrl-D: leave")
    question, is_enough, is_whole = judging.ask(workspace, session, judge), False, False
    while question is not None:
        _show(question, as_json, None if is_whole else SHOWN)
        if not (reply := sys.stdin.readline().lower()):
            break
        if is_whole := reply.strip() == "m" and not as_json:
            continue
        try:
            mark = KEYS.get(reply.strip(), reply.strip())
            question = judging.mark(workspace, session, mark, judge, question.position)
        except UserError as error:
            if as_json:
                raise
            say(f"{error.message} {error.hint}")
        if not is_enough and all(open_session(workspace, session).verdicts):
            is_enough = True
            say("You have judged enough; see `theodolite judge status`. You may continue.")
    result = judgement(workspace, session, names=True)
    if as_json:
        emit_json(result.facts())
        return
    emit(result.rows(), result.table_columns(), as_json)
    for text in result.notes():
        say(text)


@judge_verbs.command("settle")
@verb
def settle_disagreement(
    workspace: Workspace,
    session: SessionArgument,
    position: Annotated[int, typer.Argument(help="One of `disagreements` of the status.")],
    mark: Annotated[str, typer.Argument(help="What counts there.")],
    as_json: JsonOption = False,
) -> None:
    """Say what counts where judges disagree.

    theodolite judge settle 36e4305ecb44 12 relevant
    """
    judging.settle(workspace, session, position, mark)
    done({"settled": position}, f"Settled: {mark} counts at {position}.", as_json)


@judge_verbs.command("second")
@verb
def ask_second_judge(
    workspace: Workspace,
    session: SessionArgument,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Have the second judge of a session mark what it has not, here and now.

    theodolite judge second 36e4305ecb44

    What it has answered is kept: a run that was broken off goes on. Exit code 2 when its server
    gives no answer.
    """
    job = SecondJudgeJob.of(workspace, session)
    if queue:
        say(" ".join(job.notices(workspace)))
        report_queued(ask_second(workspace, session), as_json)
        return
    do_here(workspace, job)
    status = board_of(open_session(workspace, session))["second"]
    done(status, f"{status['marked']} marked, {status['unmarked']} could not be read.", as_json)


@judge_verbs.command("export")
@verb
def export_session(
    workspace: Workspace,
    session: SessionArgument,
    folder: Annotated[Path | None, typer.Argument(help="Folder to write files to.")] = None,
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Save it as your own data set.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Turn the marks into a data set, in BEIR's layout with TREC qrels: a task like any other.

    theodolite judge export 36e4305ecb44 judged/ --as mine

    theodolite evaluate minilm --tasks upload:mine

    A second judge's marks are never among them: they go to second-judge.jsonl in FOLDER.
    """
    if folder is None and name is None:
        raise UserError(
            "Neither a folder nor a data set is given.",
            "Give FOLDER, or --as NAME.",
            code="missing",
        )
    if folder is not None:
        state = open_session(workspace, session)
        for file in export.write(export.files(state) | export.second_marks(state), folder):
            done({"file": str(file)}, f"Written: {file}", as_json)
    if name is not None:
        added = export.keep(workspace, session, name)
        done({"dataset": added}, f"Added as {added}, which is also its task's name.", as_json)


@judge_verbs.command("unjudged")
@verb
def count_unjudged(
    workspace: Workspace,
    session: SessionArgument,
    encoder: Annotated[str, typer.Option("--encoder", "-e", help="Any encoder.")],
    as_json: JsonOption = False,
) -> None:
    """Count how much of what another encoder returns is unjudged.

    theodolite judge unjudged 36e4305ecb44 -e random:256
    """
    row = export.count_unjudged(workspace, open_session(workspace, session), encoder)
    emit([row], tuple(row), as_json)


@judge_verbs.command("remove")
@verb
def remove_session(
    workspace: Workspace, session: SessionArgument, as_json: JsonOption = False
) -> None:
    """Forget a session with all its marks.

    theodolite judge remove 36e4305ecb44
    """
    judging.remove(workspace, session)
    done({"removed": session}, f"Removed {session}.", as_json)


def _show(question: Question | None, as_json: bool, most: int | None = None) -> None:
    """Print a question, each of its documents up to `most` characters."""
    if question is None:
        done({"position": None}, "Everything is judged.", as_json)
    elif as_json:
        emit_json(asdict(question))
    else:
        line(f"\n{question.position + 1}. {question.query}")
        for side, texts in enumerate(question.texts, 1):
            for text in texts:
                left = len(text[most:]) if most else 0
                more = f" … ({left:,} more characters: m)" if left else ""
                line(f"   {f'{side} ' if len(question.texts) > 1 else ''}> {text[:most]}{more}")
