"""Bitext, pairs and summaries below `mteb/`: layouts that need no code, and their faults."""

from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes import folder
from theodolite.engine.datasets import Catalog


def write(root: Path, files: dict[str, str]) -> Catalog:
    """A data folder of these files below `mteb/`."""
    return Catalog(folder.files(root / "mteb", files).parent)


def test_a_file_a_language_and_split(tmp_path: Path) -> None:
    """Every language is paired with English."""
    names = [f"{split}.{code}" for split in ("dev", "test") for code in ("de", "en", "fr")]
    catalog = write(tmp_path, {f"bitext/mine/{name}": "a\nb\n" for name in names})
    infos = [i for i in catalog.list() if i.origin == "folder"]
    assert {i.name: (i.languages, i.splits) for i in infos} == {
        "mine/de-en": (("deu", "eng"), ("dev", "test")),
        "mine/fr-en": (("fra", "eng"), ("dev", "test")),
    }
    assert catalog.load("mine/fr-en").parts["dev"].gold.tolist() == [[0, 0], [1, 1]]


def test_a_language_whose_file_is_not_there_is_a_problem_of_its_own(tmp_path: Path) -> None:
    """The other pairs are read."""
    catalog = write(
        tmp_path,
        {"bitext/t/t.de-en.de": "a\n", "bitext/t/t.de-en.en": "b\n", "bitext/t/t.fr-en.fr": "c\n"},
    )
    (info,) = catalog.unread()
    assert (info.name, info.problem) == ("t/fr-en", "The file t/t.fr-en.en is missing.")
    assert catalog.load("t/de-en").sentences == ["a", "b"]


def test_ids_say_which_sentences_translate_one_another(tmp_path: Path) -> None:
    """BUCC: two collections and a file of pairs."""
    files = {
        "zh-en.dev.zh": "z1\t一\nz2\t二\n",
        "zh-en.dev.en": "e1\tone\n",
        "zh-en.dev.gold": "z1\te1\n",
    }
    catalog = write(tmp_path, {f"bitext/bucc_zh_en/{name}": text for name, text in files.items()})
    part = catalog.load("bucc/zh-en").parts["dev"]
    assert (part.left, part.right, part.gold.tolist()) == (("一", "二"), ("one",), [[0, 0]])
    write(tmp_path, {"bitext/bucc_zh_en/zh-en.dev.gold": "z1\te9\n"})
    with refused("unknown", "dev.gold, line 1", "'e9'"):
        catalog.load("bucc/zh-en")


@pytest.mark.parametrize("text", ["a\n", ""])
def test_files_of_different_length_are_refused(tmp_path: Path, text: str) -> None:
    """Line i of one would not translate line i of the other."""
    catalog = write(tmp_path, {"bitext/m/test.de": "a\nb\n", "bitext/m/test.en": text})
    with refused("mismatch", "test.de has 2 lines", "test.en"):
        catalog.load("m/de-en")


def test_tables_of_pairs_are_told_by_split_and_language(tmp_path: Path) -> None:
    """Without a line of names the label is the column that is no sentence."""
    rows = "This is a sentence.\tThis is another one.\tneutral\n" * 2
    files = dict.fromkeys(("dev-de", "test-de", "test-en"), rows) | {"test-fr": ""}
    catalog = write(tmp_path, {f"pair_classification/mine/{n}.tsv": t for n, t in files.items()})
    data = catalog.load("mine/de")
    assert (data.splits, data.labels) == (["dev"] * 2 + ["test"] * 2, ["neutral"] * 4)
    (info,) = catalog.unread()
    assert info.name == "mine/fr" and "mine/test-fr.tsv is empty" in (info.problem or "")


RTE = '<?xml version="1.0"?>{}<c><pair entailment="YES"><t>A &amp; b.</t><h>B.</h></pair></c>'


def test_entailment_in_xml(tmp_path: Path) -> None:
    """Read without entities of its own: a few lines of them would fill the memory."""
    data = write(tmp_path, {"pair_classification/rte/rte_dev.xml": RTE.format("")}).load("rte")
    assert (data.sentences, data.labels) == (["A & b.", "B."], ["YES"])
    bomb = '<!DOCTYPE c [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    for text, code, named in (
        (RTE.format(bomb), "denied", "DOCTYPE"),
        (RTE.format("")[:60], "damaged", "rte_dev.xml, line 1"),
    ):
        with refused(code, "rte_dev.xml", named):
            write(tmp_path, {"pair_classification/rte/rte_dev.xml": text}).load("rte")


@pytest.mark.data
def test_the_sets_of_the_data_folder_are_read_whole(data_root: Path) -> None:
    """Counts are those of their sources."""
    catalog = Catalog(data_root)
    names = catalog.names()
    assert sum(name.startswith("tatoeba/") for name in names) == 48
    bucc = catalog.load("bucc2018/zh-en").parts["dev"]
    assert (len(bucc.left), len(bucc.right), len(bucc.gold)) == (8624, 13589, 257)
    assert len(catalog.load("tatoeba/kat-eng").parts["test"].gold) == 746
    assert {"multi30k/de-en", "multi30k/fr-en", "multi30k/cs-en"} <= set(names)
    news = catalog.load("summeval")
    assert (len(news.documents), len(news.machine[0]), len(news.human[0])) == (100, 16, 11)
    xnli, rte = catalog.load("xnli/sw"), catalog.load("rte3")
    assert (len(xnli.labels), len(rte.labels)) == (2490, 1600)
    assert not catalog.unread()
