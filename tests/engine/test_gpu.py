"""Every path through an Nvidia GPU, once: runs wherever there is one.

Small models of our own, so that neither a hub nor the starter encoders are needed; what
comes out is compared with the same on the CPU.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.engine.encoders.models import save, save_sentence_transformer
from tests.fakes import decoders
from tests.fakes.allocation import Allocation
from tests.fakes.folder import files
from tests.fakes.runs import TinyCatalog, tiny_run, tiny_spec
from theodolite.engine.classifiers import columns
from theodolite.engine.classifiers.features import Features, accelerator
from theodolite.engine.classifiers.setting import Fit, SolverSetting
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.train import train_decoder
from theodolite.engine.encoders import load
from theodolite.engine.encoders.loading import checkpoint_of
from theodolite.engine.encoders.transformer import TransformerSource, make
from theodolite.engine.train import batches, train

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here"),
]

ROOT = Path(__file__).parents[2]
LINES = [" ".join(["the cat sees a dog"] * (1 + i % 6)) for i in range(300)]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT."""
    return save(tmp_path_factory.mktemp("bert"))


@contextmanager
def waiting_refused() -> Iterator[None]:
    """An error for whatever makes the program wait for the GPU."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def source(folder: Path, device: str, dtype: str | None = "float32") -> TransformerSource:
    """A source that shares neither its model nor its vectors with others."""
    checkpoint = checkpoint_of(f"dir:{folder}")[1]
    return make("tiny", checkpoint, pooling="avg", device=device, dtype=dtype)


def encoded(found: TransformerSource) -> np.ndarray:
    """The vectors of the lines."""
    return np.concatenate(list(found.chunks(LINES)))


@pytest.mark.parametrize(
    ("dtype", "within"), [("float32", 1e-4), ("float16", 2e-2), ("bfloat16", 1e-1)]
)
def test_vectors_are_those_of_the_processor(bert: Path, dtype: str, within: float) -> None:
    """In every precision."""
    expected = encoded(source(bert, "cpu"))
    np.testing.assert_allclose(encoded(source(bert, "cuda", dtype)), expected, atol=within)


def test_a_model_of_sentence_transformers_encodes(tmp_path: Path) -> None:
    """Run by that library."""
    folder = save_sentence_transformer(tmp_path / "model")
    rows = [load(f"dir:{folder}", device=device).encode(LINES) for device in ("cpu", "cuda")]
    np.testing.assert_allclose(rows[1], rows[0], atol=1e-3)


def test_a_batch_that_does_not_fit_the_memory_is_halved(bert: Path) -> None:
    """The GPU's own allocator fails with an error of another kind than the processor's."""
    expected, small = encoded(source(bert, "cpu")), source(bert, "cuda")
    memory = Allocation(small.transformer.model, most=150)
    np.testing.assert_allclose(encoded(small), expected, atol=1e-4)
    assert memory.failures > 0


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize(
    ("objective", "changes"),
    [
        ("unsup", {}),
        ("unsup", {"micro_batch": 3, "mlm_weight": 0.1}),
        ("unsup", {"augmentation": "mlm"}),
        ("sup", {"micro_batch": 3, "head": "mlp"}),
        ("mlm", {"dev": None}),
    ],
)
def test_encoders_are_trained(
    tmp_path: Path, objective: str, changes: dict[str, object], precision: str
) -> None:
    """Whole runs, with looks and checkpoints; the weights are kept in float32."""
    spec = tiny_spec(tmp_path, objective, device="cuda", precision=precision, **changes)
    first, *_, last = train(spec, TinyCatalog())
    assert (first.device, first.precision) == ("cuda", precision)
    assert (last.kind, last.why) == ("finished", "done")
    weights = load_file(tmp_path / "encoder" / "model.safetensors").values()
    assert all(w.dtype == torch.float32 and bool(w.isfinite().all()) for w in weights)


def test_a_run_goes_on_with_the_generator_of_the_gpu(tmp_path: Path) -> None:
    """Broken off and resumed it draws the same dropout masks as before."""
    first = tiny_run(tiny_spec(tmp_path, device="cuda"))
    next(event for event in first.events() if event.kind == "looked")
    first.save()
    following = torch.rand(5, device="cuda")
    torch.cuda.manual_seed(99)
    tiny_run(first.spec)
    assert torch.equal(torch.rand(5, device="cuda"), following)


@pytest.mark.parametrize("objective", ["unsup", "sup", "mlm"])
def test_an_update_does_not_wait_for_the_gpu(tmp_path: Path, objective: str) -> None:
    """Tokens, places and losses go one way."""
    run = tiny_run(tiny_spec(tmp_path, objective, device="cuda", precision="bf16", micro_batch=4))
    order = batches([len(run.examples)], 8, 4, 0)
    for batch in (next(order), next(order)):  # pays for what is made once
        run.update(batch)
    with waiting_refused():
        for batch in order:
            run.update(batch)
    assert run.meter.read() is not None


def decoder_spec(folder: Path, architecture) -> DecoderSpec:
    """A decoder for vectors of random words, which need no model."""
    return replace(decoders.random_spec(folder), architecture=architecture, device="cuda")


@pytest.mark.parametrize("architecture", ["prefix", "lstm", "lstm-mos"])
def test_decoders_are_trained(tmp_path: Path, architecture: str) -> None:
    """In half precision; what is written decodes on the processor."""
    events = list(train_decoder(decoder_spec(tmp_path, architecture)))
    looks = [event.loss for event in events if event.kind == "looked"]
    assert looks[-1] < looks[0]
    assert events[-1].why == "done"
    decoder = open_decoder(Path(events[-1].out))
    (decoded,) = decoder.decode(load("random:32").encode(["the old cat sees a dog"]))
    assert np.isfinite(decoded.score)


@pytest.mark.parametrize("architecture", ["prefix", "lstm"])
def test_an_update_of_a_decoder_does_not_wait_for_the_gpu(
    tmp_path: Path, architecture: str
) -> None:
    """Which pieces are padding is known before they are on the GPU."""
    run = decoders.opened(decoder_spec(tmp_path, architecture))
    assert run.precision.name in ("bf16", "fp16")
    order = run.batches(0)
    for rows in (next(order), next(order)):
        run.update(rows)
    if run.precision.name == "fp16":
        pytest.skip("the scaler of fp16 asks the GPU whether gradients overflowed")
    with waiting_refused():
        for rows in (next(order), next(order)):
            run.update(rows)
    assert run.meter.read() is not None


def test_transfer_classifiers_are_those_of_the_processor(rng: np.random.Generator) -> None:
    """The solver of columns, on data that can be told apart."""
    assert accelerator() == "cuda"
    labels = rng.integers(0, 3, 600)
    vectors = rng.standard_normal((600, 16)).astype(np.float32)
    vectors[np.arange(600), labels] += 3
    train_rows, stop, test = np.split(rng.permutation(600), [400, 500])
    fits = [Fit(train_rows, stop, penalty, test) for penalty in (1e-5, 1e-3)]
    found = [
        columns.solve(
            Features(vectors, np.arange(600), device=device),
            labels,
            fits,
            SolverSetting(),
            1111,
            lambda share: None,
        )
        for device in ("cpu", "cuda")
    ]
    for cpu, gpu in zip(*found, strict=True):
        assert np.mean(cpu.predicted == labels[test]) > 0.9
        assert np.mean(cpu.predicted == gpu.predicted) > 0.98


def test_a_run_begun_by_torchrun_trains(tmp_path: Path) -> None:
    """NCCL beside gloo: two processes where there are two GPUs, else one that meets itself."""
    spec = tiny_spec(tmp_path, device="cuda", mlm_weight=0.1)
    script = files(tmp_path, {"child.py": CHILD}) / "child.py"
    processes = min(2, torch.cuda.device_count())
    launch = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    made = subprocess.run(
        [sys.executable, *launch, str(script), json.dumps(spec.to_dict())],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    assert json.loads(made.stdout.splitlines()[-1])["why"] == "done"


CHILD = """
import json, os, sys
sys.path.insert(0, os.getcwd())
from torch import distributed
import torch
from theodolite.engine.train import train
from theodolite.engine.training.spec import TrainSpec
from tests.fakes.allocation import Allocation
from tests.fakes.runs import TinyCatalog
if os.environ["WORLD_SIZE"] == "1":
    torch.cuda.set_device(0)
    distributed.init_process_group("cpu:gloo,cuda:nccl")
for event in train(TrainSpec.from_dict(json.loads(sys.argv[1])), TinyCatalog()):
    print(json.dumps(event.to_dict()), flush=True)
"""
