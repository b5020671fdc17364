"""`theodolite gate`: an encoder's examples in one file, and whether it is still as good."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, ClassVar
from xml.etree import ElementTree

import numpy as np
import typer

from theodolite.app import formats
from theodolite.app.blocks import Block, Cell, Finding, Points, Table
from theodolite.app.pages.choose.data import MIN_EXAMPLES, bring, task_of
from theodolite.app.question import Answer, Do, Question, Working
from theodolite.app.spec import Field, Spec
from theodolite.app.terminal import check_writable, progress_bar, say, verb, verbs
from theodolite.app.workspace import Workspace
from theodolite.engine import evaluate, tasks as registry
from theodolite.engine.encoders import Encoder, PromptTask, bind_task, canary, describe
from theodolite.engine.encoders.canary import Drift
from theodolite.engine.encoders.vectors import files_of
from theodolite.engine.errors import UserError
from theodolite.engine.given import names_in
from theodolite.engine.results import Result
from theodolite.engine.stats.bootstrap import Sample, main_sample
from theodolite.engine.stats.gate import Gated, gate
from theodolite.store.hashing import hash_of, to_json

FORMAT = 1
"""Increased whenever a baseline would be read otherwise."""
MAX_BYTES = 2**28
_FACTS = ("kind", "dim", "pooling", "max_tokens", "prompt", "query_prompt", "bytes")
_PACKAGES = ("theodolite", "torch", "transformers", "tokenizers")
_AGAIN = "Save it: theodolite gate save BASELINE.json --encoder SPEC"
_EXIT = {"fine": 0, "worse": 1, "changed": 1, "unclear": 3}
_KINDS = {"worse": "bad", "fine": "good", "unclear": "muted"}


@dataclass(frozen=True)
class GateSpec(Spec):
    """Compare an encoder with a saved baseline, on the same examples, and exit accordingly.

    Everything is measured again, without the vectors in the store. Exit status: 0, no task loses as
    much as --least; 1, a task is worse by that much and significantly, or the encoder gives other
    vectors than the one of that name that was saved; 3, too few examples to tell; 2, bad input, or
    an endpoint that does not answer.

    Write Markdown for a pull request, JUnit's XML and JSON with --out, which may be repeated.
    """

    baseline: Annotated[str, Field("Baseline", "File of `theodolite gate save`.")]
    encoder: Annotated[
        str | None,
        Field(
            "Encoder",
            "Default: the one that was saved. Another may have other dimensions.",
            names="encoder",
            flags=("--encoder", "-e"),
        ),
    ] = None
    least: Annotated[
        float, Field("Smallest loss", "Points of a score that count as a loss.", ge=0.0, le=100.0)
    ] = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Gate(Answer):
    """An encoder against its baseline.

    Attributes:
        saved: the baseline, as `read` returns it.
        encoder: the one that was measured now.
        least: smallest loss that counts, in points.
        drift: of the vectors; None for another encoder than the one that was saved.
        since: what else is not as it was, as sentences.
        gated: the verdict on each task, in the order of the baseline's.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "task": str,
        "n": int,
        "then": float,
        "now": float,
        "change": float,
        "low": float,
        "high": float,
        "p": float,
        "verdict": str,
        "more": int | None,
    }

    saved: Mapping[str, Any]
    encoder: str
    least: float
    drift: Drift | None
    since: Sequence[str]
    gated: Sequence[Gated]

    @property
    def title(self) -> str:
        """`Gate: minilm`."""
        return f"Gate: {self.encoder}"

    def rows(self) -> list[dict[str, Any]]:
        """A row per task; `low` and `high` hold with 95 % each."""
        return [
            {
                "task": task["task"],
                "n": one.change.n,
                "then": task["score"],
                "now": task["score"] + one.change.delta,
                "change": one.change.delta,
                "low": one.change.low,
                "high": one.change.high,
                "p": one.p,
                "verdict": one.verdict,
                "more": one.more,
            }
            for task, one in zip(self.saved["tasks"], self.gated, strict=True)
        ]

    def table_rows(self) -> list[dict[str, Any]]:
        """With p-values as on Compare."""
        return [row | {"p": formats.p_value(row["p"])} for row in self.rows()]

    @property
    def verdict(self) -> str:
        """`worse`, `changed` (its vectors), `unclear` or `fine`: the first that holds."""
        every = {one.verdict for one in self.gated} | ({"changed"} if self.has_moved else set())
        return next(name for name in ("worse", "changed", "unclear", "fine") if name in every)

    @property
    def has_moved(self) -> bool:
        """Whether the encoder gives other vectors than those saved."""
        return self.drift is not None and self.drift.moved > 0

    @property
    def exit_code(self) -> int:
        """0 as good, 1 worse or changed, 3 too few examples to tell."""
        return _EXIT[self.verdict]

    def lines(self) -> list[dict[str, Any]]:
        """None: all is in the facts, as one object."""
        return []

    def facts(self) -> dict[str, Any]:
        """The finding, the verdict and its exit status, the vectors, the tasks."""
        return {
            "finding": self.finding,
            "verdict": self.verdict,
            "exit": self.exit_code,
            "encoder": self.encoder,
            "baseline": self.saved["encoder"],
            "saved": self.saved["saved"],
            "least": self.least,
            "vectors": self.drift and asdict(self.drift),
            "since": list(self.since),
            "tasks": self.rows(),
        }

    @property
    def finding(self) -> str:
        """The conclusion in a sentence."""
        decisive = [row for row in self.rows() if row["verdict"] == self.verdict]
        names = formats.listed((_change(row) for row in decisive), 3)
        every, points = formats.plural(len(self.gated), "task"), f"{self.least:g} points"
        points = "1 point" if self.least == 1.0 else points
        if self.verdict == "worse":
            moved = f" {self._vector_change()}.".removesuffix(" .")
            return (
                f"{self.encoder} is worse than its baseline on {len(decisive)} of {every}: {names}."
                f"{moved}"
            )
        if self.verdict == "changed":
            return f"{self.encoder} is no longer what was saved. {self._vector_change()}."
        if self.verdict == "unclear":
            return (
                f"Too few examples to tell whether {self.encoder} loses {points} or more on "
                f"{len(decisive)} of {every}: {names}."
            )
        return f"{self.encoder} is as good as its baseline: less than {points} is lost on {every}."

    def _vector_change(self) -> str:
        """How its vectors differ from those that were saved; empty if they do not."""
        now, date = self.drift, formats.date(self.saved["saved"])
        if now is None or not self.has_moved:
            return ""
        if np.isnan(now.cosine):
            return f"Its vectors have another dimension than on {date}"
        return (
            f"{now.moved} of {now.n} vectors differ from those of {date}, with cosines down to "
            f"{now.cosine:.4f}"
        )

    def blocks(self) -> list[Block]:
        """The finding, the tasks, and what has changed besides."""
        detail = (
            "Paired tests on the same examples. Worse: a loss of that size that is significant at "
            "5 % for all tasks together. Fine: a smaller loss, with 95 % confidence. "
        )
        points = [("", f"{text}.") for text in [self._vector_change()] if text]
        points += [("", _more(row)) for row in self.rows() if row["verdict"] == "unclear"]
        heads = ("Task", "Examples", "Then", "Now", "Change", "90 % interval", "Verdict")
        cells = [
            (
                row["task"],
                row["n"],
                Cell(row["then"], formats.score(row["then"])),
                Cell(row["now"], formats.score(row["now"])),
                Cell(row["change"], formats.signed(row["change"])),
                f"{formats.signed(row['low'])} to {formats.signed(row['high'])}",
                Cell(row["verdict"], tag=row["verdict"], kind=_KINDS[row["verdict"]]),
            )
            for row in self.rows()
        ]
        saved = f"Baseline: {self.saved['encoder']}, {formats.date(self.saved['saved'])}."
        return [
            Finding(self.finding, detail + saved),
            Table("theodolite-gate", heads, cells),
            Points([*points, *(("", text) for text in self.since)], "What else is known"),
        ]

    def junit(self, file: Path) -> None:
        """Write a test case for the vectors and for each task, as JUnit's XML."""
        cases = [(row["task"], row["verdict"], _change(row)) for row in self.rows()]
        if self.drift is not None:
            cases.append(
                ("vectors", "changed" if self.has_moved else "fine", self._vector_change())
            )
        outcomes = [{0: "", 1: "failure", 3: "skipped"}[_EXIT[verdict]] for _, verdict, _ in cases]
        counts = {"failures": outcomes.count("failure"), "skipped": outcomes.count("skipped")}
        suite = ElementTree.Element("testsuite", name="theodolite gate", tests=str(len(cases)))
        suite.attrib |= {name: str(count) for name, count in counts.items()}
        for (name, _, text), outcome in zip(cases, outcomes, strict=True):
            case = ElementTree.SubElement(suite, "testcase", name=name, classname=self.encoder)
            if outcome:
                ElementTree.SubElement(case, outcome, message=text)
        ElementTree.ElementTree(suite).write(file, "utf-8", xml_declaration=True)

    formats: ClassVar[Any] = {".xml": junit}


def _change(row: Mapping[str, Any]) -> str:
    """`STS12 −4.20 points (−6.10 to −2.30)`."""
    low, high = formats.signed(row["low"]), formats.signed(row["high"])
    return f"{row['task']} {formats.signed(row['change'])} points ({low} to {high})"


def _more(row: Mapping[str, Any]) -> str:
    """How many more examples would tell."""
    if row["more"] is None:
        return f"{row['task']}: even 20 times as many examples would hardly tell."
    return f"{row['task']}: about {row['more']:,} more examples would probably tell."


def save(workspace: Workspace, spec: str, tasks: str | Sequence[str]) -> Iterator[Any]:
    """Yield what is measured next, and finally the baseline.

    Args:
        workspace: with the data.
        spec: of the encoder.
        tasks: tasks, suites and files of one's own; a text has commas between them.
    """
    workspace.refuse_visitors()
    tasks = names_in(tasks) if isinstance(tasks, str) else tasks
    files = {_task_of(workspace, name): name for name in tasks if Path(name).is_file()}
    named = [name for name in tasks if name not in files.values()]
    names = [*files, *(registry.expand(named, workspace.catalog) if named else ())]
    if not names:
        raise UserError("No task is given.", "Name some: --tasks starter", code="missing")
    encoder, scores = workspace.fresh(spec), []
    for place, name in enumerate(names):
        yield Working(f"Measuring {name}", place / len(names))
        result, sample = _measure(workspace, encoder, name)
        if (n := len(sample["values"])) < MIN_EXAMPLES:
            raise UserError(
                f"{name} has {formats.plural(n, 'example')}.",
                f"A gate takes at least {MIN_EXAMPLES}, and some 200 to find a loss of 5 points.",
                code="too-few",
            )
        same = {key: getattr(result, key) for key in ("task", "protocol", "seed", "data_hash")}
        scores.append({**same, "file": files.get(name), "score": result.main.score, **sample})
    sentences = [text for score in scores for text in _data(workspace, score).sentences]
    texts = canary.texts(sentences, join=not files_of(encoder.name))
    vectors = canary.vectors(_bound(workspace, encoder, scores[0]), texts)
    yield {
        "theodolite gate": FORMAT,
        "encoder": encoder.name,
        "saved": datetime.now(UTC).isoformat(timespec="seconds"),
        "about": _about(encoder),
        "texts": texts,
        "dim": vectors.shape[1],
        "vectors": base64.b64encode(vectors.tobytes()).decode(),
        "tasks": scores,
    }


def check(workspace: Workspace, spec: GateSpec, do: Do) -> Iterator[Gate | Working]:
    """Yield what is measured next, and finally the verdict; the vectors come first."""
    workspace.refuse_visitors()
    saved = read(Path(spec.baseline))
    encoder = workspace.fresh(spec.encoder or saved["encoder"])
    for task in saved["tasks"]:
        known = (name for info in workspace.catalog.list() for name in (info.name, *info.tasks))
        if task["file"] and task["task"] not in known:
            _task_of(workspace, task["file"])
        if _data(workspace, task).hash != task["data_hash"]:
            raise UserError(
                f"The data of {task['task']} are not those of the baseline.",
                _AGAIN,
                code="mismatch",
            )
    drift, since = None, []
    first, is_saved = saved["tasks"][0], encoder.name == saved["encoder"]
    yield Working("Comparing vectors", 0.0)
    texts = saved["texts"]
    if not is_saved:  # vectors in a file may lack the texts of the baseline, not those of the task
        texts = canary.texts(_data(workspace, first).sentences, join=False)
    now = canary.vectors(_bound(workspace, encoder, first), texts)
    if is_saved:
        then = np.frombuffer(base64.b64decode(saved["vectors"]), np.float32)
        drift = canary.drift(then.reshape(-1, saved["dim"]), now)
        about = _about(encoder)
        since = [
            f"Since then: {name} {then}, now {about.get(name)}."
            for name, then in saved["about"].items()
            if then != about.get(name)
        ]
    pairs = []
    for place, task in enumerate(saved["tasks"]):
        yield Working(f"Measuring {task['task']}", place / len(saved["tasks"]))
        _, sample = _measure(workspace, encoder, task["task"], task["protocol"], task["seed"])
        pairs.append((_sample(task), _sample(sample)))
    yield Gate(saved, encoder.name, spec.least, drift, since, gate(pairs, spec.least))


def read(file: Path) -> dict[str, Any]:
    """Read a baseline, if it is one of this version, as it was saved."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise UserError(f"{file} has over {formats.size(MAX_BYTES)}.", _AGAIN, code="too-large")
        saved = json.loads(file.read_bytes())
        version_of, digest = saved["theodolite gate"], saved.pop("digest", None)
    except OSError as error:
        raise UserError(
            f"{file} cannot be read: {error.strerror}.", _AGAIN, code="no-file"
        ) from error
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        if isinstance(error, UserError):
            raise
        raise UserError(
            f"{file} is not a baseline of a gate.", _AGAIN, code="wrong-kind"
        ) from error
    if version_of != FORMAT:
        raise UserError(
            f"{file} is a baseline of version {version_of!r}; this Theodolite reads {FORMAT}.",
            _AGAIN,
            code="mismatch",
        )
    if digest != hash_of(to_json(saved)):
        raise UserError(f"{file} was changed after it was saved.", _AGAIN, code="damaged")
    return dict(saved)


def write(saved: Mapping[str, Any], file: Path) -> None:
    """Write a baseline with its digest."""
    file.write_text(to_json({**saved, "digest": hash_of(to_json(saved))}) + "\n", "utf-8")


def _task_of(workspace: Workspace, file: str) -> str:
    """The task of a file, which is added to the data sets."""
    task = task_of(workspace, name := bring(workspace, Path(file)))
    if task is None:
        raise UserError(
            f"{name} has fewer than {MIN_EXAMPLES} labelled examples.",
            f"A gate takes at least {MIN_EXAMPLES}.",
            code="too-few",
        )
    return task


def _data(workspace: Workspace, task: Mapping[str, Any]) -> Any:
    return workspace.catalog.load(registry.get(task["task"], workspace.catalog).dataset)


def _bound(workspace: Workspace, encoder: Encoder, task: Mapping[str, Any]) -> Encoder:
    """The encoder, bound to the data of a task where it has `@task`."""
    data = _data(workspace, task)
    return bind_task(encoder, data.sentences, data.hash, PromptTask(task["task"], "Retrieval"))


def _measure(
    workspace: Workspace,
    encoder: Encoder,
    task: str,
    protocol: str | None = None,
    seed: int | None = None,
) -> tuple[Result, dict[str, Any]]:
    """Measure a task, and return its result with the examples of the main score, as JSON has them.

    In float32, now as then, so that rounding makes no difference.
    """
    data = workspace.catalog
    (result,) = evaluate(encoder, [task], protocol=protocol, seed=seed, data=data)
    if result.error is not None:
        raise UserError(result.error, result.hint, code="failed")
    try:
        sample = main_sample(result.examples, result.details)
    except ValueError as error:
        raise UserError(f"{task} has no values per example.", "", code="unsupported") from error
    if sample.trained_once:
        raise UserError(
            f"{task} trains a single regressor, so the effect of chance is unknown.",
            "Choose tasks without: a difference could not be tested.",
            code="unsupported",
        )
    single = {
        name: value.astype(np.float32) if value is not None and name != "clusters" else value
        for name in ("values", "gold", "clusters", "beside", "luck")
        for value in [getattr(sample, name)]
    }
    rest = {"correlation": sample.correlation, "paired": sample.paired}
    return result, json.loads(formats.json_text({**single, **rest}))


def _sample(values: Mapping[str, Any]) -> Sample:
    """The examples of a task of a baseline."""
    arrays: dict[str, Any] = {
        name: None if values[name] is None else np.array(values[name])
        for name in ("values", "gold", "clusters", "beside", "luck")
    }
    return Sample(**arrays, correlation=values["correlation"], paired=values["paired"])


def _about(encoder: Encoder) -> dict[str, Any]:
    """What may explain that vectors have changed."""
    facts = describe(encoder.name)
    known = {name: facts.get(name) for name in _FACTS} | {"fingerprint": encoder.fingerprint[:12]}
    return known | {name: version(name) for name in _PACKAGES}


GATE = Question(
    "check",
    GateSpec,
    check,
    Gate,
    (
        "gate check baseline.json",
        "gate check baseline.json -e my-new-model --out gate.md --out gate.xml --json",
    ),
    group="gate",
    report_name="gate",
)
gate_verbs = verbs("Save an encoder's scores, and check later whether it is still as good.")


@gate_verbs.command("save")
@verb
def save_baseline(
    workspace: Workspace,
    baseline: Annotated[Path, typer.Argument(help="File to write, such as baseline.json.")],
    encoder: Annotated[str, typer.Option("--encoder", "-e", help="Spec string of an encoder.")],
    tasks: Annotated[
        str, typer.Option(help="Tasks or suites, or files of your own, with commas.")
    ] = "starter",
) -> None:
    """Write the values of each example of some tasks, and a few texts with their vectors.

    theodolite gate save baseline.json --encoder minilm --tasks starter

    theodolite gate save baseline.json --encoder minilm --tasks questions.csv
    """
    check_writable(baseline)
    with progress_bar("gate") as move:
        for one in save(workspace, encoder, tasks):
            if isinstance(one, Working):
                move(one.done or 0.0, 1.0, one.text)
    write(one, baseline)
    scores = [f"{task['task']} {formats.score(task['score'])}" for task in one["tasks"]]
    size = formats.size(baseline.stat().st_size)
    say(f"Saved {one['encoder']} in {baseline} ({size}): {formats.listed(scores)}.")
