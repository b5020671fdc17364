"""The command line, as a person, a script or a system meets it."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import psutil
import pytest
from rich.console import Console
from typer.main import get_command

from tests.errors import refused
from tests.fakes.command_line import heed_interrupts, objects, theodolite
from tests.fakes.small_training import small, write_sentences
from tests.waiting import wait_until
from theodolite.app import serve, terminal as output
from theodolite.app.cli import app, summary
from theodolite.app.jobs.unit import conclude
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.workspace import Workspace

COMMAND = [sys.executable, "-m", "theodolite.app"]
TRAIN = ["train", "unsup", "minilm", "--train", "starter", "--out", "never"]


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
    assert capsys.readouterr().err == "encoding topics: 25 % done, a few seconds left\n"
    with output.progress_bar("encoding") as move:
        move(1, 100, "encoding topics")  # too early to tell
    assert capsys.readouterr().err == "encoding topics: 1 % done\n"


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
    for ending in (".jsonl", ".parquet"):
        again = theodolite("encode", f"vectors:{kept[ending]}", "a, b", "c", "--json")
        assert [row["vector"] for row in objects(again)] == expected[:2].tolist()
    other = ("encode", "random:4", "a", "--out", str(home / "v.xlsx"))
    assert ".npy, .parquet, .csv, .jsonl" in theodolite(*other, code=2)[-1]


def test_a_projection_has_a_row_for_every_row(home: Path) -> None:
    """In their order, repeated sentences too, each with its own label."""
    file = home / "twice.csv"
    file.write_text("text,label\na dog,x\na cat,y\na dog,z\na bird,x\na fish,y\n")
    theodolite("data", "add", str(file))
    command = ("project", "random:8", "upload:twice", "--method", "pca")
    theodolite(*command, "--out", str(home / "map.csv"))
    table = pd.read_csv(home / "map.csv")
    given = pd.read_csv(file).rename(columns={"text": "sentence"})
    assert table["id"].tolist() == [0, 1, 2, 3, 4]
    assert table[["sentence", "label"]].equals(given)
    assert table.loc[0, ["x", "y"]].equals(table.loc[2, ["x", "y"]])


def test_mined_negatives_are_a_data_set_of_triplets(home: Path) -> None:
    """With examples to read, or with a sentence where the bounds leave none."""
    rows = [f"{c} one,{c} two" for c in "abcdef"]
    (home / "pairs.csv").write_text("\n".join(["sent0,sent1", *rows]))
    command = (
        "data",
        "mine",
        str(home / "pairs.csv"),
        "-e",
        "random:8",
        "--name",
        "mined",
        "--json",
    )
    (told,) = objects(theodolite(*command, "--negatives", "2"))
    assert (told["name"], told["triplets"], len(told["examples"])) == ("upload:mined", 12, 5)
    assert told["examples"][0].items() >= {"anchor": "a one", "positive": "a two"}.items()
    assert "upload:mined already" in theodolite(*command, code=2)[-1]
    command = (*command[:-2], "none", "--json")
    assert "smaller margin" in theodolite(*command, "--max-score", "-2", code=2)[-1]


def test_a_line_is_a_sentence_whatever_is_in_it(home: Path) -> None:
    """Only line ends end a line: not the other characters that Python's splitlines knows."""
    given = "one\u2028still one\x1cstill one\r\ntwo\n"
    rows = objects(theodolite("encode", "random:4", "--json", given=given))
    assert [row["sentence"] for row in rows] == ["one\u2028still one\x1cstill one", "two"]


def test_standard_input_that_is_no_text_is_refused(home: Path) -> None:
    """The place is named, and nothing is printed for programs but the error."""
    output, _ = theodolite("encode", "random:4", "--json", code=2, given=b"fine\ncaf\xe9\n")
    assert "line 2, byte 4" in json.loads(output)["error"]


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
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "AttributeError: a fault" in done.stderr and "theodolite.log" in done.stderr
    assert "Traceback" in (home / "store" / "theodolite.log").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate", "minilmm"], "minilm"),
        (["evaluate", "random:16", "MR", "sts"], "--tasks MR,sts"),
        (["evaluate", "random:16", "--tasks", "StarterSTSS"], "StarterSTS"),
        (["evaluate", "random:16", "--protocol", "simcse-2020"], "simcse-2021"),
        (["evaluate", "random:16", "--data", "/nowhere/at/all"], "/nowhere/at/all"),
        (["encode", "random:16", "--file", "/nowhere/at/all", "--json"], "/nowhere/at/all"),
        (["compare", "random:16"], "2 to 100 encoders"),
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


def queued(tasks: str) -> str:
    """The id of a run that waits."""
    (run,) = objects(theodolite("jobs", "add", "random:16", "--tasks", tasks, "--json"))
    return str(run["id"])


def test_runs_and_results_can_be_let_go(home: Path) -> None:
    """Each with its size; what is not there, or not over, is said. A run that waits is moved."""
    theodolite("evaluate", "random:16", "random:24", "--tasks", "StarterSTS,StarterTopics")
    first, *_ = listed = objects(theodolite("results", "list", "--json"))
    assert len(listed) == 4 and all(row["bytes"] > 0 for row in listed)
    one = str(first["id"])
    (output,) = objects(theodolite("results", "remove", one, "--json"))
    assert output == {"removed": [first["id"]], "bytes": first["bytes"]}
    unknown = ["--task", "StarterSTZ"]
    for words, code in (([one], "unknown"), ([], "missing"), (unknown, "unknown")):
        (error,) = objects(theodolite("results", "remove", *words, "--json", code=2)[:1])
        assert error["code"] == code
    theodolite("results", "remove", "--encoder", "random:24", "--task", "StarterSTS")
    rest = objects(theodolite("results", "list", "--encoder", "random:24", "--json"))
    assert [row["task"] for row in rest] == ["StarterTopics"]
    run = queued("StarterSTS")
    (moved,) = objects(theodolite("jobs", "prioritise", run, "--priority", "-3", "--json"))
    assert moved == {"id": run, "priority": -3}
    theodolite("jobs", "cancel", run)
    assert objects(theodolite("jobs", "remove", run, "--json"))[0]["removed"] == run
    aged = ["store", "clean", "--runs-older-than", "0", "--results-older-than", "0", "--json"]
    cleaned = objects(theodolite(*aged))[0]
    assert (cleaned["runs"], cleaned["results"]) == (1, 2)


@pytest.mark.parametrize(("failing", "state"), [(0, "done"), (7, "partly failed"), (9, "failed")])
def test_a_run_with_failed_parts_is_no_success(
    home: Path, workspace: Workspace, failing: int, state: str
) -> None:
    """In the list, in JSON and in the exit status of those who wait for it."""
    tasks = "STS12,STS13,STS14,STS15,STS16,MR,CR,SUBJ,MPQA"
    run = queued(tasks)
    workspace.store.runs.start(run, 1, "local-0", tasks.split(","))
    for position in range(9):
        workspace.store.runs.end_unit(
            run, position, 1.0, "No space is left." if position < failing else None
        )
    conclude(workspace.store, run, 1, EvaluateJob(("random:16",), ("MR",)))
    lines = theodolite("jobs", "wait", run, "--json", code=0 if state == "done" else 1)
    for row in (json.loads(lines[0]), objects(theodolite("jobs", "list", "--json"))[0]):
        assert row == row | {
            "state": state,
            "done": 9 - failing,
            "failed": failing,
            "error": "No space is left." if failing else None,
        }
    assert state in " ".join(theodolite("jobs", "list"))


def test_an_interrupted_training_says_how_to_go_on(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C ends it with 130; the checkpoint stays."""
    spec = small(write_sentences(home / "s.txt"), home / "out", steps=100_000)
    kept = home / "out.training"
    monkeypatch.setattr(sys, "argv", spec.command())

    def interrupt() -> None:
        wait_until(lambda: [*kept.glob("step-*[0-9]")])
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        *lines, output = theodolite(*spec.command()[1:], "--json", code=130)
    finally:
        signal.signal(signal.SIGINT, before)
    last = objects(lines)[-1]
    assert last["kind"] == "interrupted" and 0 < last["checkpoint"] <= last["step"]
    assert "theodolite train unsup" in output and "theodolite jobs retry" in output
    assert [*kept.glob("step-*")]


def test_a_run_whose_terminal_was_killed_is_over_at_the_next_look(
    home: Path, workspace: Workspace
) -> None:
    """Without a worker, which would notice it as well."""
    runs = workspace.store.runs
    run = runs.create("evaluate", {}, "killed", worker="terminal")
    runs.start(run, 1, "terminal", ["one"])
    (row,) = objects(theodolite("jobs", "list", "--json"))
    assert (row["id"], row["state"]) == (run, "failed")
    assert "terminal" in row["error"]
    other = runs.create("evaluate", {"a": 1}, "killed too", worker="terminal")
    runs.start(other, 1, "terminal", ["one"])
    theodolite("jobs", "remove", other)


EARLY = """
import os, signal, sys
from theodolite.app import __main__ as start

class Interrupt:
    def find_spec(self, name, *_):
        if name == "theodolite.app.pages.data.command":  # while the command is being imported
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["theodolite", "data", "list"]
start.main()
"""


def done(*arguments: str, **named: object) -> subprocess.CompletedProcess[str]:
    """A process of Python, with what it printed."""
    named = {"stdout": subprocess.PIPE} | named
    return subprocess.run(
        [sys.executable, *arguments], stderr=subprocess.PIPE, text=True, check=False, **named
    )


def test_an_interrupt_of_the_imports_is_one_line(home: Path) -> None:
    """With the exit status of Ctrl+C."""
    early = done("-c", EARLY, preexec_fn=heed_interrupts)
    assert (early.returncode, early.stdout, early.stderr) == (130, "", "Stopped.\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["data", "list", "--json"], ["data", "list"]])
def test_a_full_output_is_one_line(home: Path, words: list[str]) -> None:
    """No traceback, whatever prints; and no success."""
    with Path("/dev/full").open("w") as full:
        failed = done("-m", "theodolite.app", *words, stdout=full)
    assert failed.returncode == 1
    assert failed.stderr == "error: The output cannot be written: No space left on device.\n"


def test_a_closed_output_is_silent(home: Path) -> None:
    """As behind `| head -1`."""
    read, write = os.pipe()
    os.close(read)
    closed = done("-m", "theodolite", "data", "list", "--json", stdout=write)
    os.close(write)
    assert (closed.returncode, closed.stderr) == (1, "")


def test_a_terminal_that_lacks_a_character_shows_another(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command goes on under the locale C."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    (home / "menu.txt").write_text("crème brûlée\n", "utf-8")
    theodolite("data", "add", str(home / "menu.txt"))
    shown = done("-m", "theodolite.app", "data", "show", "upload:menu")
    assert (shown.returncode, "Traceback" in shown.stderr) == (0, False)
    assert "cr?me br?l?e" in shown.stdout


PINNED = """
import ctypes, psutil
from theodolite.app import memory
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
def held():
    return psutil.Process().memory_info().rss / 2**20
blocks = [libc.malloc(2**16) for _ in range(3200)]
for block in blocks:
    libc.memset(block, 1, 2**16)
libc.malloc(2**16)  # above all of them, so that glibc alone returns none
full = held()
for block in blocks:
    libc.free(block)
freed = held()
memory.release()
print(full - freed, full - held())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
def test_freed_memory_goes_back_to_the_system():
    """200 MiB below one block in use: kept when they are freed, returned by a release."""
    run = subprocess.run([sys.executable, "-c", PINNED], capture_output=True, text=True, check=True)
    alone, released = map(float, run.stdout.split())
    assert alone < 20
    assert released > 150


# --- `theodolite serve`: who may come, and how a demonstration begins ---


def test_a_login_is_made_of_what_is_typed_and_never_of_an_argument() -> None:
    """One line for the file, with a password that only its hash gives away to nobody."""
    (line,) = theodolite("password", "ada", given="lovelace:1815\n")
    assert line.startswith("ada:$argon2id$")
    (row,) = objects(theodolite("password", "ada", "--json", given="lovelace:1815\n"))
    assert row["hash"].startswith("$argon2id$") and row["hash"] not in line  # salted anew
    assert "characters" in theodolite("password", "ada", code=2, given="short\n")[-1]
    theodolite("password", "ada", "lovelace:1815", code=2)


def test_logins_come_from_a_file_or_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line is warned about, for all can read it; the environment is emptied."""
    file = tmp_path / "logins"
    file.write_text("\n".join(theodolite("password", "ada", given="lovelace:1815\n")))
    found = serve._login(None, file)
    assert found.match("ada", "lovelace:1815")
    monkeypatch.setenv("THEODOLITE_AUTH", "ada:lovelace")
    assert serve._login("ada:lovelace", None) == ("ada", "lovelace")
    assert "process list" not in capsys.readouterr().err
    assert serve._login("ada:lovelace", None) == ("ada", "lovelace")  # by now from an argument
    assert "process list" in capsys.readouterr().err
    with refused("conflict", "--auth-file"):
        serve._login("ada:lovelace", file)


@pytest.mark.parametrize(
    ("text", "path"),
    [(None, None), ("", None), ("/", None), ("tools", "/tools"), ("/a/b-c/", "/a/b-c")],
)
def test_the_path_below_a_proxy_is_put_into_one_form(text: str | None, path: str | None) -> None:
    """However it is written."""
    assert serve.parse_root_path(text) == path


@pytest.mark.parametrize("text", ["/a b", "/a?b", "https://x/y", "/a\nb", "/a;b"])
def test_what_is_no_path_is_refused(text: str) -> None:
    """Before anything is served."""
    with refused("invalid", repr(text)):
        serve.parse_root_path(text)


@pytest.mark.long
def test_a_demonstration_without_a_tunnel_goes_on_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is open and what to do stand on stderr, one JSON object on stdout; no worker starts."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    Workspace(tmp_path / "store").store.encoders.add("random:16")
    options = "serve --demo --share --no-browser --json --root-path tools --host 0.0.0.0".split()
    command = [*COMMAND, *options, "--store", tmp_path / "store"]
    with (
        (tmp_path / "said").open("w") as file,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True) as serving,
    ):
        ready = json.loads(serving.stdout.readline())
        app = f"http://127.0.0.1:{httpx.URL(ready['url']).port}/tools"
        assert httpx.get(f"{app}/healthz").json() == {"status": "ok"}
        assert (ready["share"], httpx.get(f"{app}/config").status_code) == (None, 401)
        assert psutil.Process(serving.pid).children() == []
        serving.terminate()
    for words in ("Open to everybody: random:16; ", "no public link", "goes on", "--host", "Login"):
        assert words in (tmp_path / "said").read_text()
