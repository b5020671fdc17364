"""`theodolite report`: one answer as one file, which asks nobody for anything."""

import csv
import io
import random
import re
from html import unescape
from pathlib import Path

import pytest
from markupsafe import Markup

import theodolite as th
from tests.fakes import reported
from tests.fakes.command_line import objects, theodolite
from tests.fakes.reported import HOSTILE, PAIR, body, unpacked
from theodolite.app.publish.standalone import chart, document
from theodolite.app.report import markdown
from theodolite.app.report.file import CAPS, Report, Table, html
from theodolite.app.workspace import Workspace


def tables(document: str) -> dict[str, list[dict[str, str]]]:
    """The files in it, by name."""
    held = re.findall(r'data-name="([\w-]+)\.csv" data-text="([^"]*)"', body(document))
    return {name: list(csv.DictReader(io.StringIO(unescape(text)))) for name, text in held}


def written(folder: Path, *words: str) -> str:
    """What the verb writes, told apart from what it says.

    No text of others is HTML, and nothing is fetched.
    """
    out = folder / f"{words[0]}.html"
    (output,) = objects(theodolite("report", *words, "--out", str(out), "--json"))
    assert (output["file"], output["bytes"]) == (str(out), out.stat().st_size)
    assert out.stat().st_size < 5_000_000
    found = out.read_text("utf-8")
    assert f"<title>{output['title']} · Theodolite</title>".replace("'", "&#x27;") in found
    page = unpacked(found)
    assert HOSTILE not in page and HOSTILE not in found and "default-src 'none'" in found
    for text in (found, re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)):
        assert not re.search(r"""(src|href|action)\s*=\s*["']?(https?:)?//|url\(["']?http""", text)
    return found


def test_equal_figures_have_a_place_each() -> None:
    """A figure that is there twice is drawn twice, and what comes after it as well."""
    parts = [chart("same"), Markup("<p>Between</p>"), chart("same"), chart(None), chart("last")]
    page = body(document(parts))
    assert re.findall(r'<div data-piece="(\d)">', page) == ["0", "1", "2"]
    assert "<p>Between</p>" in page


def test_a_comparison_with_its_verdicts_and_numbers(workspace: Workspace, home: Path) -> None:
    """Chart, table and ranks as on the page; all numbers as CSV."""
    reported.results(workspace)
    found = written(home, "comparison", *PAIR)
    shown = body(found)
    assert "t-cells" in shown and "worse" in shown and "data-piece" in shown
    assert "Confidence intervals of the ranks" in shown
    first, second, *_ = tables(found)["comparison"]
    assert [(row["task"], row["encoder"]) for row in (first, second)] == [("MR", e) for e in PAIR]
    assert second["verdict"] == f"{PAIR[0]} is better" and float(second["p_holm"]) < 0.05
    assert f"theodolite report comparison {PAIR[0]} {PAIR[1]}" in shown


def test_a_map_with_every_point(workspace: Workspace, home: Path) -> None:
    """One that is in the store is read."""
    command = ("map", "random:16", "starter-topics", "--method", "pca")
    made = th.map("random:16", "starter-topics", method="pca", workspace=workspace)
    rows = tables(written(home, *command))["map"]
    thin = made.within(10)  # of a map that is too large, points from all over it
    assert len(thin.points) == len(thin.sentences) == 10
    assert thin.sentences[1] == made.sentences[len(made.points) // 10]
    assert [row["sentence"] for row in rows] == made.sentences
    assert float(rows[3]["x"]) == pytest.approx(float(made.points[3, 0]), rel=1e-6)
    assert {"id", "label", "length"} <= rows[0].keys()


def test_a_training_with_its_curves(workspace: Workspace, home: Path) -> None:
    """From what the store has of it; notes of others stay text."""
    found = written(home, "training", reported.training(workspace))
    events = tables(found)["training"]
    assert [row["score"] for row in events if row["score"]] == ["61.0", "62.0", "63.0"]
    assert [row["kind"] for row in events].count("stepped") == 6
    assert "Dev score: 61 to 63" in body(found) and "&lt;img src=x" in body(found)
    out = str(home / "x.html")
    assert "no training 'x'" in theodolite("report", "training", "x", "--out", out, code=2)[-1]


def test_a_judgement_with_everything_that_was_judged(workspace: Workspace, home: Path) -> None:
    """Differences with their intervals; blind, no encoder is named anywhere."""
    session = reported.session(workspace)
    found = written(home, "judgement", session)
    (pair,) = tables(found)["judgement"]
    assert {pair["a"], pair["b"]} == set(PAIR) and float(pair["low"]) <= float(pair["high"])
    assert "What was judged" in body(found) and "data-act" not in body(found)
    marks = tables(found)["marks"]
    assert len(marks) == 10 and {row["query"] for row in marks} == {HOSTILE, "a boat"}
    blind = unpacked(written(home, "judgement", session, "--blind"))
    assert "Encoder A" in blind and not any(name in blind for name in PAIR)


def test_large_tables_and_long_texts_are_cut_and_it_is_said() -> None:
    """Evenly, until the document is small enough; nothing is said where all is there."""
    drawn = random.Random(0)
    rows = [(number, drawn.randbytes(300).hex()) for number in range(4_000)]
    large = Report("map", "Large", "", lambda cap: [], [Table("map", ["id", "text"], rows)])
    whole, cut = html(large), html(large, 400_000)
    assert "Shortened" not in body(whole) and len(tables(whole)["map"]) == 4_000
    assert len(cut) <= 400_000 and "Shortened to stay a small file" in body(cut)
    kept = [int(row["id"]) for row in tables(cut)["map"]]
    assert 1 < len(kept) <= 4_000 and kept[0] == 0 and kept == sorted(set(kept))
    longest = max(len(row["text"]) for row in tables(cut)["map"])
    assert longest in {cap.characters for cap in CAPS}
    assert f"texts end after {longest} characters" in body(cut)
    if len(kept) < 4_000:
        assert f"map has {len(kept):,} of 4,000 rows, evenly spaced" in body(cut)


def test_markdown_with_its_tables_and_numbers(workspace: Workspace, home: Path) -> None:
    """The words of the page; no text of others is HTML, a link or a picture there."""
    session, out = reported.session(workspace), home / "told.md"
    theodolite("report", "judgement", session, "--out", str(out))
    text = out.read_text("utf-8")
    assert text.startswith("# Judgement of random:8 and random:4 on starter-topics\n")
    assert "undecided" in text and "| query | document | relevant |" in text
    assert HOSTILE not in text and "\\<img src=x" in text
    assert "[told-marks.csv](told-marks.csv), 10 of 10 rows" in text
    assert (home / "told-marks.csv").read_text("utf-8").startswith("query,document,relevant")
    (made,) = objects(
        theodolite("report", "judgement", session, "--out", str(home / "x"), "--json")
    )
    assert set(made["files"]) == {file.name for file in (home / "x").iterdir()} > {"report.md"}
    link = markdown.of_html("<p>![x](http://tracker/x.png) <b>[a](b)</b> &lt;b&gt; 1 | 2</p>")
    assert link == r"\!\[x\](http://tracker/x.png) \[a\](b) \<b\> 1 \| 2"


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_done(home: Path) -> None:
    """Another format, or no such folder."""
    for out, code in (("report.pdf", "wrong-kind"), ("nowhere/report.html", "no-file")):
        command = ("report", "comparison", *PAIR, "--out", str(home / out), "--json")
        (error,) = objects(theodolite(*command, code=2)[:-1])
        assert error["code"] == code
