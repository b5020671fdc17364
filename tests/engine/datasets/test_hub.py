"""Files of the hub, from a local server that speaks its protocol, in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.errors import refused
from tests.fakes import folder
from tests.fakes.hub import FakeHub, commit
from theodolite.engine.datasets.hub import parse

# The hub's client reads its environment when it is imported, so every run is a fresh process.
SCRIPT = """
import json, sys
from theodolite.engine.datasets import Catalog
from theodolite.engine.errors import UserError
for name in sys.argv[1:]:
    try:
        data = Catalog().load(name)
        answer = {"name": data.name, "kind": data.kind, "sentences": data.sentences}
    except UserError as error:
        answer = {"code": error.code, "message": str(error)}
    print(json.dumps(answer))
"""
PAIRS = "sentence1,sentence2,score\nA cat.,A dog.,2.5\nA hat.,A cap.,4\n"


def ask(names: list[str], environment: dict[str, str]) -> list[dict[str, Any]]:
    """Load each name in one new process."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "THEODOLITE_"))}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *names],
        env={**clean, **environment},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """`owner/sts` with two files at `main`, one of them changed at `v2`."""
    files = {
        "sts/data/test.csv": PAIRS,
        "sts/texts.jsonl": '{"body": "One."}\n{"body": "Two."}\n',
        "sts/broken.csv": b"text\ncaf\xe9\n",
        "sts@v2/data/test.csv": PAIRS.replace("cap", "cup"),
    }
    return folder.files(tmp_path / "hub" / "datasets" / "owner", files) / "sts"


def test_a_file_is_fetched_pinned_and_kept(tmp_path: Path, repository: Path) -> None:
    """A branch becomes a commit in the name; that name works off line and gives the same data."""
    with FakeHub(tmp_path / "hub") as hub:
        environment = hub.environment(tmp_path / "cache")
        (data,) = ask(["hub:owner/sts/data/test.csv"], environment)
        (later,) = ask(["hub:owner/sts@v2/data/test.csv"], environment)
        pinned = data["name"]

        assert f"@{commit(repository)}/data/test.csv" in pinned
        columns = {"left": "sentence1", "right": "sentence2", "score": "score"}
        assert parse(pinned).columns == columns
        assert data["kind"] == "pairs"
        assert data["sentences"] == ["A cat.", "A hat.", "A dog.", "A cap."]
        assert later["sentences"][-1] == "A cup."

        requests = len(hub.requests)
        names = [pinned, "hub:owner/sts/data/test.csv", "hub:owner/sts/texts.jsonl"]
        again, branch, absent = ask(names, {**environment, "HF_HUB_OFFLINE": "1"})
        assert again == branch == data
        assert (absent["code"], len(hub.requests)) == ("unreachable", requests)


def test_columns_can_be_named_and_what_is_not_there_is_said(
    tmp_path: Path, repository: Path
) -> None:
    """Roles in the query choose the columns and with them the kind; files are proposed."""
    columns = ["hub:owner/sts/texts.jsonl?text=body", "hub:owner/sts/data/test.csv?text=sentence2"]
    told = {
        "hub:owner/sts/data/test.csv?text=nope": ("unknown", "'nope'"),
        "hub:owner/nothing/x.csv": ("unknown", "owner/nothing"),
        "hub:owner/sts@v9/data/test.csv": ("unknown", "v9"),
        "hub:owner/sts/data/none.csv": ("unknown", "data/test.csv"),
        "hub:owner/sts/broken.csv": ("damaged", "UTF-8"),
        "hub:owner/sts": ("ambiguous", "data/test.csv"),
    }
    with FakeHub(tmp_path / "hub") as hub:
        texts, column, *answers = ask([*columns, *told], hub.environment(tmp_path / "cache"))
    assert (texts["kind"], texts["sentences"]) == ("sentences", ["One.", "Two."])
    assert column["sentences"] == ["A dog.", "A cap."]
    for answer, (code, named) in zip(answers, told.values(), strict=True):
        assert answer["code"] == code and named in answer["message"]


def test_no_network(tmp_path: Path) -> None:
    environment = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    (answer,) = ask(["hub:owner/sts/x.csv"], environment)
    assert answer["code"] == "unreachable"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("hub:", "invalid"),
        ("hub:owner", "invalid"),
        ("hub:owner/name/x.csv?colour=a", "unknown"),
        ("hub:owner/name/x.csv?left=a&right=b", "missing"),
        ("hub:owner/name/../../x.csv", "invalid"),
        ("hub:owner/name/%2e%2e/x.csv", "invalid"),
    ],
)
def test_bad_names(name: str, code: Any) -> None:
    """Refused before anything is asked of the hub."""
    with refused(code):
        parse(name)


def test_names_come_back_as_they_went() -> None:
    """Slashes in a revision, spaces in paths and odd columns survive."""
    name = "hub:o/n@refs%2Fconvert%2Fparquet/a%20b/0.parquet?text=my%20text%20%26%20more"
    file = parse(name)

    assert (file.revision, file.file) == ("refs/convert/parquet", "a b/0.parquet")
    assert file.columns == {"text": "my text & more"}
    assert str(file) == name
