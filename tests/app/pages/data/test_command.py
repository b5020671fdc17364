"""Files at the command line: what is said of one, what is seen of a data set, what is encoded."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from tests.fakes.command_line import objects, theodolite
from theodolite.app.cli import app


def said(*arguments: str) -> str:
    """What a command says beside its output."""
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, done.stderr
    return " ".join(done.stderr.split())


def added(home: Path, name: str, content: str) -> str:
    """Write a file and add it; return what is said."""
    (home / name).write_text(content)
    return said("data", "add", str(home / name))


def test_rows_are_shown_with_what_they_were_judged(home: Path) -> None:
    """Scores beside pairs, labels beside sentences, documents with their grades."""
    added(home, "pairs.csv", "satz1;satz2;wertung\nein Schiff;ein Boot;2,8\nrot;blau;0,5\n")
    added(home, "labels.csv", "text,label\na ship,sea\na hill,land\na boat,sea\n")
    added(home, "judged.csv", "query,document,grade\nTea?,Brew it.,1\nTea?,Grind it.,0\n")
    pairs, labels, judged = (
        objects(theodolite("data", "show", f"upload:{name}", "--json"))[1:]
        for name in ("pairs", "labels", "judged")
    )
    assert pairs[0] == {"part": "all", "left": "ein Schiff", "right": "ein Boot", "score": 2.8}
    assert labels[1] == {"label": "land", "sentence": "a hill"}
    assert judged[0]["judged documents, grade first"] == "1 Brew it.; 0 Grind it."
    assert "2 labels: sea 2, land 1" in said("data", "show", "upload:labels")


def test_what_is_doubtful_is_said_when_a_file_is_added(home: Path) -> None:
    """A label of its own for every sentence, which is no task; a first line taken for names."""
    own = added(home, "own.csv", "text,label\n" + "".join(f"a ship,c{i}\n" for i in range(9)))
    added(home, "two.csv", "text,label\n" + "".join(f"a ship,c{i % 2}\n" for i in range(9)))
    tasks = {info["name"]: info["tasks"] for info in objects(theodolite("data", "list", "--json"))}
    assert "a label of its own" in own and tasks["upload:own"] == []
    assert "upload:two/few-shot" in tasks["upload:two"]
    assert "first line was taken" in added(home, "words.csv", "a,b\ncat,cats\ndog,dogs\n")


def test_a_table_is_encoded_by_its_column(home: Path) -> None:
    """Not by its lines, whose first one holds names."""
    file = home / "two.csv"
    file.write_text('text,label\n"a boat, red",sea\na hill,land\n')
    command = ("encode", "random:4", "--file", str(file), "--json")
    found = objects(theodolite(*command, "--column", "text"))
    assert [row["sentence"] for row in found] == ["a boat, red", "a hill"]
    assert "2 columns" in theodolite(*command, code=2)[-1]
