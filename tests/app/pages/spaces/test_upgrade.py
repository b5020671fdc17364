"""Keep, bridge or encode again: what is measured, said and written."""

from pathlib import Path

import numpy as np
import pytest

from tests.errors import refused
from theodolite.app.pages.spaces import upgrade
from theodolite.app.pages.spaces.upgrade import UpgradeSpec, search_of
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import Retrieval, Sentences

SPEC = UpgradeSpec("random:8", "wordllama", texts=1000)


@pytest.fixture(scope="module")
def made(starter: Workspace) -> upgrade.Upgrade:
    (answer,) = upgrade.answer(starter, SPEC, lambda job: True)
    return answer


def test_what_is_measured(starter: Workspace, made: upgrade.Upgrade) -> None:
    info = made.info
    assert (info["verdict"], info["judged"], info["queries"]) == ("re-encode", True, 1000)
    assert info["bytes"] == 1000 * starter.load("wordllama").dim * 4 and info["fitted"] == 1020
    rows = made.rows()
    assert [row["option"] for row in rows][::4] == ["keep", "re-encode"] and len(rows) == 5
    assert rows[0]["change"] == 0.0 and rows[-1]["low"] > 0
    assert made.finding.startswith("Encode again with wordllama")
    assert [row["verdict"] for row in rows] == [False] * 4 + [True]
    (again,) = upgrade.answer(starter, SPEC, lambda job: False)
    assert again.info == info


def test_recall_is_counted_by_hand(starter: Workspace) -> None:
    """Of every query by itself, with scikit-learn's cosines."""
    from sklearn.metrics.pairwise import cosine_similarity

    texts = starter.catalog.load("starter-topics").sentences[:60]
    task = upgrade.Search(texts, texts, [{(i + 1) % 60, (i + 2) % 60} for i in range(60)])
    encode = starter.load("random:8").encode
    shares, _ = upgrade.qualities(task, *2 * [lambda texts, queries=False: encode(texts)])
    cosines = cosine_similarity(encode(texts))
    np.fill_diagonal(cosines, -1)
    near = np.argsort(-cosines, axis=1)[:, :10]
    whole = [len({(i + 1) % 60, (i + 2) % 60} & set(near[i].tolist())) / 2 for i in range(60)]
    kept = np.random.default_rng(0).permutation(60)[30:]
    assert shares["keep"].tolist() == [whole[i] for i in sorted(kept)]


def test_the_map_is_used_as_the_page_says(
    starter: Workspace, made: upgrade.Upgrade, tmp_path: Path
) -> None:
    made.npz(tmp_path / "bridge.npz")
    shell, code = [block for block in made.blocks() if isinstance(block, upgrade.Code)]
    assert shell.lines[0].startswith("theodolite upgrade random:8 wordllama --in starter-topics")
    names: dict = {}
    lines = code.lines[0].replace("bridge.npz", str(tmp_path / "bridge.npz"))
    exec(lines, names)  # noqa: S102 - what a person would paste
    mapped = names["to_old_space"](starter.load("wordllama").encode(["A boat.", "Tea.", "Rain."]))
    assert mapped.shape == (3, 8)
    np.testing.assert_allclose(np.linalg.norm(mapped, axis=1), 1.0, atol=1e-6)


def test_texts_without_judgements_and_with(starter: Workspace) -> None:
    assert search_of(Sentences("s", ["a", "b", "a"])) == (["a", "b"], ["a", "b"], None)
    data = Retrieval(
        "r", {"q": "Q", "p": "P"}, {"a": "A", "b": "B"}, {"test": {"q": {"b": 1, "a": 0}, "p": {}}}
    )
    assert search_of(data) == (["Q"], ["A", "B"], [{1}])
    pairs = search_of(starter.catalog.load("starter-pairs"))
    assert pairs.relevant and all(pairs.relevant) and len(pairs.queries) <= 160


def test_what_cannot_be_measured(starter: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("conflict"):
        UpgradeSpec("minilm", "minilm")
    monkeypatch.setattr(upgrade, "MIN_QUERIES", 5000)
    with refused("too-few", "starter-topics"):
        upgrade.measure(starter, SPEC)
    (unmade,) = upgrade.answer(starter, UpgradeSpec("random:8", "random:9"), lambda job: False)
    assert not unmade.rows() and not unmade.facts() and unmade.blocks()


def test_vectors_in_a_file_can_be_new_but_not_all_equal(starter: Workspace, tmp_path: Path) -> None:
    """Only texts that the file has are encoded, to measure the time as well."""
    texts = [*dict.fromkeys(starter.catalog.load("starter-topics").sentences)]
    vectors = starter.load("random:4").encode(texts)
    np.savez(tmp_path / "own.npz", sentences=texts, vectors=vectors)
    np.savez(tmp_path / "one.npz", sentences=texts, vectors=np.ones_like(vectors))
    spec = UpgradeSpec("random:8", f"vectors:{tmp_path / 'own.npz'}")
    (found,) = upgrade.answer(starter, spec, lambda job: True)
    assert len(found.rows()) == 5
    with refused("unsupported", "same vector"):
        upgrade.measure(starter, UpgradeSpec("random:8", f"vectors:{tmp_path / 'one.npz'}"))
