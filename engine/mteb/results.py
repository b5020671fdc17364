"""Results in MTEB's layout of JSON files, and as the hub's YAML of evaluation results.

Plain files: reading and writing them takes no mteb. A folder of results holds
`MODEL/REVISION/TASK.json` at some depth, the slash of a model's name written `__`; beside the tasks
may lie `model_meta.json`. Scores lie there as shares; here they are points of 100.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from engine.errors import UserError, first_line
from engine.mteb.theirs import PREFIX, UNKNOWN_LANGUAGE
from engine.results import Score

_META = "model_meta.json"
_BESIDE = ("main_score", "hf_subset", "languages", "mteb_version", "scores_per_experiment")
_FACTS = {"n_parameters": "parameters", "embed_dim": "dim", "max_tokens": "max_tokens",
          "license": "licence"}  # fmt: skip
"""Of a model, as the file beside its results calls them -> as they are called here."""
_MAIN = ("ndcg_at_10", "map_at_1000", "accuracy", "v_measure", "cosine_spearman", "max_ap",
         "cosine_ap", "f1", "lrap", "kendalltau", "p-MRR")  # fmt: skip
"""Main scores by how usual they are: a file gives the value twice and does not say of which."""
_OWN_SCALE = ("mae", "mse", "rmse")
"""Metrics that are no share of anything: every other is given in points of 100."""
OWNER = "theodolite"
"""Stands before the slash in the names of our encoders as models."""
_MOST_BYTES = 50_000_000


@dataclass(frozen=True)
class PublishedResult:
    """One model on one task, as somebody published it.

    Attributes:
        model: `owner/name`.
        revision: of the model.
        task: with the prefix of MTEB's own tasks.
        data_revision: of the task's data; another one is another question.
        version: of mteb; empty when it is not said.
        scores: of all splits and subsets; the first is the main one, their mean where there are
            several.
        facts: JSON-able: `date`, `file`, `languages`, `parts`: split, subset and main score of
            each; and `model`: what stands beside it of the model, as `store.encoders` has it.
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
        """The score a table shows."""
        return self.scores[0]


def read(place: Path) -> tuple[list[PublishedResult], list[str]]:
    """Read a folder of results, or a single file.

    Returns:
        The results, and of every file that could not be read a sentence that says why.

    Raises:
        UserError: there is no such folder, or nothing in it can be read.
    """
    if not place.exists():
        raise UserError(f"There is no {place}.", "Name a folder of results, or one of its files.")
    files = [place] if place.is_file() else sorted(place.rglob("*.json"))
    found, problems = [], []
    for file in files:
        if file.name == _META or file.is_symlink():
            continue
        try:
            found.append(_of_file(file))
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            problems.append(f"{file.name}: {first_line(error)}")
    if not found:
        raise UserError(
            f"{place} holds no results in MTEB's layout"
            + (f"; the first file says: {problems[0]}." if problems else "."),
            "Results lie in MODEL/REVISION/TASK.json, as mteb writes them.",
        )
    return found, problems


def _of_file(file: Path) -> PublishedResult:
    if file.stat().st_size > _MOST_BYTES:
        raise ValueError("is too large for a file of results")
    said = json.loads(file.read_text("utf-8"))
    if not isinstance(said, dict) or not isinstance(said.get("scores"), dict):
        raise ValueError(
            "is not a result of mteb 1.11 or newer; `mteb` itself can read older ones and write "
            "them anew"
        )
    model, revision, about = _model_of(file)
    parts = [(split, one) for split, several in said["scores"].items() for one in several]
    if not parts:
        raise ValueError("has no scores")
    languages = sorted({code for _, one in parts for code in one.get("languages", ())})
    date = said.get("date")
    facts = {
        "file": file.name,
        "languages": languages,
        "model": about,
        "parts": [
            [split, one["hf_subset"], 100.0 * float(one["main_score"])] for split, one in parts
        ],
        "date": datetime.fromtimestamp(date, UTC).date().isoformat()
        if isinstance(date, (int, float)) else date,
    }  # fmt: skip
    return PublishedResult(
        model, revision, PREFIX + str(said["task_name"]), str(said["dataset_revision"]),
        str(said.get("mteb_version") or ""),
        tuple(scores_of(parts, _main_metric([one for _, one in parts]))), facts,
    )  # fmt: skip


def _model_of(file: Path) -> tuple[str, str, dict[str, Any]]:
    """Name, revision and facts, by the file beside it or the folders above."""
    folder, experiment = file.parent, ""
    if folder.parent.name == "experiments":
        folder, experiment = folder.parent.parent, f" ({folder.name})"
    model, revision, about = folder.parent.name.replace("__", "/"), folder.name, {}
    meta = folder / _META
    if meta.is_file():
        said = json.loads(meta.read_text("utf-8"))
        model, revision = str(said.get("name") or model), str(said.get("revision") or revision)
        about = {ours: said[name] for name, ours in _FACTS.items() if said.get(name) is not None}
    return model + experiment, revision, about


def scores_of(
    parts: Sequence[tuple[str, Mapping[str, Any]]],
    metric: str,
    sizes: Mapping[tuple[str, str], int] | None = None,
) -> Iterator[Score]:
    """Every number of every split and subset; the main one first, the mean of several parts.

    Args:
        parts: split, and what MTEB's JSON has of a subset.
        metric: what the main score is.
        sizes: (subset, split) -> examples, where that is known.
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
            told = name in (*_BESIDE, metric) or name.startswith("nauc")
            if number and not math.isnan(value) and not told:
                yield _score(split, subset, name, float(value), size)


def _main_metric(parts: Sequence[Mapping[str, Any]]) -> str:
    same = [
        name
        for name in parts[0]
        if name not in _BESIDE and all(one.get(name) == one["main_score"] for one in parts)
    ]
    usual = [name for name in _MAIN if name in same]
    return (usual or same or ["main_score"])[0]


def _score(
    split: str, subset: str | None, metric: str, value: float, n: int, *, main: bool = False
) -> Score:
    own = metric in _OWN_SCALE
    unit = "as mteb gives it" if own else ""
    return Score(split, subset, metric, value * (1.0 if own else 100.0), n, main, unit)


def write(folder: Path, results: Iterable[Mapping[str, Any]]) -> list[Path]:
    """Write results in MTEB's layout; return the files.

    Args:
        folder: made if need be; a file that is there is written anew.
        results: each with `encoder`, `fingerprint`, `dim`, `task`, `data_hash`, `seconds`,
            `created`, `details`, and `scores` in points.
    """
    written = []
    for one in results:
        place = folder / as_file(f"{OWNER}__{one['encoder']}") / one["fingerprint"]
        place.mkdir(parents=True, exist_ok=True)
        meta = {
            "name": model_name(one["encoder"]),
            "revision": one["fingerprint"],
            "embed_dim": one["dim"],
        }
        _write_json(place / _META, meta)
        said = as_mteb(one)
        file = place / f"{as_file(said['task_name'])}.json"
        _write_json(file, said)
        written.append(file)
    return written


def as_mteb(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result as MTEB's JSON has it: what its own code gave, or ours in its words."""
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
    """The hub's list of evaluation results, of one model.

    Args:
        results: as for `write`.
        data_sets: task -> its data set on the hub; a task without one is named by itself.
    """
    import yaml

    rows = []
    for one in results:
        said = as_mteb(one)
        notes = f"Obtained using MTEB v{said['mteb_version']}" if said["mteb_version"] else (
            "Obtained using Theodolite"
        )  # fmt: skip
        for split, parts in said["scores"].items():
            for part in parts:
                task_id = f"{said['task_name']}_{part['hf_subset']}_{split}"
                rows.append({
                    "dataset": {
                        "id": data_sets.get(one["task"], said["task_name"]),
                        "task_id": task_id,
                        "revision": said["dataset_revision"],
                    },
                    "value": round(100.0 * part["main_score"], 5),
                    "date": datetime.fromtimestamp(one["created"], UTC).date().isoformat(),
                    "notes": notes,
                })  # fmt: skip
    return str(yaml.safe_dump(rows, sort_keys=False, allow_unicode=True))


def read_yaml(file: Path, model: str, revision: str) -> list[PublishedResult]:
    """Read the hub's list of evaluation results, in which a model stands for itself.

    Args:
        file: YAML.
        model: whose results these are, which the file does not say.
        revision: of the model.

    Raises:
        UserError: it is no such list.
    """
    import yaml

    try:
        rows = yaml.safe_load(file.read_text("utf-8"))
        found: dict[tuple[str, str], list[Score]] = {}
        for row in rows:
            task, split, subset = _task_id(str(row["dataset"]["task_id"]))
            key = task, str(row["dataset"].get("revision") or "")
            found.setdefault(key, []).append(
                Score(split, subset, "main_score", float(row["value"]), 0)
            )
    except (OSError, ValueError, LookupError, TypeError, yaml.YAMLError) as error:
        raise UserError(
            f"{file.name} is not a list of evaluation results: {first_line(error)}.",
            "Each entry has a dataset with id, task_id and revision, and a value.",
        ) from error
    return [
        PublishedResult(model, revision, PREFIX + task, data, "", tuple(_with_mean(scores)), {
            "file": file.name,
            "parts": [[s.split, s.aggregation or "default", s.score] for s in scores],
        })
        for (task, data), scores in found.items()
    ]  # fmt: skip


def _task_id(text: str) -> tuple[str, str, str | None]:
    """Task, split and subset of `STS17_en-en_test`; an id without them is of all."""
    task, *rest = text.rsplit("_", 2)
    if len(rest) < 2 or rest[1] not in ("test", "validation", "dev", "train"):
        return text, "all", "mean"
    return task, rest[1], None if rest[0] == "default" else rest[0]


def _with_mean(scores: list[Score]) -> list[Score]:
    """The main score first: the overall one, or the mean of the parts."""
    parts = [one for one in scores if one.split != "all"]
    overall = [one for one in scores if one.split == "all"]
    if overall or len(parts) > 1:
        value = overall[0].score if overall else sum(s.score for s in parts) / len(parts)
        return [Score("all", "mean", "main_score", value, 0, main=True), *parts]
    return [Score(parts[0].split, parts[0].aggregation, "main_score", parts[0].score, 0, main=True)]


def model_name(encoder: str) -> str:
    """What an encoder of ours is called as a model of MTEB's."""
    return f"{OWNER}/{encoder.replace('/', '_')}"


def as_file(name: str) -> str:
    """A name that a file can have."""
    return re.sub(r"[^\w.\-]", "_", name)[:200]


def _write_json(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
