"""Results in MTEB's layout of JSON files, and as the hub's YAML of evaluation results.

Reading (`engine.mteb.reading`) and writing them does not need mteb. A folder of results holds
`MODEL/REVISION/TASK.json` at some depth, the slash of a model's name written `__`; beside the tasks
may lie `model_meta.json`. MTEB stores scores in 0 to 1; here they are points of 100.
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

from theodolite.engine.mteb.own_tasks import UNKNOWN_LANGUAGE
from theodolite.engine.results import Score

META = "model_meta.json"
BESIDE = ("main_score", "hf_subset", "languages", "mteb_version", "scores_per_experiment")
_OWN_SCALE = ("mae", "mse", "rmse")
"""Metrics with a unit of their own; all others are given in points of 100."""
OWNER = "theodolite"
"""The owner in our encoders' model names, before the slash."""


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


def write(folder: Path, results: Iterable[Mapping[str, Any]]) -> list[Path]:
    """Write results in MTEB's layout; return the files.

    Args:
        folder: created if needed; existing files are overwritten.
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
        _write_json(place / META, meta)
        content = as_mteb(one)
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
    for one in results:
        content = as_mteb(one)
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
                            "id": data_sets.get(one["task"], content["task_name"]),
                            "task_id": task_id,
                            "revision": content["dataset_revision"],
                        },
                        "value": round(100.0 * part["main_score"], 5),
                        "date": datetime.fromtimestamp(one["created"], UTC).date().isoformat(),
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
