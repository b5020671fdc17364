"""The training of a decoder that is killed goes on from its checkpoint."""

from pathlib import Path

from engine.decode import open_decoder
from engine.decoding.spec import DecoderSpec
from tests.fakes.decoders import small_spec
from tests.jobs.conftest import Bench, until
from tests.jobs.test_kills import assert_gone, start_app, tree
from tests.jobs.test_training import PATIENCE


def saved(spec: DecoderSpec) -> int:
    """The update of the newest checkpoint; 0 for none."""
    found = Path(f"{spec.out}.training").glob("step-*[0-9]")
    return max((int(path.name.removeprefix("step-")) for path in found), default=0)


def test_a_killed_training_goes_on(bench: Bench, tmp_path: Path) -> None:
    """Its child is killed, then the app with all it started; it ends as a decoder in the list."""
    spec = small_spec(tmp_path / "broken", epochs=40.0)
    app = start_app(bench)
    run_id = bench.jobs.enqueue("train-decoder", spec.to_dict(), "broken")
    until(lambda: saved(spec) > 0, PATIENCE)
    tree(app)[2].kill()
    first = saved(spec)
    until(lambda: saved(spec) > first, PATIENCE)
    processes = tree(app)
    app.kill()
    app.wait()
    assert_gone(processes)
    before = saved(spec)
    start_app(bench)
    run = bench.over(run_id, PATIENCE)
    assert (run["state"], run["error"]) == ("done", None)
    starts = [e["data"]["step"] for e in bench.store.events.of(run_id) if e["kind"] == "started"]
    assert starts[0] == 0
    assert starts[1] >= first > 0
    assert starts[2] >= before > first
    assert bench.store.runs.units(run_id)[0]["deaths"] <= 1  # it got further after the first
    (row,) = bench.store.decoders.list()
    assert (row["encoder"], row["folder"]) == (spec.encoder, Path(spec.out))
    assert open_decoder(row["folder"]).facts["spec"] == spec.to_dict()
    assert saved(spec) == 0
