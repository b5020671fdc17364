"""Files that travel: which, under which names, and what of a name from elsewhere is refused."""

from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes.bucket import FakeBucket
from theodolite.app.fleet import outs, parcels
from theodolite.engine.errors import UserError

DIGEST = "0" * 64


def folder(place: Path, *names: str) -> Path:
    """A folder of files that say their names."""
    for name in names:
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    return place


def test_a_parcel_is_a_folder_by_its_content(tmp_path: Path) -> None:
    """What a model does not need stays; where it lay, and when it was written, does not count."""
    names = ("config.json", "model.safetensors", "1_Pooling/config.json")
    one = folder(tmp_path / "a" / "mine", *names, "optimizer.pt", ".cache/x.json")
    other = folder(tmp_path / "b" / "mine", *names)
    packed = parcels.pack(str(one))
    assert sorted(packed["files"]) == sorted(f"mine/{name}" for name in names)
    assert parcels.hash_of(packed) == parcels.hash_of(parcels.pack(str(other)))
    (other / "config.json").write_text("{}")
    assert parcels.hash_of(packed) != parcels.hash_of(parcels.pack(str(other)))
    folder(tmp_path, "v.npy", "v.txt", "w.txt")
    assert set(parcels.pack(str(tmp_path / "v.npy"))["files"]) == {"v.npy", "v.txt"}


def test_what_does_not_travel_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pickles, what is too large, and what is not there."""
    with refused("wrong-kind", "pytorch_model.bin"):
        parcels.pack(str(folder(tmp_path / "old", "config.json", "pytorch_model.bin")))
    with refused("no-file", tmp_path / "none"):
        parcels.pack(str(tmp_path / "none"))
    monkeypatch.setattr(parcels, "MAX_BYTES", 3)
    with refused("too-large", tmp_path / "new"):
        parcels.pack(str(folder(tmp_path / "new", "model.safetensors")))


@pytest.mark.parametrize(
    "name",
    [
        "../x.json",
        "/etc/x.json",
        "a/../../x.json",
        ".ssh/x.json",
        "a//x.json",
        "C:/x.json",
        "a\\x.json",
        "x.pkl",
        "x.json\0",
        "x",
    ],
)
def test_names_from_elsewhere_stay_in_their_folder(name: str) -> None:
    """And are of files that are never unpickled."""
    for parcel in (
        {"name": "a", "files": {name: [DIGEST, 1]}},
        {"name": "..", "files": {"a/x.json": [DIGEST, 1]}},
        {"name": "a", "files": {"a/x.json": ["../x", 1]}},
    ):
        with pytest.raises(UserError):
            parcels.checked(parcel)


def test_an_encoder_reads_elsewhere_what_it_read_here() -> None:
    """Its other parts stay as they are, and so do the places of others."""
    spec = "dir:/a/m?pooling=avg + words:/a/w.txt + borep:8?words=/a/w.txt | center:nli"
    assert parcels.paths_of(spec) == ["/a/m", "/a/w.txt", "/a/w.txt"]
    there = parcels.moved(spec, {"/a/m": "/x/1%2/m", "/a/w.txt": "/x/w.txt"})
    assert there == (
        "dir:/x/1%252/m?pooling=avg + words:/x/w.txt + borep:8?words=/x/w.txt | center:nli"
    )
    assert parcels.moved(there, {"/x/1%2/m": "/a/m", "/x/w.txt": "/a/w.txt"}) == spec


def test_models_stay_below_the_root_that_a_worker_allows(tmp_path: Path) -> None:
    """And nowhere else."""
    root = f"file://{tmp_path}/models"
    assert outs.is_below(f"{root}/mine", root)
    for wrong in (root, f"{root}-2/mine", f"{root}/../mine", "s3://lab/mine", f"zip://a::{root}/b"):
        assert not outs.is_below(wrong, root)
    made = folder(tmp_path / "made", "config.json", "1_Pooling/config.json")
    outs.leave(made, f"{root}/mine")
    assert (tmp_path / "models/mine/1_Pooling/config.json").read_text() == "1_Pooling/config.json"
    assert not made.exists()


def test_models_are_left_in_a_bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in S3, by its protocol; one that may not be written to is refused, and nothing is lost."""
    with FakeBucket(tmp_path / "s3") as s3:
        for name, value in s3.environment.items():
            monkeypatch.setenv(name, value)
        made = folder(tmp_path / "made", "config.json", "1_Pooling/config.json")
        s3.closed.add("theirs")
        with refused("denied", "s3://theirs/mine", "AccessDenied"):
            outs.leave(made, "s3://theirs/mine")
        outs.leave(made, "s3://lab/models/mine")
    for name in ("config.json", "1_Pooling/config.json"):
        assert (tmp_path / "s3/lab/models/mine" / name).read_text() == name
    assert not made.exists()
