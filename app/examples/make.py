"""Make the store that ships: `python -m theodolite.app.examples.make [NAME ...]`, or all of it.

It is made with the encoders and the starter set that ship; the training and the curation need the
data that they name. The store is part of the repository; a test fails when it no longer fits the
default query of a page.
"""

import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.app.examples import shipped
from theodolite.app.jobs.submit import perform
from theodolite.app.pages.board import cost
from theodolite.app.pages.choose import answer as choose, sheet
from theodolite.app.pages.choose.sheet import ChooseJob
from theodolite.app.pages.curate import answer as curate, leaks
from theodolite.app.pages.data import similarity
from theodolite.app.pages.decode import example as decode
from theodolite.app.pages.diagnose import answer as diagnose
from theodolite.app.pages.diagnose.service import PROTOCOL, DiagnoseJob, diagnose_decoder
from theodolite.app.pages.encoders.service import ensure_listed
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.pages.geometry import service as geometry
from theodolite.app.pages.judge import answer as judge, session as judging
from theodolite.app.pages.judge.session import JudgeSpec, Question, open_session
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.search import answer as search
from theodolite.app.pages.spaces import upgrade
from theodolite.app.pages.spaces.job import SpacesSpec
from theodolite.app.pages.train.job import TrainJob
from theodolite.app.pages.trainings import service as trainings
from theodolite.app.workspace import SHIPPED, STARTER_ENCODERS, Workspace
from theodolite.engine.progress import nobody
from theodolite.engine.tasks import SUITES
from theodolite.engine.training import TrainSpec
from theodolite.store.derived import arrays
from theodolite.store.part import ship

ENCODERS, COLLECTION, PAIRS = ("minilm", "wordllama"), "starter-topics", "starter-pairs"
QUERIES = 100
"""Of the judging session."""
SENTENCES = 300
"""Of the diagnosis."""
TRAINING = TrainSpec(
    "sup",
    "new:layers=2,hidden=128,heads=4,vocab=6000",
    "nli",
    "",
    steps=600,
    limit=40_000,
    learning_rate=1e-3,
    warmup=0.1,
    pooling="avg",
    head="none",
    dev_every=25,
)
"""A two-layer BERT trained from scratch on NLI triplets, in a few minutes."""


def make_spaces(workspace: Workspace) -> None:
    """Make the UMAP of the starter set and its maps by two encoders, with nearest neighbours."""
    first = MapSpec(ENCODERS[0], COLLECTION).make(workspace)
    pair = SpacesSpec(ENCODERS, COLLECTION).make(workspace)
    derived = workspace.store.derived
    for view in (first, pair.first, pair.second):
        row = derived.get(view.key)
        assert row is not None  # noqa: S101 - it was stored above
        ids, cosines = maps.nearest(workspace, view)
        stored = arrays(row)
        stored["nearest"] = ids.astype(np.uint16)
        stored["nearest_cosine"] = cosines.astype(np.float32)
        derived.put(view.key, maps.KIND, row["info"], stored)
    for row in derived.list(maps.KIND):
        if row["info"]["initial"] and "spaces" not in row["info"]:
            derived.remove(row["key"])


def make_upgrades(workspace: Workspace) -> None:
    """Measure whether either encoder is worth it after the other, without the large maps."""
    derived = workspace.store.derived
    for old, new in (ENCODERS, ENCODERS[::-1]):
        spec = upgrade.UpgradeSpec(old, new)
        upgrade.measure(workspace, spec)
        place = upgrade.key(workspace, spec)
        row = derived.get(place)
        assert row is not None  # noqa: S101 - it was stored above
        derived.put(place, upgrade.KIND, row["info"])


def make_scores(workspace: Workspace) -> None:
    """Evaluate and measure the encoders."""
    for encoder in STARTER_ENCODERS:
        for task in SUITES["starter"]:
            evaluate_one(workspace, encoder, task)
        geometry.measure(workspace, encoder, PAIRS)
        similarity.measure(workspace, similarity.SimilaritySpec(similarity.EXAMPLE, encoder))
        cost.measure(workspace, encoder)
    shipped.keep(workspace, cost.KIND, list(cost.rows_by_encoder(workspace).values()))


def make_search(workspace: Workspace) -> None:
    """Search with each encoder."""
    spec = search.SearchSpec((search.QUERY,), encoders=STARTER_ENCODERS)
    *_, last = search.answer(workspace, spec, lambda job: True)
    for name, (hits,) in last.complete().hits.items():
        rows = [[hit.index, hit.cosine] for hit in hits]
        question = search.question(spec, name)
        shipped.keep(workspace, search.KIND, rows, question, encoders=[name], data=[spec.data])


def make_curation(workspace: Workspace) -> None:
    """Find outliers, and texts of the STS tasks in a training set; these are not ours to ship."""
    curate.measure(workspace, curate.CurateSpec("outliers", COLLECTION, ENCODERS[0]))
    rows = [
        vars(leaks.look(workspace, task, leaks.EXAMPLE_SET)) | {"examples": ()}
        for task in leaks.tasks(workspace)
        if task in SUITES["sts"]
    ]
    shipped.keep(workspace, leaks.KIND, rows, leaks.EXAMPLE, encoders=[leaks.EXAMPLE])
    for row in workspace.store.derived.list(leaks.KIND):
        if "answer" not in row["info"]:
            workspace.store.derived.remove(row["key"])


def make_diagnosis(workspace: Workspace) -> None:
    """Diagnose a shipped decoder."""
    encoder, text = diagnose.EXAMPLE_ENCODER, diagnose.EXAMPLE_TEXT
    job = DiagnoseJob.of(workspace, encoder, text, SENTENCES)
    facts = diagnose_decoder(workspace, job, nobody).to_dict()
    made_with = {"encoders": [encoder], "data": [text], "decoders": [encoder]}
    shipped.keep(workspace, job.kind, facts, encoder, **made_with)
    results = workspace.store.results
    results.remove([row["id"] for row in results.table() if row["protocol"] == PROTOCOL])


def by_label(workspace: Workspace, collection: str) -> Any:
    """A judge that marks documents with the query's label as relevant."""
    data: Any = workspace.catalog.load(collection)
    labels = dict(zip(data.sentences, data.labels, strict=True))

    def answer(question: Question) -> str:
        return "relevant" if labels[question.texts[0][0]] == labels[question.query] else "not"

    return answer


def make_judgement(workspace: Workspace) -> None:
    """Play a judging session to its end."""
    session = judging.begin(workspace, JudgeSpec(COLLECTION, ENCODERS, draw=QUERIES))
    judging.play(workspace, session, by_label(workspace, COLLECTION))
    board = judge.board_of(open_session(workspace, session))
    shipped.keep(workspace, judge.KIND, board | {"id": ""})


def make_training(workspace: Workspace) -> None:
    """Train TRAINING, whose folder is gone with the store that it is made in."""
    for _ in perform(workspace, TrainJob.of(workspace, TRAINING)):
        pass
    (run,) = trainings.table(workspace)
    course = replace(run, encoder=None), trainings.curves(workspace, run.key)
    shipped.keep(workspace, trainings.KIND, trainings.freeze(course))
    workspace.store.encoders.remove(str(run.encoder))


def make_sheet(workspace: Workspace) -> None:
    """Choose among the encoders, on no named machine."""
    job = ChooseJob(choose.EXAMPLE, STARTER_ENCODERS[::-1])
    for _ in perform(workspace, job):
        pass
    facts = {**sheet.make(workspace, job, nobody), "machine": "the machine it was made on"}
    made_with = {"encoders": job.encoders, "data": [choose.EXAMPLE]}
    shipped.keep(workspace, sheet.KIND, facts, choose.EXAMPLE, **made_with)
    results, tasks = workspace.store.results, SUITES["starter"]
    results.remove([row["id"] for row in results.table() if row["task"] not in tasks])
    for kind in (sheet.KIND, cost.KIND):
        for row in workspace.store.derived.list(kind):
            if "answer" not in row["info"]:
                workspace.store.derived.remove(row["key"])


MAKERS = {
    "spaces": make_spaces,
    "upgrades": make_upgrades,
    "search": make_search,
    "curation": make_curation,
    "decoded": decode.make,
    "diagnosis": make_diagnosis,
    "judgement": make_judgement,
    "training": make_training,
    "scores": make_scores,
    "sheet": make_sheet,
}
"""Name -> function which makes a part of it; the sheet has the scores made."""


class _Making(Workspace):
    """A store that will ship."""

    ships = True


def main(names: list[str]) -> None:
    """Make the parts of these names, beside the others that ship; all without a name."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        if names:
            shutil.copytree(SHIPPED, store)
        workspace = _Making(store)
        ensure_listed(workspace, STARTER_ENCODERS)
        for name in names or MAKERS:
            MAKERS[name](workspace)
        ship(workspace.store, SHIPPED)


if __name__ == "__main__":
    main(sys.argv[1:])
