"""The job *diagnose*: how well a decoder reconstructs held-out sentences."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.app import decoders
from theodolite.app.decoders import DecoderInfo
from theodolite.app.formats import last_part
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.kinds import spec_of
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.decode.service import need_decoder
from theodolite.app.pages.trainings.service import DECODERS
from theodolite.app.workspace import Workspace
from theodolite.engine.decoding.diagnosis import Diagnosis, source_of, to_result
from theodolite.engine.decoding.facts import facts_of
from theodolite.engine.decoding.presets import TEST_TEXTS, default_texts
from theodolite.engine.errors import UserError
from theodolite.engine.paths import expand
from theodolite.engine.progress import ProgressCallback

HELD_OUT = "kept-apart"
"""In place of a text: the sentences held out of the decoder's training."""
SENTENCES = 1000
"""Default number of sentences: as many as the released code of Vec2Sent tests on."""
MAX_SENTENCES = 10_000
MAX_KNOWN = 200_000
"""Most training sentences searched for the nearest one."""
PROTOCOL = "vec2sent"
MIN_WORDS = 3
"""Fewest words of a sentence: shorter ones are too easy."""


@dataclass(frozen=True)
class DiagnoseJob(Job):
    """A diagnosis; create it with `of`.

    Attributes:
        encoder: canonical spec.
        decoder: name of its decoder.
        text: data set or file, or `HELD_OUT`.
        sentences: maximum number of sentences.
    """

    kind = "diagnose"

    encoder: str
    decoder: str
    text: str
    sentences: int

    @classmethod
    def of(
        cls,
        workspace: Workspace,
        encoder: str,
        text: str | None = None,
        sentences: int = SENTENCES,
    ) -> DiagnoseJob:
        """Validate the arguments and create the job.

        Args:
            workspace: the workspace.
            encoder: spec of an encoder with a decoder.
            text: data set or file, or `held-out`; None for the first of `TEST_TEXTS` that the
                decoder was not trained on, or the sentences held out.
            sentences: maximum number of sentences.

        Raises:
            NoDecoder: the encoder has no decoder.
        """
        row = need_decoder(workspace, encoder)
        if not text:
            unseen = [name for name in TEST_TEXTS if name not in _training_names(row)]
            names = workspace.catalog.names()
            text = next((name for name in unseen if name in names), HELD_OUT)
        elif text == "held-out":
            text = HELD_OUT
        elif _is_file(workspace, text):
            text = str(expand(text).absolute())
        return cls(row.encoder, row.name, text, sentences)

    @property
    def title(self) -> str:
        """`Diagnosis of minilm on starter-topics`."""
        return f"Diagnosis of {self.encoder} on {last_part(self.text)}"

    def validate(self, workspace: Workspace) -> None:
        """Refuse a text that is gone."""
        if self.text != HELD_OUT and not _is_file(workspace, self.text):
            workspace.catalog.stamp(self.text)

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> Iterator[Diagnosis]:
        """Diagnose, store the result, and yield the diagnosis."""
        yield diagnose_decoder(workspace, self, reporter.tick)


def _is_file(workspace: Workspace, text: str) -> bool:
    """Whether a text is a file; visitors are not told which files there are."""
    return not workspace.read_only and expand(text).is_file()


def queue_again(workspace: Workspace, row: Mapping[str, Any]) -> str:
    """Queue the diagnosis that gave a result once more and return the run's id.

    Args:
        workspace: the workspace.
        row: a row of `store.results.table`.

    Raises:
        NoDecoder: the encoder's decoder is gone.
    """
    source = source_of(row["task"])
    for run in workspace.store.runs.list(limit=1000, kinds=[DiagnoseJob.kind]):
        job = DiagnoseJob.from_spec(spec_of(run))
        if (job.encoder, last_part(job.text)) == (row["encoder"], source):
            return queue(workspace, job)
    return queue(workspace, DiagnoseJob.of(workspace, row["encoder"], source, row["n"]))


def diagnoses(workspace: Workspace) -> list[dict[str, Any]]:
    """Rows of the successful diagnoses in the store, newest first."""
    rows = workspace.store.results.table(protocols=[PROTOCOL])
    return [row for row in reversed(rows) if row["error"] is None]


def newest(workspace: Workspace, encoder: str, text: str | None) -> tuple[Diagnosis, str] | None:
    """The newest stored diagnosis of an encoder, on a text or on any, and its text."""
    for row in diagnoses(workspace):
        source = source_of(row["task"])
        if row["encoder"] == encoder and text in (None, source):
            details = workspace.store.results.by_id(row["id"])["details"]
            return Diagnosis.from_dict(details), source
    return None


def diagnose_decoder(workspace: Workspace, job: DiagnoseJob, tick: ProgressCallback) -> Diagnosis:
    """Diagnose a decoder on the same random sentences as any other, and store the result."""
    from theodolite.engine.diagnose import diagnose

    own = (row for row in decoders.list_all(workspace) if row.name == job.decoder)
    row = next(own, None) or decoders.decoder_of(workspace, job.encoder)
    if row is None:
        raise UserError(f"The decoder {job.decoder} is gone.", "Train it again.", code="stale")
    row = replace(row, encoder=job.encoder)
    decoder, encoder = decoders.load(workspace, row)
    with tempfile.TemporaryDirectory(prefix="theodolite-diagnose-") as folder:
        learned, apart, notes = _training_text(workspace, row, job.text, Path(folder))
        new = apart
        if job.text != HELD_OUT:
            known = {*learned, *apart}
            new = [s for s in _text(workspace, row, job.text, Path(folder)) if s not in known]
    new = [sentence for sentence in new if len(sentence.split()) >= MIN_WORDS]
    if len(new) < 2:
        raise UserError(
            f"{last_part(job.text)} has no sentences that are new to the decoder.",
            f"It needs sentences of {MIN_WORDS} to {row.words} words; choose another text.",
            code="too-few",
        )
    order = np.random.default_rng(1111).permutation(len(new))[: job.sentences]
    sentences = [new[i] for i in np.sort(order)]
    diagnosis = diagnose(decoder, encoder, sentences, learned[:MAX_KNOWN], tick=tick)
    diagnosis = replace(diagnosis, notes=(*notes, *diagnosis.notes))
    workspace.keep_result(to_result(diagnosis, last_part(job.text)))
    return diagnosis


def _training_text(
    workspace: Workspace, row: DecoderInfo, text: str, folder: Path
) -> tuple[list[str], list[str], list[str]]:
    """The decoder's training sentences, the held-out sentences, and notes.

    If the training text is not available, the default texts replace it, without the sentences to
    diagnose unless the decoder was trained on them.
    """
    from theodolite.engine.decoding.dataset import sentences_of
    from theodolite.engine.decoding.spec import DecoderSpec

    facts = facts_of(row.folder)
    # The spec is that of the run, if it is known: the folder's has no absolute paths.
    runs = workspace.store.runs.list(limit=1000, kinds=DECODERS)
    specs = (DecoderSpec.from_dict(spec_of(run)) for run in runs)
    try:
        spec = next((spec for spec in specs if spec.hash == facts["hash"]), None)
        spec = spec or DecoderSpec.from_dict(facts["spec"])
        sentences = sentences_of(spec, workspace.catalog, folder)
        if sentences.hash != facts["data_hash"]:
            raise UserError("Another text has that name.", code="stale")
        return sentences.texts[: -spec.held_out], sentences.texts[-spec.held_out :], []
    except (KeyError, TypeError, UserError):
        names = default_texts(workspace.catalog)
        texts = [s for name in names for s in _text(workspace, row, name, folder)]
        if text != HELD_OUT and text not in _training_names(row):
            new = set(_text(workspace, row, text, folder))
            texts = [sentence for sentence in texts if sentence not in new]
        note = (
            "The training text of this decoder is not available here: the nearest sentences "
            f"are from {', '.join(map(last_part, names))}."
        )
        return texts, [], [note]


def _text(workspace: Workspace, row: DecoderInfo, name: str, folder: Path) -> list[str]:
    """Distinct sentences of a text that are short enough for the decoder."""
    from theodolite.engine.decoding.dataset import lines_of
    from theodolite.engine.decoding.text import corpus

    lines, _ = lines_of([name], workspace.catalog, folder)
    return corpus(lines, most=row.words or 14, cut=False)


def _training_names(row: DecoderInfo) -> set[str]:
    """Names of the texts that a decoder was trained on."""
    spec = facts_of(row.folder).get("spec")
    train = set(spec.get("train", ())) if isinstance(spec, dict) else set()
    return train | {"starter-topics"} if "starter" in train else train
