"""The training of a decoder that is killed goes on from its checkpoint."""

from pathlib import Path

import pytest

from tests.app.jobs.conftest import Bench
from tests.app.jobs.test_training import checkpoint, killed_twice
from tests.fakes.decoders import small_spec
from theodolite.engine.decode import open_decoder


@pytest.mark.long
def test_a_killed_training_goes_on(bench: Bench, tmp_path: Path) -> None:
    """Its child is killed, then the app with all it started; it ends as a decoder in the list."""
    spec = small_spec(tmp_path / "broken", epochs=40.0)
    killed_twice(bench, "train-decoder", spec)
    (row,) = bench.store.decoders.list()
    assert (row["encoder"], row["folder"]) == (spec.encoder, Path(spec.out))
    assert open_decoder(row["folder"]).facts["hash"] == spec.hash
    assert checkpoint(spec) == 0
