"""What the decoders that ship learn from, and what they must never see."""

import gzip
from pathlib import Path

import pytest

from studies import decoder_texts
from studies.decoder_texts import (
    SOURCES,
    UNSEEN,
    parts,
    prepare,
    prepare_more,
    prepare_whole,
    prepare_windows,
    split,
)
from theodolite.engine.decoding.text import corpus

HELD = 3


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Texts of a hundred sentences, of which the last dozen are held out; long ones among them."""
    monkeypatch.setattr(decoder_texts, "HELD_OUT", HELD)
    folder = tmp_path / "data"
    (folder / "unlabelled").mkdir(parents=True)
    (folder / "mteb" / "bitext" / "tatoeba").mkdir(parents=True)
    for name in (*SOURCES, UNSEEN):
        sentences = [
            f"{name} number {i} tells of a {'very ' * (i % 3 * 6)}old dog by the fire of {i}"
            for i in range(100)
        ]
        # In both parts, and as what is left of a long sentence.
        sentences[5] = sentences[88] = f"{name} says this twice"
        sentences[6] = f"{'on and ' * 7}and {name} held out and cut"
        sentences[89] = f"and {name} held out and cut"
        with gzip.open(folder / "unlabelled" / f"{name}.txt.gz", "wt", encoding="utf-8") as file:
            file.write("\n".join(sentences))
    pairs = "\n".join(f"this is pair {i} of them all" for i in range(60))
    (folder / "mteb" / "bitext" / "tatoeba" / "tatoeba.deu-eng.eng").write_text(pairs, "utf-8")
    return folder


def test_nothing_that_is_held_out_is_learned(root: Path, tmp_path: Path) -> None:
    """Nor anything of `abc`; what stands in both parts of a source is not held out."""
    work = tmp_path / "work"
    train, more = prepare(root, work), prepare_more(root, work)
    held = {file.stem: read(file) for file in (work / "held-out").iterdir()}
    assert held.keys() == {*SOURCES, UNSEEN, "tatoeba"}
    assert all(len(found) == HELD for found in held.values())
    windows, whole = read(prepare_windows(root, work)), read(prepare_whole(root, work))
    assert whole < read(more) < windows
    learned = read(train) | windows
    for name, found in held.items():
        assert not found & learned, name
    assert not any(UNSEEN in sentence for sentence in learned)
    assert all(f"{name} says this twice" in learned for name in SOURCES)
    last = {name: set(corpus(held_out, cut=False)) for name, (_, held_out) in split(root).items()}
    assert all(held[name] <= last[name] for name in last)


def test_a_long_clause_is_cut_before_a_phrase() -> None:
    """All of its words are in the pieces; where no phrase begins it is cut at the longest."""
    found = list(parts("the old dog slept by the fire in the house of the king", 3, 6))
    assert found == ["the old dog slept", "by the fire in the house", "of the king"]
    assert list(parts("a b c d e f g", 2, 3)) == ["a b c", "d e f"]


def read(file: Path) -> set[str]:
    """The lines of a file."""
    return set(file.read_text("utf-8").splitlines())
