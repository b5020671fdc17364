"""How often verdicts tell equal encoders apart, and whether they find a difference that is there.

    python -m benchmarks.calibration [--encoder wordllama] [--data ~/data] [--task NAME ...]
                                     [--pairs 100] [--seconds 120] [--comparisons 40]

First the null check of the page Compare, with a task of every type: pairs of copies of an encoder,
each with 1 % noise. Then whole comparisons of invented encoders: if all are equal, the share with
any wrong verdict in one column, any wrong letter on one task, and any wrong letter of the means; if
one is better by five standard errors on each task, the share of its differences that are found.
Each line is a JSON object. The seeds were fixed before the first run. Nothing here is a claim about
speed.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from theodolite.app import significance as service
from theodolite.app.pages.compare.null_check import null_check
from theodolite.app.significance import ALPHA, verdicts
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.protocols import get as protocol_of
from theodolite.engine.tasks import get as task_of

TASKS = (
    "StarterSTS",
    "StarterTopics",
    "StarterSearch",
    "starter-topics/few-shot",
    "starter-topics/cluster",
    "starter-topics/cluster@mteb-v1",
    "tweeteval_irony/few-shot",
    "emotion/few-shot",
    "bbc_news/cluster@mteb-v1",
    "biosses",
    "rte3",
    "cranfield",
    "trecqa",
    "tatoeba/tam-eng",
    "summeval",
    "MRPC@senteval-sklearn",
    "TREC@senteval-mlp",
    "SICKRelatedness-finetune",
    "ImageCaptionRetrieval",
)
"""Of every type of task, the smallest of the data folder, and those whose verdicts were wrong."""
ENCODERS, SUITES = (5, 11, 30), (1, 51, 100)
EXAMPLES, LEAD = 200, 5.0
SURE = 0.99
LEAST_POWER = 0.5
"""Least share found of differences of five standard errors, after correction for any number."""


def say(**line: Any) -> None:
    """Print a line."""
    print(json.dumps(line), flush=True)


def most(trials: int) -> int:
    """Most wrong verdicts that 5 % give in 99 of 100 checks."""
    return int(binom.ppf(SURE, trials, ALPHA))


def checked(asked: argparse.Namespace) -> bool:
    """Print the rate of each task; return whether all hold."""
    good = True
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder), asked.data)
        for spec in asked.task or TASKS:
            name, _, protocol = spec.partition("@")
            try:
                task = task_of(name, workspace.catalog)
            except UserError:  # not in this data folder
                continue
            under = protocol_of(protocol or task.protocol)
            measured = [(name, under.name, under.seed)]
            *_, last = null_check(workspace, asked.encoder, measured, asked.pairs, asked.seconds)
            say(**last.rows()[0])
            good &= not last.problems()
        workspace.close()
    return good


def comparison(
    encoders: int, tasks: int, lead: float, rng: np.random.Generator
) -> Iterator[Mapping[str, tuple[Mapping[str, Any], Mapping[str, np.ndarray]]]]:
    """Yield each task's invented results; the first encoder leads by so many standard errors."""
    error = np.sqrt(2.0 * 0.01 / EXAMPLES)
    for _ in range(tasks):
        hard = rng.normal(0.5, 0.2, EXAMPLES)
        values = hard + rng.normal(0.0, 0.1, (encoders, EXAMPLES))
        values[0] += lead * error
        yield {
            f"e{place}": ({"mean_of": "ndcg"}, {"ndcg": one}) for place, one in enumerate(values)
        }


def told(encoders: int, tasks: int, lead: float, rng: np.random.Generator) -> dict[str, float]:
    """Shares of differences from the second encoder, of letters and of means that are no tie."""
    base, names = "e1", [f"e{place}" for place in range(encoders) if place != 1]
    differences, tests, lettered = {}, dict[str, service.TaskTests](), list[bool]()
    for number, results in enumerate(comparison(encoders, tasks, lead, rng)):
        known: Any = service.of_results(f"task {number}", results)
        found = service.differences(known, base, names)
        differences |= {(name, f"task {number}"): one for name, one in found.items()}
        groups = service.groups(known, [kept.resampled.statistic for kept in known.values()])
        lettered.append(groups[base] != "a" if lead else len(set(groups.values())) > 1)
        resampled = {name: kept.resampled for name, kept in known.items()}
        tests[f"task {number}"] = service.TaskTests(found, groups, resampled, (), ())
    first = "e0" if lead else names[-1]
    column = [v.verdict != "tie" for (name, _), v in verdicts(differences).items() if name == first]
    means = service.ranking([base, *names], tests).groups
    apart = means[base] != means["e0"] if lead else len(set(means.values())) > 1
    return {
        "column": float(np.mean(column)) if lead else float(any(column)),
        "letters": float(np.mean(lettered)) if lead else float(lettered[0]),
        "means": float(apart),
    }


def simulated(comparisons: int, seed: int) -> bool:
    """Print errors and power of whole comparisons; return whether all are as they should be."""
    good = True
    for encoders in ENCODERS:
        for tasks in SUITES:
            for lead in (0.0, LEAD):
                rng = np.random.default_rng([seed, encoders, tasks, int(lead)])
                found = [told(encoders, tasks, lead, rng) for _ in range(comparisons)]
                for what in found[0]:
                    share = float(np.mean([one[what] for one in found]))
                    bound = most(comparisons) / comparisons
                    holds = share >= LEAST_POWER if lead else share <= bound
                    say(
                        verdicts=what,
                        encoders=encoders,
                        tasks=tasks,
                        comparisons=comparisons,
                        **(
                            {"found": share, "least": LEAST_POWER}
                            if lead
                            else {"wrong": share, "nominal": ALPHA, "most": bound}
                        ),
                        holds=holds,
                    )
                    good &= holds
    return good


def main() -> int:
    """Print every rate; return 1 if one is not as it should be."""
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--encoder", default="wordllama")
    given.add_argument("--data", type=Path, help="default: THEODOLITE_DATA")
    given.add_argument("--task", action="append", help="NAME or NAME@PROTOCOL, several times")
    given.add_argument("--pairs", type=int, default=100, help="of noisy copies for each task")
    given.add_argument("--seconds", type=float, default=120.0, help="at most for each task")
    given.add_argument("--comparisons", type=int, default=40, help="of each size")
    given.add_argument("--seed", type=int, default=2026)
    asked = given.parse_args()
    good = checked(asked) if asked.pairs else True
    return 0 if simulated(asked.comparisons, asked.seed) and good else 1


if __name__ == "__main__":
    sys.exit(main())
