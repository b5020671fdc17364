"""Files that machines share: at an address, by hash; and what of another machine is refused."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes.bucket import FakeBucket
from tests.fakes.folder import files as write_files
from theodolite.app.fleet import files as bundles
from theodolite.app.fleet.files import MADE, UNUSED_SECONDS, Damaged, Files, pack
from theodolite.engine.errors import UserError
from theodolite.store.fleet import FleetAway

DIGEST = "0" * 64
NAMES = ("config.json", "model.safetensors", "1_Pooling/config.json")


def folder(place: Path, *names: str) -> Path:
    """A folder of files that say their names."""
    return write_files(place, {name: name for name in names})


@pytest.fixture
def buckets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folders of the test as buckets, of which one is for others."""
    with FakeBucket(tmp_path) as s3:
        s3.closed.add("theirs")
        for name, value in s3.environment.items():
            monkeypatch.setenv(name, value)
        yield


@pytest.fixture(params=["{}", "s3://lab/shared"], ids=["folder", "s3"])
def shared(request: pytest.FixtureRequest, tmp_path: Path, buckets: None) -> tuple[Files, Path]:
    """An address, and the folder in which it keeps its files."""
    place = tmp_path / "lab" / "shared"
    place.mkdir(parents=True)
    return Files(request.param.format(place)), place


def test_a_folder_travels_by_its_content(shared: tuple[Files, Path], tmp_path: Path) -> None:
    files, place = shared
    model = folder(tmp_path / "a" / "mine", *NAMES, "optimizer.pt", ".cache/x.json")
    bundle = files.put(str(model))
    assert sorted(bundle["files"]) == sorted(f"mine/{name}" for name in NAMES)
    assert bundle["files"] == pack(str(folder(tmp_path / "b" / "mine", *NAMES)))["files"]
    there = {path: path.stat().st_mtime_ns for path in (place / "objects").iterdir()}
    assert {path.name for path in there} == {digest for digest, _ in bundle["files"].values()}
    files.put(str(model))
    assert there == {path: path.stat().st_mtime_ns for path in (place / "objects").iterdir()}
    received = files.fetch(bundle, tmp_path / "there")
    assert {name: (received / name).read_text() for name in NAMES} == {n: n for n in NAMES}
    files.copy(bundle, f"{files._address}/models/mine")
    assert (place / "models/mine/1_Pooling/config.json").read_text() == "1_Pooling/config.json"
    output = files.put(str(model), f"{MADE}/0a")
    assert len(list((place / MADE / "0a").iterdir())) == 3
    files.remove(output)
    assert [path for path in (place / MADE).rglob("*") if path.is_file()] == []
    with pytest.raises(Damaged):
        files.fetch(output, tmp_path / "elsewhere")
    files.fetch(bundle, tmp_path / "elsewhere")


def test_damage_is_found_and_mended(shared: tuple[Files, Path], tmp_path: Path) -> None:
    files, place = shared
    bundle = files.put(str(folder(tmp_path / "mine", "model.safetensors")))
    (stored,) = (place / "objects").iterdir()
    for content in (b"torn", b"x" * stored.stat().st_size):
        stored.write_bytes(content)
        with pytest.raises(Damaged):
            files.fetch(bundle, tmp_path / "there")
        assert not list((tmp_path / "there").rglob("*.*"))
        files.put(str(tmp_path / "mine"))
        assert stored.read_text() == "model.safetensors"
    assert files.fetch(bundle, tmp_path / "there").is_dir()


def test_what_nobody_uses_goes(tmp_path: Path) -> None:
    files, objects = Files(str(tmp_path)), tmp_path / "objects"
    files.clean()
    files.put(str(folder(tmp_path / "mine", *NAMES)))
    used, unused, _ = sorted(objects.iterdir())
    for path, share in ((used, 0.6), (unused, 1.1)):
        past = time.time() - share * UNUSED_SECONDS
        os.utime(path, (past, past))
    files.clean()
    assert len(list(objects.iterdir())) == 2
    files.put(str(tmp_path / "mine"))
    assert used.stat().st_mtime > time.time() - 100


def test_nothing_outside_of_the_address(tmp_path: Path) -> None:
    """Not by a name, nor by a link that others made in a folder."""
    (tmp_path / "shared").mkdir()
    files = Files(f"file://{tmp_path}/shared")
    root = f"file://{tmp_path}/shared"
    assert files.is_below(f"{root}/mine")
    for wrong in (root, f"{root}-2/x", f"{root}/../x", f"{root}/objects/x", f"zip://a::{root}/b"):
        assert not files.is_below(wrong)
    bundle = files.put(str(folder(tmp_path / "mine", "model.safetensors")))
    folder(tmp_path / "secret", "model.safetensors")
    (stored,) = (tmp_path / "shared" / "objects").iterdir()
    stored.unlink()
    stored.symlink_to(tmp_path / "secret" / "model.safetensors")
    (tmp_path / "shared" / "models").symlink_to(tmp_path / "secret")
    for use in (
        lambda: files.fetch(bundle, tmp_path / "there"),
        lambda: files.copy(bundle, f"{root}/models/mine"),
        lambda: files.put(str(tmp_path / "mine")),
    ):
        with refused("denied", "leads out"):
            use()


def test_a_share_that_is_not_mounted_is_not_made_anew(tmp_path: Path) -> None:
    """What waits for its files goes on once it is back."""
    place = folder(tmp_path / "share")
    place.mkdir()
    files = Files(str(place))
    model = str(folder(tmp_path / "mine", "config.json"))
    place.rename(tmp_path / "away")
    with pytest.raises(FleetAway, match="There is no folder"):
        files.put(model)
    assert not place.exists()
    (tmp_path / "away").rename(place)
    files.put(model)


def test_addresses_for_files(tmp_path: Path, buckets: None) -> None:
    """What is no address, one that may not be used, and that no password is shown."""
    for wrong, code in (
        (str(tmp_path / "none"), "no-file"),
        ("s3://a/../b", "invalid"),
        ("nothing://a/b", "unsupported"),
        ("zip://a::s3://b", "invalid"),
    ):
        with refused(code):
            Files(wrong)
    assert "s3cret" not in Files("s3://key:s3cret@lab/fleet").name
    with refused("denied", "s3://theirs/x"):
        Files("s3://theirs/x").put(str(folder(tmp_path / "mine", "config.json")))


def test_what_is_not_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pickles, what is too large, and what is not there; vectors take their sentences along."""
    folder(tmp_path, "v.npy", "v.txt", "w.txt")
    assert set(pack(str(tmp_path / "v.npy"))["files"]) == {"v.npy", "v.txt"}
    assert set(pack(str(tmp_path / "w.txt"))["files"]) == {"w.txt"}
    with refused("wrong-kind", "pytorch_model.bin"):
        pack(str(folder(tmp_path / "old", "config.json", "pytorch_model.bin")))
    with refused("no-file", tmp_path / "none"):
        pack(str(tmp_path / "none"))
    monkeypatch.setattr(bundles, "MAX_BYTES", 3)
    with refused("too-large", tmp_path / "new"):
        pack(str(folder(tmp_path / "new", "model.safetensors")))


@pytest.mark.parametrize(
    "name",
    r"../x.json /x.json a/../../x.json .ssh/x.json a//x.json C:/x.json a\x.json x.pkl x".split(),
)
def test_names_from_elsewhere_stay_in_their_folder(name: str) -> None:
    """And are of files that are never unpickled."""
    good = {"name": "a", "at": "objects", "files": {"a/x.json": [DIGEST, 1]}}
    assert bundles.check(good) == {"a/x.json": (DIGEST, 1)}
    wrong = (
        {"files": {name: [DIGEST, 1]}},
        {"files": {"x.json\0": [DIGEST, 1]}},
        {"name": ".."},
        {"at": "../a"},
        {"files": {"a/x.json": ["../x", 1]}},
    )
    for change in (*wrong, {"files": 7}, {"files": {"a/x.json": [DIGEST, 1 << 60]}}):
        with pytest.raises(UserError):
            bundles.check({**good, **change})
