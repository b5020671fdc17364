"""Files of the hub, from a local server that speaks its protocol."""

from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from tests.errors import refused
from tests.fakes import folder
from tests.fakes.hub import FakeHub, commit
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.hub import parse

PAIRS = "sentence1,sentence2,score\nA cat.,A dog.,2.5\nA hat.,A cap.,4\n"


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


def test_a_file_is_fetched_pinned_and_kept(
    repository: Path, served: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A branch becomes a commit in the name; that name works off line and gives the same data."""
    data = Catalog().load("hub:owner/sts/data/test.csv")
    assert f"@{commit(repository)}/data/test.csv" in data.name
    columns = {"left": "sentence1", "right": "sentence2", "score": "score"}
    assert parse(data.name).columns == columns
    assert data.kind == "pairs"
    assert data.sentences == ["A cat.", "A hat.", "A dog.", "A cap."]
    assert Catalog().load("hub:owner/sts@v2/data/test.csv").sentences[-1] == "A cup."

    requests = len(served.requests)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    for name in (data.name, "hub:owner/sts/data/test.csv"):
        again = Catalog().load(name)
        assert (again.name, again.hash) == (data.name, data.hash)
    with refused("unreachable"):
        Catalog().load("hub:owner/sts/texts.jsonl")
    assert len(served.requests) == requests


@pytest.mark.usefixtures("repository", "served")
def test_columns_can_be_named_and_what_is_not_there_is_said() -> None:
    """Roles in the query choose the columns and with them the kind; files are proposed."""
    texts = Catalog().load("hub:owner/sts/texts.jsonl?text=body")
    assert (texts.kind, texts.sentences) == ("sentences", ["One.", "Two."])
    column = Catalog().load("hub:owner/sts/data/test.csv?text=sentence2")
    assert column.sentences == ["A dog.", "A cap."]
    for name, code, named in (
        ("hub:owner/sts/data/test.csv?text=nope", "unknown", "'nope'"),
        ("hub:owner/nothing/x.csv", "unknown", "owner/nothing"),
        ("hub:owner/sts@v9/data/test.csv", "unknown", "v9"),
        ("hub:owner/sts/data/none.csv", "unknown", "data/test.csv"),
        ("hub:owner/sts/broken.csv", "damaged", "UTF-8"),
        ("hub:owner/sts", "ambiguous", "data/test.csv"),
    ):
        with refused(code, named):
            Catalog().load(name)


def test_no_network(served: FakeHub) -> None:
    served.close()
    with refused("unreachable"):
        Catalog().load("hub:owner/sts/x.csv")


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
