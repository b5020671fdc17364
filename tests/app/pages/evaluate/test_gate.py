"""`theodolite gate`: what is saved, what is found, and with which exit status."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

import theodolite as th
from tests.fakes import openai
from tests.fakes.command_line import theodolite
from theodolite.app.pages.evaluate import gate
from theodolite.engine.datasets import Catalog


@pytest.fixture
def pairs(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with pairs of our own, which random words tell apart."""
    monkeypatch.chdir(home)
    rng = np.random.default_rng(0)
    lines = ["sentence1,sentence2,label"]
    for i in range(60):
        a, b, c = (" ".join(f"w{n}" for n in rng.integers(0, 99, 9)) for _ in range(3))
        words = a.split()
        words[int(rng.integers(1, 4)) :] = b.split()[:6]
        lines += [f"{a} {i},{' '.join(words)},1", f"{b} {i},{c},0"]
    Path("pairs.csv").write_text("\n".join(lines))
    return home


@pytest.fixture
def baseline(pairs: Path) -> Path:
    theodolite("gate", "save", "b.json", "-e", "random:64", "--tasks", "pairs.csv")
    return pairs / "b.json"


def test_from_python_it_is_the_same(baseline: Path) -> None:
    th.gate_save("own.json", "random:64", ["pairs.csv"])
    saved, mine = gate.read(baseline), gate.read(Path("own.json"))
    assert (mine["tasks"], mine["vectors"]) == (saved["tasks"], saved["vectors"])
    (task,) = saved["tasks"]
    assert gate._sample(task).statistic == pytest.approx(task["score"], abs=1e-4)
    found = th.gate_check("own.json", "random:2", least=0.5)
    assert (found.verdict, found.exit_code, found.least) == ("worse", 1, 0.5)


def check(*options: str, code: int = 0) -> str:
    return "\n".join(theodolite("gate", "check", "b.json", *options, code=code))


def test_the_same_encoder_passes_and_every_format_is_written(baseline: Path) -> None:
    check("--out", "g.md", "--out", "g.xml", "--out", "g.json", "--out", "g.html")
    assert "is as good as its baseline" in Path("g.md").read_text()
    assert Path("g.html").read_text().startswith("<!doctype html>")
    suite = ElementTree.parse("g.xml").getroot()  # noqa: S314 - our own file
    assert suite.attrib == {
        "name": "theodolite gate",
        "tests": "2",
        "failures": "0",
        "skipped": "0",
    }
    facts = json.loads(Path("g.json").read_text())
    assert (facts["verdict"], facts["exit"], facts["vectors"]["moved"]) == ("fine", 0, 0)
    assert facts["tasks"][0]["change"] == 0.0 and facts["finding"].startswith("random:64 is as")


def test_a_worse_encoder_of_other_dimensions(baseline: Path) -> None:
    facts = json.loads(check("-e", "random:2", "--out", "g.xml", "--json", code=1).split("\n")[0])
    assert facts["verdict"] == "worse" and facts["vectors"] is None
    suite = ElementTree.parse("g.xml").getroot()  # noqa: S314 - our own file
    assert suite.get("failures") == "1" and suite.find("*/failure") is not None


def test_too_few_examples_to_tell(baseline: Path) -> None:
    assert "Too few examples to tell" in check("-e", "random:48", "--out", "g.md", code=3)
    assert "examples would" in Path("g.md").read_text()


def test_an_endpoint_with_other_weights_is_found(
    pairs: Path, server: openai.FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    theodolite("gate", "save", "b.json", "-e", f"api:{server.url}#fake", "--tasks", "pairs.csv")
    check()
    usual = openai.vector
    monkeypatch.setattr(openai, "vector", lambda text, dim=4: [*usual(text, dim)[:-1], 7.0])
    said = check("--out", "g.md", code=1)
    assert "is worse" in said and "vectors differ from those of" in said
    assert "Since then" not in Path("g.md").read_text()


def test_an_endpoint_that_is_down_is_not_worse(pairs: Path, server: openai.FakeOpenAI) -> None:
    with openai.FakeOpenAI() as other:
        theodolite("gate", "save", "b.json", "-e", f"api:{other.url}#fake", "--tasks", "pairs.csv")
    assert "worse" not in check(code=2)


def test_bad_baselines_are_refused(baseline: Path) -> None:
    saved = json.loads(baseline.read_text())
    for change, word in (
        ({"theodolite gate": 2}, "version"),
        ({"encoder": "minilm"}, "changed after it was saved"),
        ({"tasks": []}, "changed after it was saved"),
    ):
        baseline.write_text(json.dumps({**saved, **change}))
        assert word in check(code=2)
    for text in ("[]", "{}", "no JSON", "3"):
        baseline.write_text(text)
        assert "is not a baseline" in check(code=2)
    baseline.unlink()
    assert "cannot be read" in check(code=2)


def test_other_data_of_the_same_name_are_refused(baseline: Path) -> None:
    saved = gate.read(baseline)
    saved["tasks"][0]["data_hash"] = "another"
    gate.write(saved, baseline)
    assert "not those of the baseline" in check(code=2)
    saved["tasks"][0] |= {"task": "gone", "file": None}
    gate.write(saved, baseline)
    assert "gone" in check(code=2)


def test_few_examples_are_not_saved(pairs: Path) -> None:
    lines = Path("pairs.csv").read_text().split("\n")
    Path("few.csv").write_text("\n".join(lines[:15]))
    for given in ("few.csv", "nothing", ""):
        theodolite("gate", "save", "b.json", "-e", "random:8", "--tasks", given, code=2)
    assert not Path("b.json").exists()


def test_equal_vectors_are_no_result(baseline: Path) -> None:
    """Of a search they would score by chance."""
    theodolite("gate", "save", "b.json", "-e", "random:4", "--tasks", "StarterSearch")
    sentences = [*dict.fromkeys(Catalog(None).load("starter-topics").sentences)]
    np.savez("equal.npz", sentences=sentences, vectors=np.ones((len(sentences), 4), np.float32))
    assert "the same vector" in check("-e", "vectors:equal.npz", code=2)
    options = ("-e", "vectors:equal.npz", "--tasks", "StarterSearch")
    assert "the same vector" in "\n".join(theodolite("gate", "save", "c.json", *options, code=2))


@pytest.mark.long
@pytest.mark.parametrize("where", ["jobs", "gate"])
def test_the_files_for_ci_run_as_plain_shell(where: str, baseline: Path) -> None:
    """The commands of both files of the documentation, without installing."""
    blocks = re.findall(
        r"^```yaml\n(.*?)^```",
        (Path(__file__).parents[4] / "docs" / "gate.md").read_text(),
        re.M | re.S,
    )
    (ci,) = [one for one in map(yaml.safe_load, blocks) if where in one]
    steps = ci["jobs"]["gate"]["steps"] if where == "jobs" else []
    lines = [step["run"] for step in steps if "run" in step] or ci["gate"]["script"]
    assert lines[0] == "pip install theodolite"
    baseline.rename("baseline.json")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line in lines[1:]:
        environment = os.environ | {"GITHUB_STEP_SUMMARY": "summary.md", "PATH": path}
        subprocess.run(["bash", "-e", "-c", line], check=True, env=environment)
    assert "is as good as" in Path("gate.md").read_text()
    assert Path("gate.xml").exists()
    if where == "jobs":
        assert Path("summary.md").read_text() == Path("gate.md").read_text()
