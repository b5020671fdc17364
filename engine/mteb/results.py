"""Results in MTEB's layout of JSON files, and as the hub's YAML of evaluation results.

Reading and writing them does not need mteb. A folder of results holds `MODEL/REVISION/TASK.json` at
some depth, the slash of a model's name written `__`; beside the tasks may lie `model_meta.json`.
MTEB stores scores in 0 to 1; here they are points of 100.

Results come as files, folders or ZIP archives, which are read in memory, never extracted. The JSON
does not name its model; the folders around it do, or the `model_meta.json`. The hub's YAML lies
with its model and names it nowhere.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from theodolite.engine.datasets import archives
from theodolite.engine.errors import UserError, first_line
from theodolite.engine.mteb.own_tasks import PREFIX, UNKNOWN_LANGUAGE
from theodolite.engine.mteb.package import TESTED
from theodolite.engine.results import Score

META = "model_meta.json"
BESIDE = ("main_score", "hf_subset", "languages", "mteb_version", "scores_per_experiment")
_OWN_SCALE = ("mae", "mse", "rmse")
"""Metrics with a unit of their own; all others are given in points of 100."""
OWNER = "theodolite"
"""The owner in our encoders' model names, before the slash."""


YAML = (".yaml", ".yml")
ENDINGS = (".json", *YAML)
_FACTS = {
    "n_parameters": "parameters",
    "embed_dim": "dim",
    "max_tokens": "max_tokens",
    "license": "licence",
}
"""Names of a model's facts: in `model_meta.json` -> here."""
_MAIN = (
    "ndcg_at_10",
    "map_at_1000",
    "accuracy",
    "v_measure",
    "cosine_spearman",
    "max_ap",
    "cosine_ap",
    "f1",
    "lrap",
    "kendalltau",
    "p-MRR",
)
"""Usual main metrics first: a file repeats the main score's value without naming its metric."""
_SPLITS = ("test", "validation", "dev", "train")
_VERSION = re.compile(r"MTEB v?(\d[\w.]*)")
_MAX_BYTES = 50_000_000
_MAX_FILES = 100_000
"""Limit of an archive: some thousand models on some tens of tasks."""

_MAX_NAME_LENGTH = 200
"""Maximum length of a name or revision, in characters; longer ones are cut."""

NamedFile = tuple[str, Path]
"""A file's name, with parent folders as far as known, and its path on disk."""


@dataclass(frozen=True)
class PublishedResult:
    """A published result of one model on one task.

    Attributes:
        model: `owner/name`.
        revision: the model's revision.
        task: the task's name, with the prefix of MTEB's own tasks.
        data_revision: the revision of the task's data; results of different ones do not compare.
        version: the version of mteb; empty if unknown.
        scores: of all splits and subsets; the first is the main score, the mean if there are
            several parts.
        facts: JSON-serialisable: `date`, `file`, `languages`, `parts` (split, subset and main score
            of each), and `model`, the metadata beside the result, keyed as in `store.encoders`.
    """

    model: str
    revision: str
    task: str
    data_revision: str
    version: str
    scores: tuple[Score, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def main(self) -> Score:
        """The main score, shown in tables."""
        return self.scores[0]


def scores_of(
    parts: Sequence[tuple[str, Mapping[str, Any]]],
    metric: str,
    sizes: Mapping[tuple[str, str], int] | None = None,
) -> Iterator[Score]:
    """Yield all scores of all splits and subsets, the main score (the mean of several parts) first.

    Args:
        parts: (split, a subset's entry in MTEB's JSON).
        metric: the metric of the main score.
        sizes: (subset, split) -> number of examples, where known.
    """
    n = sizes or {}
    if len(parts) > 1:
        mean = sum(float(one["main_score"]) for _, one in parts) / len(parts)
        yield _score("all", "mean", metric, mean, sum(n.values()), main=True)
    for split, one in parts:
        size = n.get((one["hf_subset"], split), 0)
        subset = None if one["hf_subset"] == "default" else str(one["hf_subset"])
        main = float(one["main_score"])
        yield _score(split, subset, metric, main, size, main=len(parts) == 1)
        for name, value in one.items():
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            is_shared = name in (*BESIDE, metric) or name.startswith("nauc")
            if number and not math.isnan(value) and not is_shared:
                yield _score(split, subset, name, float(value), size)


def _score(
    split: str, subset: str | None, metric: str, value: float, n: int, *, main: bool = False
) -> Score:
    own = metric in _OWN_SCALE
    unit = "as mteb gives it" if own else ""
    return Score(split, subset, metric, value * (1.0 if own else 100.0), n, main, unit)


@dataclass
class Reading:
    """The results read, with problems and notes.

    Attributes:
        results: of all files.
        problems: a sentence per unreadable file, saying why.
        notes: caveats about the readable ones.
    """

    results: list[PublishedResult] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class _NotAResultError(Exception):
    """A file is not a result; its text says why and follows the file's name in a sentence."""


@dataclass(frozen=True)
class _About:
    """The contents of a `model_meta.json`."""

    model: str
    revision: str
    facts: Mapping[str, Any]


def inside(place: Path) -> list[NamedFile]:
    """Return the files in a folder, or a single file, named by their full paths."""
    if not place.exists():
        raise UserError(
            f"There is no {place}.",
            "Name a folder of results, or one of its files.",
            code="no-file",
        )
    place = place.resolve()
    files = [place] if place.is_file() else sorted(place.rglob("*"))
    return [(file.as_posix(), file) for file in files if file.is_file() and not file.is_symlink()]


def read(files: Iterable[NamedFile], model: str = "", revision: str = "") -> Reading:
    """Read published results.

    Args:
        files: JSON, YAML, and ZIP archives of them; others are skipped.
        model: the results' model, `owner/name`, if neither the files nor their folders name it.
        revision: the revision of that model.
    """
    reading, about = Reading(), dict[PurePosixPath, _About]()
    read: list[tuple[PurePosixPath, PublishedResult]] = []
    for path, raw in _each(files):
        try:
            if path.name == META:
                about[path.parent] = _about(raw)
            else:
                read += [(path, one) for one in _results(path, raw)]
        except _NotAResultError as error:
            reading.problems.append(f"{path.name} {error}")
    unattributed = Counter[str]()
    for path, one in read:
        whose = _model_of(path.parent, about, model, revision)
        if whose is None:
            unattributed[path.name] += 1
            continue
        facts = {**one.facts, "model": whose.facts}
        result = replace(one, model=whose.model, revision=whose.revision, facts=facts)
        reading.results.append(result)
    if unattributed:
        several = f" and {len(unattributed) - 1} more" if len(unattributed) > 1 else ""
        first = next(iter(unattributed))
        reading.problems.append(f"{first}{several} does not say whose results it holds")
    if not reading.results:
        raise UserError(
            "Nothing here is a result in MTEB's layout"
            + (f": {reading.problems[0]}." if reading.problems else "."),
            "Expected: MODEL/REVISION/TASK.json, as mteb writes them, a ZIP archive of such "
            "folders, or the hub's YAML of evaluation results with the name of its model."
            if not unattributed
            else "Say whose they are (owner/name), or take the whole folder that they lie in.",
            code="missing" if unattributed else "wrong-kind",
        )
    reading.notes += _of_unknown_versions(reading.results)
    return reading


def _each(files: Iterable[NamedFile]) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Yield path and content of every file that may hold results, including those in archives."""
    for name, file in files:
        path = PurePosixPath(name)
        if archives.is_archive(name):
            for inner, raw in archives.entries(file, path.name, _MAX_FILES):
                if inner.lower().endswith(ENDINGS):
                    yield path.with_suffix("") / inner.replace("\\", "/"), raw
        elif path.suffix.lower() in ENDINGS:
            yield path, file.read_bytes() if file.stat().st_size <= _MAX_BYTES else b""


def _about(raw: bytes) -> _About:
    content = _json(raw)
    facts = {ours: content[name] for name, ours in _FACTS.items() if content.get(name) is not None}
    return _About(str(content.get("name") or ""), str(content.get("revision") or ""), facts)


def _model_of(
    folder: PurePosixPath, about: Mapping[PurePosixPath, _About], model: str, revision: str
) -> _About | None:
    """Return a result's model: from the file beside it, the folders above it, or as given."""
    experiment = ""
    if folder.parent.name == "experiments":
        folder, experiment = folder.parent.parent, f" ({folder.name})"
    described = about.get(folder, _About("", "", {}))
    above = folder.parent.name
    if described.model or "__" in above:
        name = described.model or above.replace("__", "/")
        model, revision = name, described.revision or folder.name
    if not model:
        return None
    model, revision = (
        "".join(c for c in text if c.isprintable())[:_MAX_NAME_LENGTH] for text in (model, revision)
    )
    return _About(model + experiment, revision, described.facts)


def _of_unknown_versions(results: Sequence[PublishedResult]) -> list[str]:
    """Return notes on results written by newer versions of mteb than this release knows."""
    newer = Counter(result.version for result in results if _line(result.version) > _line(TESTED))
    return [
        f"{number} of them {'was' if number == 1 else 'were'} written by mteb {version}, which this"
        f" release has never seen: read as if by {TESTED}, the newest it knows."
        for version, number in sorted(newer.items())
    ]


def _line(version: str) -> tuple[int, ...]:
    """Return the major and minor version, for comparing releases of mteb."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


def _results(path: PurePosixPath, raw: bytes) -> list[PublishedResult]:
    """Read a file's results, whose model is not known yet."""
    if not raw:
        raise _NotAResultError("is empty, or too large for a file of results")
    try:
        is_yaml = path.suffix.lower() in YAML
        return _of_yaml(path.name, raw) if is_yaml else [_of_json(path.name, raw)]
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        what = f"{type(error).__name__}: {first_line(error)}"
        raise _NotAResultError(f"is not laid out as mteb writes results ({what})") from error


def _json(raw: bytes) -> dict[str, Any]:
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise _NotAResultError(f"is not JSON ({first_line(error)})") from error
    return content if isinstance(content, dict) else {}


def _of_json(name: str, raw: bytes) -> PublishedResult:
    content = _json(raw)
    version = str(content.get("mteb_version") or "")
    if not isinstance(content.get("scores"), dict):
        if _line(version) > _line(TESTED):
            raise _NotAResultError(
                f"was written by mteb {version} in a layout that this release does not know "
                f"(it knows {TESTED})"
            )
        raise _NotAResultError(
            "is not a result of mteb 1.11 or newer; `mteb` itself can read older ones and write "
            "them anew"
        )
    parts = [(split, one) for split, several in content["scores"].items() for one in several]
    if not parts:
        raise _NotAResultError("has no scores")
    if not all(math.isfinite(float(one["main_score"])) for _, one in parts):
        raise _NotAResultError("has a main score that is not a number")
    date = content.get("date")
    facts = {
        "file": name,
        "languages": sorted({code for _, one in parts for code in one.get("languages", ())}),
        "parts": [
            [split, one["hf_subset"], 100.0 * float(one["main_score"])] for split, one in parts
        ],
        "date": datetime.fromtimestamp(date, UTC).date().isoformat()
        if isinstance(date, (int, float))
        else date,
    }
    scores = scores_of(parts, _main_metric([one for _, one in parts]))
    return PublishedResult(
        "",
        "",
        PREFIX + str(content["task_name"]),
        str(content["dataset_revision"]),
        version,
        tuple(scores),
        facts,
    )


def _main_metric(parts: Sequence[Mapping[str, Any]]) -> str:
    same = [
        name
        for name in parts[0]
        if name not in BESIDE and all(part.get(name) == part["main_score"] for part in parts)
    ]
    usual = [name for name in _MAIN if name in same]
    return (usual or same or ["main_score"])[0]


def _of_yaml(name: str, raw: bytes) -> list[PublishedResult]:
    """Read the hub's list of evaluation results, leaving out means of whole suites."""
    import yaml

    try:
        rows = yaml.safe_load(raw)
    except (yaml.YAMLError, RecursionError) as error:
        raise _NotAResultError(f"is not YAML ({first_line(error)})") from error
    if not isinstance(rows, list):
        raise _NotAResultError(
            "is not a list of evaluation results, each with a dataset and a value"
        )
    scores: dict[tuple[str, str, str], list[Score]] = {}
    dates: dict[tuple[str, str, str], str] = {}
    for row in rows:
        task, split, subset = _task_id(str(row["dataset"]["task_id"]))
        version = _VERSION.search(str(row.get("notes") or ""))
        key = task, str(row["dataset"].get("revision") or ""), version[1] if version else ""
        value = float(row["value"])
        if not math.isfinite(value):
            raise _NotAResultError(f"has a value of {task} that is not a number")
        if task.endswith(")"):  # `MTEB(eng, v2)`
            continue
        scores.setdefault(key, []).append(Score(split, subset, "main_score", value, 0))
        dates[key] = str(row.get("date") or "")
    if not scores:
        raise _NotAResultError("contains means of whole suites, and no result of a task")
    return [
        PublishedResult(
            "",
            "",
            PREFIX + task,
            data,
            version,
            tuple(_with_mean(of)),
            {
                "file": name,
                "parts": [[s.split, s.aggregation or "default", s.score] for s in of],
                "date": dates[task, data, version] or None,
            },
        )
        for (task, data, version), of in scores.items()
    ]


def _task_id(text: str) -> tuple[str, str, str | None]:
    """Split `STS17_en-en_test` into task, split and subset; all parts if it names none."""
    task, *rest = text.rsplit("_", 2)
    if len(rest) < 2 or rest[1] not in _SPLITS:
        return text, "all", "mean"
    return task, rest[1], None if rest[0] == "default" else rest[0]


def _with_mean(scores: list[Score]) -> list[Score]:
    """Return the scores, the main one first: the overall score, or the mean of the parts."""
    parts = [score for score in scores if score.split != "all"]
    overall = [score for score in scores if score.split == "all"]
    if overall or len(parts) > 1:
        value = overall[0].score if overall else sum(s.score for s in parts) / len(parts)
        return [Score("all", "mean", "main_score", value, 0, main=True), *parts]
    return [Score(parts[0].split, parts[0].aggregation, "main_score", parts[0].score, 0, main=True)]


def write(folder: Path, results: Iterable[Mapping[str, Any]]) -> list[Path]:
    """Write results in MTEB's layout; return the files.

    Args:
        folder: created if needed; existing files are overwritten.
        results: each with `encoder`, `fingerprint`, `dim`, `task`, `data_hash`, `seconds`,
            `created`, `details`, and `scores` in points.
    """
    written = []
    for result in results:
        place = folder / as_file(f"{OWNER}__{result['encoder']}") / result["fingerprint"]
        place.mkdir(parents=True, exist_ok=True)
        meta = {
            "name": model_name(result["encoder"]),
            "revision": result["fingerprint"],
            "embed_dim": result["dim"],
        }
        _write_json(place / META, meta)
        content = as_mteb(result)
        file = place / f"{as_file(content['task_name'])}.json"
        _write_json(file, content)
        written.append(file)
    return written


def as_mteb(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result in MTEB's JSON layout: mteb's own output, or ours converted."""
    own = result["details"].get("mteb")
    if own:
        return {**own, "date": result["created"]}
    by_split: dict[str, dict[str, dict[str, Any]]] = {}
    for score in result["scores"]:
        if score["aggregation"] == "mean" and score["split"] == "all":
            continue
        subset = score["aggregation"] or "default"
        part = by_split.setdefault(score["split"], {}).setdefault(subset, {})
        value = score["score"] / (1.0 if score["unit"] else 100.0)
        part[score["metric"]] = None if math.isnan(value) else value
        if score["main"]:
            part["main_score"] = part[score["metric"]]
    return {
        "dataset_revision": result["data_hash"],
        "task_name": result["task"],
        "mteb_version": None,
        "scores": {
            split: [
                {"main_score": None, **values, "hf_subset": subset, "languages": [UNKNOWN_LANGUAGE]}
                for subset, values in parts.items()
                if "main_score" in values
            ]
            for split, parts in by_split.items()
            if any("main_score" in values for values in parts.values())
        },
        "evaluation_time": result["seconds"],
        "kg_co2_emissions": None,
        "date": result["created"],
    }


def as_yaml(results: Iterable[Mapping[str, Any]], data_sets: Mapping[str, str]) -> str:
    """Return the hub's YAML list of evaluation results for one model.

    Args:
        results: as for `write`.
        data_sets: task -> its data set on the hub; a task without one is listed by its own name.
    """
    import yaml

    rows = []
    for result in results:
        content = as_mteb(result)
        notes = (
            f"Obtained using MTEB v{content['mteb_version']}"
            if content["mteb_version"]
            else ("Obtained using Theodolite")
        )
        for split, parts in content["scores"].items():
            for part in parts:
                task_id = f"{content['task_name']}_{part['hf_subset']}_{split}"
                rows.append(
                    {
                        "dataset": {
                            "id": data_sets.get(result["task"], content["task_name"]),
                            "task_id": task_id,
                            "revision": content["dataset_revision"],
                        },
                        "value": round(100.0 * part["main_score"], 5),
                        "date": datetime.fromtimestamp(result["created"], UTC).date().isoformat(),
                        "notes": notes,
                    }
                )
    return str(yaml.safe_dump(rows, sort_keys=False, allow_unicode=True))


def model_name(encoder: str) -> str:
    """Return the MTEB model name of one of our encoders."""
    return f"{OWNER}/{encoder.replace('/', '_')}"


def as_file(name: str) -> str:
    """Return a name that is safe as a file name."""
    return re.sub(r"[^\w.\-]", "_", name)[:200]


def _write_json(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
