"""The command line, as a person or a script meets it."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.main import get_command

from tests.fakes.command_line import objects, theodolite
from theodolite.app import terminal as output
from theodolite.app.cli import app, summary
from theodolite.app.formats import p_value

VERBS = sorted(get_command(app).commands)
TWO = ["random:16", "random:64"]
COMMAND = [sys.executable, "-m", "theodolite.app"]
TRAIN = ["train", "unsup", "minilm", "--train", "starter", "--out", "never"]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_teaches_itself(verb: str) -> None:
    """`--help` of every verb says what it does."""
    assert len("\n".join(theodolite(verb, "--help"))) > 300


def test_the_list_of_verbs_imports_none_and_says_what_they_say() -> None:
    """The first paragraph of each, read from its source."""
    code = (
        "import sys\nfrom theodolite.app.cli import app\n"
        "try:\n    app(['--help'])\nfinally:\n"
        "    print([name for name in sys.modules if name.endswith('.command')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]" and "evaluate" in done.stdout
    for name, command in get_command(app).commands.items():
        assert summary(name) == " ".join(command.help.partition("\n\n")[0].split())


def test_every_number_is_one_object_and_one_of_them_is_main(home: Path) -> None:
    """`evaluate --json` prints what the issue of record promises to scripts."""
    rows = objects(theodolite("evaluate", "random:16", "--tasks", "starter", "--json"))
    fields = "encoder fingerprint task protocol seed split aggregation metric score n main"
    assert all(set(fields.split()) <= row.keys() for row in rows)
    for task in ("StarterSTS", "StarterTopics", "StarterSearch"):
        assert sum(row["main"] for row in rows if row["task"] == task) == 1
    assert {row["metric"] for row in rows} >= {"spearman", "pearson", "accuracy", "precision_at_10"}


def test_compare_says_which_differences_are_real(home: Path) -> None:
    """Each task, and their mean, has a difference against the first encoder, in both outputs."""
    theodolite("evaluate", *TWO, "--tasks", "starter")
    rows = objects(theodolite("compare", *TWO, "--json"))
    against = [row for row in rows if row.get("against")]
    assert (len(against), against[-1]["task"]) == (4, "mean of 3 tasks")
    assert all(row["low"] <= row["delta"] <= row["high"] for row in against)
    assert {"tie_group", "rank_low", "warning"} <= {name for row in rows for name in row}
    expected = "\n".join(theodolite("compare", *TWO))
    assert all(p_value(p) in expected for p in [row.get("p_holm", row["p"]) for row in against])


def test_long_work_tells_a_pipe_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Plain lines on stderr, no more of them than a person reads; what is soon done says none."""
    monkeypatch.setattr(output, "to_stderr", Console(stderr=True))
    with output.progress_bar("encoding") as move:
        move(1, 4, "encoding topics")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(output, "FIRST_LINE_SECONDS", 0.0)
    with output.progress_bar("encoding") as move:
        for done in range(5):
            move(done, 4, "encoding topics")
    assert capsys.readouterr().err == "encoding topics: 25% done, a few seconds left\n"


def test_encode_writes_what_the_ending_says(home: Path) -> None:
    """The same vectors as .npy, one row a sentence; an unknown ending is refused, none is .npy."""
    kept = {}
    for ending in ("", ".npy", ".csv", ".jsonl", ".parquet"):
        kept[ending] = home / f"vectors{ending}"
        theodolite("encode", "random:4", "--out", str(kept[ending]), given="a, b\nc\na, b\n")
    expected = np.load(kept[".npy"], allow_pickle=False)
    assert (expected.shape, expected.dtype) == ((3, 4), np.float32)
    assert np.array_equal(np.load(kept[""], allow_pickle=False), expected)
    table = pd.read_csv(kept[".csv"])
    assert table["sentence"].tolist() == ["a, b", "c", "a, b"]
    assert np.array_equal(table.to_numpy()[:, 1:].astype(np.float32), expected)
    rows = objects(kept[".jsonl"].read_text().splitlines())
    assert np.array_equal(np.array([row["vector"] for row in rows], np.float32), expected)
    again = theodolite("encode", f"vectors:{kept['.parquet']}", "a, b", "c", "--json")
    assert [row["vector"] for row in objects(again)] == expected[:2].tolist()
    refused = theodolite("encode", "random:4", "a", "--out", str(home / "v.xlsx"), code=2)[-1]
    assert ".npy, .parquet, .csv, .jsonl" in refused


def test_a_projection_has_a_row_for_every_row(home: Path) -> None:
    """In their order, repeated sentences too, each with its own label."""
    file = home / "twice.csv"
    file.write_text("text,label\na dog,x\na cat,y\na dog,z\na bird,x\na fish,y\n")
    theodolite("data", "add", str(file))
    for name in ("map.csv", "map.npy"):
        command = ("project", "random:8", "upload:twice", "--method", "pca")
        theodolite(*command, "--out", str(home / name))
    table = pd.read_csv(home / "map.csv")
    given = pd.read_csv(file).rename(columns={"text": "sentence"})
    assert table["id"].tolist() == [0, 1, 2, 3, 4]
    assert table[["sentence", "label"]].equals(given)
    assert table.loc[0, ["x", "y"]].equals(table.loc[2, ["x", "y"]])
    points = np.load(home / "map.npy", allow_pickle=False)
    np.testing.assert_allclose(points, table[["x", "y"]], rtol=1e-5)


def test_a_line_is_a_sentence_whatever_is_in_it(home: Path) -> None:
    """Only line ends end a line: not the other characters that Python's splitlines knows."""
    given = "one\u2028still one\x1cstill one\r\ntwo\n"
    rows = objects(theodolite("encode", "random:4", "--json", given=given))
    assert [row["sentence"] for row in rows] == ["one\u2028still one\x1cstill one", "two"]


def test_standard_input_that_is_no_text_is_refused(home: Path) -> None:
    """The place is named, and nothing is printed for programs but the error."""
    command = [*COMMAND, "encode", "random:4", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, input=b"fine\ncaf\xe9\n")
    (row,) = objects(done.stdout.decode().splitlines())
    assert "line 2, byte 4" in row["error"]
    assert done.returncode == 2


def test_json_is_whole_whatever_the_terminal_speaks(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a character of an argument is escaped; nothing depends on the locale."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii:strict")
    command = [*COMMAND, "encode", "random:4", "😀", b"\xff", "--json"]
    rows = objects(subprocess.check_output(command).decode("utf-8").splitlines())
    assert [row["sentence"] for row in rows] == ["😀", "\udcff"]


def test_text_gives_the_terminal_no_orders(home: Path) -> None:
    """Escape sequences in somebody's data are shown, not obeyed."""
    file = home / "red.txt"
    file.write_text("before \x1b[31m red \x9b0m after\n")
    theodolite("data", "add", str(file))
    shown = "".join(theodolite("data", "show", "upload:red"))
    assert "before" in shown
    assert not set(shown) & {"\x1b", "\x9b"}


def test_a_pipe_gets_whole_lines(home: Path) -> None:
    """Tables are cut to the width of a terminal only where there is one."""
    name = f"random:16 + {' + '.join(['random:8'] * 30)}"
    theodolite("encoders", "add", name)
    assert any(line.startswith(name) for line in theodolite("encoders", "list"))


def test_a_fault_of_ours_is_a_sentence_too(home: Path) -> None:
    """The traceback is in the store's log; the person gets its place."""
    broken = (
        "import theodolite.store.nouns as module, theodolite.app.cli as cli\n"
        "def broken(self): raise AttributeError('a fault')\n"
        "module.Encoders.list = broken\n"
        "cli.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", broken, "encoders", "list"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "AttributeError: a fault" in done.stderr
    assert "theodolite.log" in done.stderr
    assert "Traceback" in (home / "store" / "theodolite.log").read_text()


def test_without_a_tunnel_the_app_goes_on_here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--share` where no link can be had: what to do on stderr, one JSON object on stdout."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    arguments = [*COMMAND, "serve", "--share", "--no-browser", "--json"]
    with (
        (home / "said").open("w") as file,
        subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=file, text=True) as serving,
    ):
        ready = json.loads(serving.stdout.readline())
        status = httpx.get(ready["url"] + "config").status_code
        serving.terminate()
    assert (ready["share"], status) == (None, 401)
    for words in ("no public link", "goes on", "--host", "Login"):
        assert words in (home / "said").read_text()


def test_an_upload_becomes_a_task(home: Path) -> None:
    """A file of one's own is added, its columns named; it is listed, evaluated and removed."""
    file = home / "mine.csv"
    lines = [f"the {w} sat,a {w} was sitting,{i % 6}" for i, w in enumerate("abcdefghij")]
    file.write_text("p,q,r\n" + "\n".join(lines))
    roles = ("--name", "mine", "--columns", "left=p,right=q,score=r")
    theodolite("data", "add", str(file), *roles)
    listed = {row["name"]: row for row in objects(theodolite("data", "list", "--json"))}
    fields = "name kind origin type tasks languages splits bytes licence description problem"
    assert all(set(fields.split()) <= row.keys() for row in listed.values())
    mine = listed["upload:mine"]
    assert (mine["kind"], mine["origin"], mine["problem"]) == ("pairs", "upload", None)
    assert isinstance(mine["tasks"], list) and mine["bytes"] == file.stat().st_size
    rows = objects(theodolite("evaluate", "random:16", "--tasks", "upload:mine", "--json"))
    assert any(row["main"] for row in rows)
    theodolite("data", "remove", "upload:mine")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate", "minilmm"], "minilm"),
        (["evaluate", "random:16", "--tasks", "StarterSTSS"], "StarterSTS"),
        (["evaluate", "random:16", "--protocol", "simcse-2020"], "simcse-2021"),
        (["evaluate", "random:16", "--data", "/nowhere/at/all"], "/nowhere/at/all"),
        (["encode", "random:16", "--file", "/nowhere/at/all", "--json"], "/nowhere/at/all"),
        (["compare", "random:16"], "two encoders"),
        (["search", "x", "--in", "starter-topic", "-e", "random:16"], "starter-topics"),
        (["search", "  ", "-e", "random:16"], "empty"),
        (["serve", "--host", "0.0.0.0"], "--auth"),  # noqa: S104
        (["serve", "--auth", "nobody"], "NAME:PASSWORD"),
        (["serve", "--host", "no.such.host", "--auth", "a:b"], "no.such.host"),
        (["jobs", "cancel", "nothing"], "'nothing'"),
        (["jobs", "add", "random:16", "--seed", "-1"], "-1"),
        (["evaluate", "random:16", "--seed", "-1"], "-1"),
        (["encode", "random:16", "x", "--out", "/nowhere/at/all.npy"], "cannot be written"),
        (["encode", "random:16", "x", "--out", "/"], "cannot be written"),
        ([*TRAIN, "--temperature", "0"], "0.0"),
        (["train", "unsupervised", *TRAIN[2:]], "next-sentence"),
        (["train", "unsup", "minilm", "--train", "/nowhere.txt", "--out", "o"], "/nowhere.txt"),
        (["sweep", *TRAIN[1:]], "--ablation"),
        (["sweep", *TRAIN[1:], "--set", "rate=1,2"], "'rate'"),
        (["runs", "nothing"], "'nothing'"),
        (["sweep", *TRAIN[1:], "--ablation", "dropout", "--scale", "huge"], "'huge'"),
        (["jobs", "stop", "nothing"], "'nothing'"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(
    home: Path, arguments: list[str], said: str
) -> None:
    """Exit code 2, what was wrong and what to do, never a traceback."""
    assert said in theodolite(*arguments, code=2)[-1]
