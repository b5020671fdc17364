"""COCO: pickles in the official layout are converted once; hostile ones do nothing."""

import io
import json
import os
import pickle
import struct
import subprocess
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.errors import refused
from tests.fakes.folder import files
from tests.fakes.pickles import Calls
from theodolite.app.cli import app
from theodolite.engine.datasets import Catalog, coco, pickles
from theodolite.engine.errors import Code


def layout(n: int, seed: int = 0, width: int = 6) -> dict[str, Any]:
    """A split as SentEval's files hold it; the ids of captions are no positions."""
    features = np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)
    ids = {i: [1000 + 7 * i + k for k in range(6)] for i in range(n)}
    captions = {
        each: {"cleaned_caption": f"photograph  {i} seen {k} times", "imgid": i}
        for i, of_image in ids.items()
        for k, each in enumerate(of_image)
    }
    return {"features": features, "image_to_caption_ids": ids, "captions": captions}


def write(folder: Path, protocol: int = 2, **splits: dict[str, Any]) -> Path:
    """Write `downstream/COCO` with three pickles."""
    stems = enumerate(("train", "valid", "test"), start=2)
    made = {f"{s}.pkl": pickle.dumps(splits.get(s, layout(n, n)), protocol) for n, s in stems}
    return files(folder / "downstream" / "COCO", made)


@pytest.mark.parametrize("protocol", range(6))
def test_the_layout_of_every_protocol_of_pickle(tmp_path: Path, protocol: int) -> None:
    """Features as they were, five captions an image in order, each closed by a full stop."""
    base = write(tmp_path, protocol)
    assert coco.convert(base) == [("train", 2, True), ("dev", 3, True), ("test", 4, True)]
    data = Catalog(tmp_path).load("COCO")
    assert list(data.parts) == ["train", "dev", "test"]
    for part, n in zip(data.parts.values(), (2, 3, 4), strict=True):
        np.testing.assert_array_equal(part.images, layout(n, n)["features"])
        expected = [f"photograph {i} seen {k} times ." for i in range(n) for k in range(5)]
        assert list(part.captions) == expected


def python_2(text: bytes, array: np.ndarray) -> bytes:
    """What Python 2 wrote: bytes for text, the old module's name, an array's bytes as a string."""

    def string(raw: bytes) -> bytes:
        return pickle.BINSTRING + struct.pack("<i", len(raw)) + raw

    dtype = (
        b"cnumpy\ndtype\n("
        + string(b"f4")
        + b"K\x00K\x01tR(K\x03"
        + string(b"<")
        + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    )
    shape = b"(" + b"".join(b"K" + bytes([n]) for n in array.shape) + b"t"
    features = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + string(b"b") + b"tR"
        b"(K\x01" + shape + dtype + pickle.NEWFALSE + string(array.tobytes()) + b"tb"
    )
    ids = b"](" + b"".join(b"K" + bytes([k]) for k in range(5)) + b"e"
    one = b"}" + string(b"cleaned_caption") + string(text) + b"s"
    captions = b"}(" + b"".join(b"K" + bytes([k]) + one for k in range(5)) + b"u"
    return (
        b"\x80\x02}("
        + string(b"features")
        + features
        + string(b"image_to_caption_ids")
        + b"]("
        + ids
        + b"e"
        + string(b"captions")
        + captions
        + b"u."
    )


def test_a_pickle_of_python_2(tmp_path: Path) -> None:
    """Its bytes are read as latin-1, as the reference reads them."""
    array = np.array([[1.5, -2.0, 3e-9]], np.float32)
    base = write(tmp_path)
    (base / "train.pkl").write_bytes(python_2("a café".encode("latin-1"), array))
    coco.convert(base)
    part = coco.read(base).parts["train"]
    np.testing.assert_array_equal(part.images, array)
    assert part.captions == ("a café .",) * 5


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d | {"features": list(d["features"])},
        lambda d: d | {"features": d["features"].astype(np.float64)},
        lambda d: d | {"features": np.asfortranarray(d["features"])},
        lambda d: d | {"image_to_caption_ids": list(d["image_to_caption_ids"].values())},
        lambda d: d | {"captions": OrderedDict(d["captions"])},
        lambda d: d | {"image_to_caption_ids": defaultdict(list, d["image_to_caption_ids"])},
        lambda d: (
            d
            | {
                "image_to_caption_ids": {
                    np.int64(k): v for k, v in d["image_to_caption_ids"].items()
                }
            }
        ),
    ],
)
@pytest.mark.parametrize("protocol", [2, 5])
def test_other_containers_of_the_same(tmp_path: Path, change: Any, protocol: int) -> None:
    """Lists for dictionaries, rows for a matrix, another precision, another order in memory."""
    base = write(tmp_path, protocol, train=change(layout(3, 1)))
    coco.convert(base)
    part = coco.read(base).parts["train"]
    np.testing.assert_array_equal(part.images, layout(3, 1)["features"])
    assert part.captions[14] == "photograph 2 seen 4 times ."


def test_converting_again_does_nothing_until_a_pickle_changes(tmp_path: Path) -> None:
    """Known by size and time; a pickle that was removed afterwards is not missed."""
    base = write(tmp_path)
    coco.convert(base)
    times, before = {p: p.stat().st_mtime_ns for p in base.iterdir()}, coco.read(base).hash
    assert [fresh for _, _, fresh in coco.convert(base)] == [False] * 3
    assert {p: p.stat().st_mtime_ns for p in base.iterdir()} == times
    (base / "valid.pkl").write_bytes(pickle.dumps(layout(5, 9)))
    (base / "test.pkl").unlink()
    assert [fresh for _, _, fresh in coco.convert(base)] == [False, True, False]
    data = coco.read(base)
    assert len(data.parts["dev"].images) == 5 and data.hash != before


def test_what_stops_halfway_leaves_nothing_to_be_read(tmp_path: Path) -> None:
    """The old text goes before the new array comes: they could not be told apart later."""
    base = write(tmp_path)
    seen: list[float] = []
    coco.convert(base, lambda share, what: seen.append(share))
    assert 0 <= seen[0] < seen[-1] == pytest.approx(1.0)
    assert seen == sorted(seen)
    (base / "train.pkl").write_bytes(pickle.dumps(layout(2, 77)))

    def stop(share: float, what: str) -> None:
        if what == "train.pkl" and share > 0.2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        coco.convert(base, stop)
    assert not [p for p in base.iterdir() if p.name.startswith(".")]
    with refused("wrong-kind", "COCO/train.pkl", f"theodolite data import-coco {base}"):
        Catalog(tmp_path).load("COCO")
    coco.convert(base)
    np.testing.assert_array_equal(coco.read(base).parts["train"].images, layout(2, 77)["features"])


def test_the_command(tmp_path: Path) -> None:
    base = write(tmp_path)
    done = CliRunner().invoke(app, ["data", "import-coco", str(base), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "split": "test",
        "images": 4,
        "converted": True,
    }
    again = CliRunner().invoke(app, ["data", "import-coco", str(base)])
    assert "already converted" in again.output


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    """No folder, a pickle too few, features without captions and the reverse."""
    with refused("no-file", "train.pkl", "valid.pkl", "test.pkl"):
        coco.convert(tmp_path)
    (write(tmp_path) / "valid.pkl").unlink()
    with refused("no-file", "valid.pkl"):
        coco.convert(tmp_path / "downstream" / "COCO")
    base = write(tmp_path)
    coco.convert(base)
    (base / "test.npy").unlink()
    with refused("no-file", "COCO/test.npy"):
        coco.read(base)
    np.save(base / "test.npy", np.zeros((9, 6), np.float32))
    with refused("mismatch", "test.json has 20 captions", "COCO/test.npy has 9"):
        coco.read(base)


def without(name: str, key: object) -> dict[str, Any]:
    """A split that lacks one entry."""
    data = layout(3)
    return data | {name: {k: v for k, v in data[name].items() if k != key}}


@pytest.mark.parametrize(
    ("data", "code", "named"),
    [
        ({"features": []}, "wrong-kind", "image_to_caption_ids"),
        ([1, 2], "wrong-kind", "captions"),
        (layout(3) | {"features": np.zeros((0, 6))}, "too-few", "train.pkl"),
        (without("image_to_caption_ids", 2), "damaged", "image 2"),
        (without("captions", 1008), "damaged", "image 1"),
        (layout(3) | {"image_to_caption_ids": [[1000, 1001]] * 3}, "too-few", "image 0"),
        (layout(3) | {"features": np.full((3, 6), np.nan)}, "damaged", "image 0"),
        (layout(3) | {"features": [np.ones(6), np.ones(5), np.ones(6)]}, "damaged", "image 1"),
        (layout(3) | {"features": np.array([["a"] * 6] * 3, object)}, "damaged", "image 0"),
    ],
)
def test_another_layout_is_refused_with_its_place(
    tmp_path: Path, data: Any, code: Code, named: str
) -> None:
    """File and image; nothing is left behind."""
    base = write(tmp_path, train=data)
    with refused(code, "COCO/train.pkl", named):
        coco.convert(base)
    assert sorted(p.name for p in base.iterdir()) == ["test.pkl", "train.pkl", "valid.pkl"]


# --- hostile pickles -------------------------------------------------------------------------


def by_name(module: str, name: str, argument: bytes) -> bytes:
    """A call of a function that need not exist here: GLOBAL, one string, REDUCE."""
    text = pickle.BINUNICODE + struct.pack("<I", len(argument)) + argument
    return b"\x80\x02c" + f"{module}\n{name}\n".encode() + b"(" + text + b"tR."


def hostile(trace: Path) -> dict[str, tuple[bytes, str]]:
    """Attacks that would leave a file at `trace`, and what each asks for."""
    touch, source = f"touch {trace}", f"open({str(trace)!r}, 'w')"
    stacked = pickle.dumps(Calls(os.system, touch), 4)
    nested = pickle.dumps({"features": [np.zeros(3), Calls(os.system, touch)]}, 2)
    objects = np.array([Calls(os.system, touch)], object)
    return {
        "os.system": (pickle.dumps(Calls(os.system, touch), 2), "system"),
        "by STACK_GLOBAL": (stacked, "system"),
        "subprocess": (pickle.dumps(Calls(subprocess.check_call, ["touch", str(trace)])), "check"),
        "builtins.eval": (pickle.dumps(Calls(eval, source)), "builtins.eval"),
        "builtins.exec": (pickle.dumps(Calls(exec, source)), "builtins.exec"),
        "builtins.open": (pickle.dumps(Calls(open, str(trace), "w")), "open"),
        "builtins.getattr": (by_name("builtins", "getattr", b"x"), "getattr"),
        "Python 2's eval": (by_name("__builtin__", "eval", source.encode()), "__builtin__.eval"),
        "numpy.testing": (
            by_name("numpy.testing._private.utils", "runstring", source.encode()),
            "runstring",
        ),
        "numpy.load": (by_name("numpy", "load", str(trace).encode()), "numpy.load"),
        "numpy.fromfile": (by_name("numpy", "fromfile", str(trace).encode()), "numpy.fromfile"),
        "a dotted name": (b"\x80\x04\x8c\x05numpy\x8c\x0adtype.type\x93.", "numpy.dtype.type"),
        "inside a container": (nested, "system"),
        "inside an array": (pickle.dumps(objects), "system"),
        "a module of its own": (by_name("theodolite_trace_module", "f", b"x"), "trace_module"),
        "INST": (b"(S'" + touch.encode() + b"'\nios\nsystem\n.", "os.system"),
        "OBJ": (b"(cos\nsystem\nS'" + touch.encode() + b"'\no.", "os.system"),
    }


NAMES = list(hostile(Path("x")))


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_pickle_is_refused_and_does_nothing(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain `pickle` would run it; here it says what was asked for, and nothing ran."""
    trace = tmp_path / "trace"
    (tmp_path / "theodolite_trace_module.py").write_text(f"open({str(trace)!r}, 'w')")
    monkeypatch.syspath_prepend(tmp_path)
    content, refusal = hostile(trace)[name]
    base = write(tmp_path)
    (base / "train.pkl").write_bytes(content)
    with refused("denied", "COCO/train.pkl", refusal):
        coco.convert(base)
    assert not trace.exists() and not (base / "train.npy").exists()


@pytest.mark.parametrize("name", ["os.system", "by STACK_GLOBAL", "builtins.eval", "INST", "OBJ"])
def test_the_attacks_are_real(tmp_path: Path, name: str) -> None:
    """Read by pickle itself they do leave their trace: the test above can fail."""
    trace = tmp_path / "trace"
    pickle.load(io.BytesIO(hostile(trace)[name][0]))  # noqa: S301
    assert trace.exists()


# BUILD would set attributes of a function that makes arrays, for the whole process.
CHANGE = pickle.dumps((None, {"__defaults__": (1,)}), 2)[2:-1] + b"b."


@pytest.mark.parametrize(
    ("content", "code", "named"),
    [
        (b"\x80\x02c_codecs\nencode\n" + CHANGE, "denied", "a change of a function"),
        (
            b"\x80\x02cnumpy.core.numeric\n_frombuffer\n" + CHANGE,
            "denied",
            "a change of a function",
        ),
        (b"", "damaged", ""),
        (b"no pickle at all", "damaged", ""),
        (pickle.dumps(layout(3))[:200], "damaged", ""),
        (b"\x80\x02cnumpy\nndarray\n(tR.", "damaged", ""),
        (b"\x80\x02cnumpy\nndarray\n}b.", "damaged", ""),
        (b"\x80\x02P1\n.", "damaged", ""),
        (by_name("_codecs", "encode", b"x"), "damaged", ""),
        (b"\x80\x7f.", "damaged", ""),
    ],
)
def test_a_broken_pickle_is_a_sentence(
    tmp_path: Path, content: bytes, code: Code, named: str
) -> None:
    with refused(code, "x.pkl", named):
        pickles.load(files(tmp_path, {"x.pkl": content}) / "x.pkl")
