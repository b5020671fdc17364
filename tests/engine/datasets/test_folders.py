"""Collections, labelled sets, triplets and SentEval's other tasks, on real files and hand-made."""

import gzip
import json
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes import folder
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.senteval import STS_SUBSETS

# name -> (sentences, classes, splits), as the data folder's README states them.
LABELLED = {
    "MR": (10662, 2, {}),
    "SUBJ": (10000, 2, {}),
    "MPQA": (10606, 2, {}),
    "SST2": (70042, 2, {"train": 67349, "dev": 872, "test": 1821}),
    "SST5": (11855, 5, {"train": 8544, "dev": 1101, "test": 2210}),
    "TREC": (5952, 6, {"train": 5452, "test": 500}),
    "Length": (21414, 6, {"train": 17142, "dev": 2136, "test": 2136}),
    "WordContent": (39360, 984, {"train": 31488, "dev": 3936, "test": 3936}),
    "BigramShift": (40520, 2, {"train": 32416, "dev": 4052, "test": 4052}),
    "ObjNumber": (480, 2, {"train": 384, "dev": 48, "test": 48}),
    "banking77": (13083, 77, {"train": 10003, "test": 3080}),
    "emotion": (20000, 6, {"train": 16000, "val": 2000, "test": 2000}),
    "tweeteval_emotion": (5052, 4, {"train": 3257, "val": 374, "test": 1421}),
    "tweeteval_irony": (4601, 2, {"train": 2862, "val": 955, "test": 784}),
    "tweeteval_offensive": (14100, 2, {"train": 11916, "val": 1324, "test": 860}),
    "stackoverflow": (20000, 20, {}),
    "bbc_news": (2225, 5, {}),
    "search_snippets": (12340, 8, {}),
    "tweet": (2472, 89, {}),
    "googlenews": (11108, 152, {}),
    # Pairs, of distinct sentences.
    "MRPC": (10944, 2, {"train": 4076, "test": 1725}),
    "SICKEntailment": (6077, 3, {"train": 4500, "dev": 500, "test": 4927}),
    "SNLI": (28991, 3, {"train": 1666, "dev": 9842, "test": 9824}),
}
SCORED = {
    # As the papers count them (STS13 without SMT), in the reference's order of parts.
    "STS12": {
        "MSRpar": 750,
        "MSRvid": 750,
        "SMTeuroparl": 459,
        "surprise.OnWN": 750,
        "surprise.SMTnews": 399,
    },
    "STS13": {"FNWN": 189, "headlines": 750, "OnWN": 561},
    "STS14": {
        "deft-forum": 450,
        "deft-news": 300,
        "headlines": 750,
        "images": 750,
        "OnWN": 750,
        "tweet-news": 750,
    },
    "STS15": {
        "answers-forums": 375,
        "answers-students": 750,
        "belief": 375,
        "headlines": 750,
        "images": 750,
    },
    "STSBenchmark": {"train": 5749, "dev": 1500, "test": 1379},
    "SICKRelatedness": {"train": 4500, "dev": 500, "test": 4927},
    "biosses": {"test": 100},
    "stsb_multi_mt/de": {"train": 5749, "dev": 1500, "test": 1379},
    "stsb_multi_mt/zh": {"dev": 1500, "test": 1379},
}
SCALES = {"SICKRelatedness": (1, 5), "biosses": (0, 4)}
COLLECTIONS = {
    "flickr30k": 155070,
    "flickr30k-val": 5070,
    "flickr30k-test": 5000,
    "flickr30k-test-de": 5000,
    "coco-captions": 30000,
    "coco-captions-dev": 5000,
    "unlabelled/wiki_split": 44944,
    "unlabelled/wiki1m_for_simcse_head": 11914,
    "nli": 3 * 5996,
    "nli/nli_triplets_snli_devtest": 3 * 6338,
    "bucc2018/zh-en": 8624 + 13589,
    "tatoeba/kat-eng": 2 * 746,
}


@pytest.mark.data
@pytest.mark.parametrize("name", LABELLED)
def test_labelled_sets_have_their_counts(real: Catalog, name: str) -> None:
    """Sentences, classes and splits are those of the source: no line is lost or split."""
    data = real.load(name)
    counts = (len(data.sentences), len(set(data.labels)), dict(Counter(data.splits)))
    assert counts == LABELLED[name]


@pytest.mark.data
@pytest.mark.parametrize("name", COLLECTIONS)
def test_collections_have_their_counts(real: Catalog, name: str) -> None:
    """No line is lost or split."""
    assert len(real.load(name).sentences) == COLLECTIONS[name]


@pytest.mark.data
@pytest.mark.parametrize("name", SCORED)
def test_scored_pairs_have_their_counts(real: Catalog, name: str) -> None:
    """Parts and scales are those of the source; languages of STS-B are aligned by row."""
    data = real.load(name)
    assert [(k, len(part.gold)) for k, part in data.parts.items()] == [*SCORED[name].items()]
    assert data.parts_are == ("subsets" if name in STS_SUBSETS else "splits")
    gold = np.concatenate([part.gold for part in data.parts.values()])
    assert (data.scale, gold.dtype) == (SCALES.get(name, (0, 5)), np.float64)
    assert data.scale[0] <= gold.min() < gold.max() <= data.scale[1]
    if name.startswith("stsb"):
        english = real.load("stsb_multi_mt/en").parts["test"].gold
        assert data.parts["test"].gold.tolist() == english.tolist()


@pytest.mark.data
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
def test_every_set_listed_can_be_loaded(real: Catalog, every: bool) -> None:
    """The list promises nothing that is not there, and names the shape that comes.

    Usually one of each kind in each folder.
    """
    listed = real.list()
    alike = {(info.kind, info.name.partition("/")[0]): info for info in listed}
    counted = LABELLED.keys() | SCORED.keys() | COLLECTIONS.keys()
    for info in listed if every else [one for one in alike.values() if one.name not in counted]:
        data = real.load(info.name)
        assert (data.kind, data.name) == (info.kind, info.name)
        assert data.sentences and info.description.endswith("."), info.name


def test_latin1_where_the_reference_says_so(tmp_path: Path) -> None:
    """MR and TREC are decoded as latin-1: a UTF-8 accent becomes two characters, as published."""
    files = {
        "downstream/MR/rt-polarity.pos": "a caf\u00e9 .\n",
        "downstream/MR/rt-polarity.neg": "bad \n",
        "downstream/TREC/train_5500.label": b"LOC:city Where is Orl\xe9ans ?\n",
        "downstream/TREC/TREC_10.label": "NUM:date When ?\n",
    }
    catalog = Catalog(folder.files(tmp_path, files))
    assert [(data.sentences, data.labels) for data in map(catalog.load, ("MR", "TREC"))] == [
        (["a caf\u00c3\u00a9 .", "bad"], ["positive", "negative"]),
        (["Where is Orl\u00e9ans ?", "When ?"], ["LOC", "NUM"]),
    ]


def test_what_is_fitted_on_nli_saw_no_test_sentence(tmp_path: Path) -> None:
    """`nli` is the training triplets; files made of dev or test pairs stand alone and say so."""
    files = {
        "nli/nli_for_simcse.csv": 'sent0,sent1,hard_neg\n"a, b",c,d\n',
        "nli/triplets/more_devtest.csv": "sent0,sent1,hard_neg\nx,y,z\n",
    }
    catalog = Catalog(folder.files(tmp_path, files))
    assert catalog.load("nli").sentences == ["a, b", "c", "d"]
    (info,) = [info for info in catalog.list() if info.name == "nli/more_devtest"]
    assert "test" in info.description


MRPC = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t2\t3\ta b\tc\n0\t4\t5\n"
SICK = "id\ta\tb\tscore\tjudgment\n1\tx\ty\n"
DEPTH = "probing/tree_depth.txt"
TABLE = {"kind": "labels", "files": {"train": "a.csv"}, "columns": {"text": "said", "label": "is"}}
LINES = {"kind": "labels", "files": {"": "a.txt"}, "lines": ["{label}\t{text}"]}
SIDES = {"kind": "labels", "files": {"": {"text": "a.txt", "label": "b.txt"}}}
RTE = '<?xml version="1.0"?>{}<c><pair entailment="YES"><t>A &amp; b.</t><h>B.</h></pair></c>'


BUCC = {
    "mteb/bitext/bucc_zh_en/zh-en.dev.zh": "z1\t一\nz2\t二\n",
    "mteb/bitext/bucc_zh_en/zh-en.dev.en": "e1\tone\n",
    "mteb/bitext/bucc_zh_en/zh-en.dev.gold": "z1\te1\n",
}
PLACE = "mteb/classification/reviews"


def described(manifest: object, files: dict[str, str]) -> dict[str, str]:
    """A folder `reviews` of files that its `dataset.json` describes, in a data folder."""
    every = {"dataset.json": json.dumps(manifest), **files}
    return {f"{PLACE}/{name}": text for name, text in every.items()}


@pytest.mark.parametrize(
    ("files", "name", "code", "named"),
    [
        # What SentEval ships.
        (
            {"downstream/TREC/train_5500.label": "LOC:city Where ?\nno colon\n"},
            "TREC",
            "damaged",
            ["line 2"],
        ),
        (
            {"downstream/SST/fine/sentiment-train": "2 fine\n3\n"},
            "SST5",
            "damaged",
            ["line 2"],
        ),
        (
            {"downstream/MRPC/msr_paraphrase_train.txt": MRPC},
            "MRPC",
            "damaged",
            ["MRPC/msr_paraphrase_train.txt, line 3"],
        ),
        (
            {"downstream/SICK/SICK_train.txt": SICK},
            "SICKRelatedness",
            "damaged",
            ["SICK/SICK_train.txt, line 2"],
        ),
        (
            {"probing/subj_number.txt": "tr\tNN\tA .\nxx\tNN\tB .\n"},
            "SubjNumber",
            "damaged",
            ["line 2"],
        ),
        ({DEPTH: "tr\ta\tx\ntest\ta\ty\n"}, "Depth", "damaged", [f"{DEPTH}, line 2"]),
        ({DEPTH: "tr\ta\tx\n\n"}, "Depth", "damaged", ["line 2"]),
        ({DEPTH: "tr\ta x\n"}, "Depth", "damaged", ["line 1"]),
        ({DEPTH: "tr\ta\tx\nva\t \ty\n"}, "Depth", "damaged", ["line 2"]),
        ({DEPTH: ""}, "Depth", "missing", ["tree_depth.txt"]),
        # Other sets of sentences.
        (
            {"mteb/clustering/tweet/tweet-original-order.tsv": "1\ta\nb\n"},
            "tweet",
            "damaged",
            ["line 2"],
        ),
        (
            {"mteb/clustering/stackoverflow/titles.txt": "a\nb\n"},
            "stackoverflow",
            "no-file",
            ["labels.txt"],
        ),
        ({"nli/x.csv": "sent0,sent1,hard_neg\na,b,c\na,b\n"}, "nli", "damaged", ["line 3"]),
        ({"unlabelled/x.txt": b"fine\ncaf\xe9\n"}, "unlabelled/x", "damaged", ["line 2"]),
        # Files that are not as a manifest describes them.
        (described(TABLE, {}), "reviews", "no-file", ["a.csv"]),
        (described(TABLE, {"a.csv": "text,is\na,b\n"}), "reviews", "unknown", ["'said'"]),
        (
            described(SIDES, {"a.txt": "1\n2\n", "b.txt": "1\n"}),
            "reviews",
            "mismatch",
            ["a.txt has 2 rows"],
        ),
        (described(LINES, {"a.txt": "1\ta\nb\n"}), "reviews", "damaged", ["line 2"]),
        (
            BUCC | {"mteb/bitext/bucc_zh_en/zh-en.dev.gold": "z1\te9\n"},
            "bucc/zh-en",
            "unknown",
            ["dev.gold, line 1", "'e9'"],
        ),
        # Line i of one file would not translate line i of the other.
        *(
            (
                {"mteb/bitext/m/test.de": "a\nb\n", "mteb/bitext/m/test.en": text},
                "m/de-en",
                "mismatch",
                ["test.de has 2 lines", "test.en"],
            )
            for text in ("a\n", "")
        ),
        # A few lines of entities would fill the memory.
        (
            {
                "mteb/pair_classification/rte/rte_dev.xml": RTE.format(
                    '<!DOCTYPE c [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
                )
            },
            "rte",
            "denied",
            ["rte_dev.xml", "DOCTYPE"],
        ),
        (
            {"mteb/pair_classification/rte/rte_dev.xml": RTE.format("")[:60]},
            "rte",
            "damaged",
            ["rte_dev.xml, line 1"],
        ),
    ],
)
def test_bad_files_are_named_with_their_line(
    tmp_path: Path, files: dict[str, str | bytes], name: str, code: str, named: list[str]
) -> None:
    with refused(code, *named):
        Catalog(folder.files(tmp_path, files)).load(name)


def test_reading_costs_no_more_than_the_sentences(tmp_path: Path) -> None:
    """A packed file is streamed: the peak while reading is the result and a buffer."""
    text = "".join(f"This is sentence number {i} of very many.\n" for i in range(30_000))
    packed = gzip.compress(text.encode(), 1)
    catalog = Catalog(folder.files(tmp_path, {"unlabelled/big.txt.gz": packed}))
    tracemalloc.start()
    data = catalog.load("unlabelled/big")
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(data.sentences) == 30_000
    assert peak - kept < len(text) / 2  # it would be all of it with the whole text in memory


def test_sizes_are_those_of_the_files(tmp_path: Path) -> None:
    """A file's, or all of a folder's, also where sets of SentEval lie side by side."""
    files = {
        "unlabelled/words.txt": "twelve bytes",
        "mteb/classification/emotion/train.txt": "seven b",
        "senteval/downstream/MR/rt-polarity.pos": "Lines.\n",
        "senteval/downstream/SUBJ/subj.objective": "Lines.\n",
    }
    catalog = Catalog(folder.files(tmp_path, files))
    sizes = {info.name: info.bytes for info in catalog.with_sizes(catalog.list())}
    assert sizes["starter-pairs"]
    assert sizes == sizes | {"unlabelled/words": 12, "emotion": 7, "MR": 7, "SUBJ": 7}


def test_biosses_keeps_its_spaces(tmp_path: Path) -> None:
    """As mteb scores its sentences, which it does not strip."""
    files = {"sentence_pairs.txt": " one \ntwo\n", "annotation_scores.txt": "3.5\n"}
    folder.files(tmp_path / "mteb" / "sts" / "biosses", files)
    part = Catalog(tmp_path).load("biosses").parts["test"]
    assert (part.left, part.right, part.gold.tolist()) == ((" one ",), ("two",), [3.5])


# --- folders of any files ---


def catalog(root: Path, manifest: object, files: dict[str, str]) -> Catalog:
    return Catalog(folder.files(root, described(manifest, files)))


def test_a_table_by_its_columns(tmp_path: Path) -> None:
    told = {"licence": "CC0", "languages": ["de"], "description": "Reviews."}
    found = catalog(tmp_path, TABLE | told, {"a.csv": "is,said\ngood,Gut.\nbad,Schlecht.\n"})
    data = found.load("reviews")
    assert (data.sentences, data.labels, data.splits) == (
        ["Gut.", "Schlecht."],
        ["good", "bad"],
        ["train", "train"],
    )
    (info,) = [info for info in found.list() if info.name == "reviews"]
    assert (info.licence, info.languages, info.description, info.tasks[0]) == (
        "CC0",
        ("deu",),
        "Reviews.",
        "reviews/classify",
    )


def test_a_set_for_each_language_that_the_names_tell(tmp_path: Path) -> None:
    manifest = {
        "kind": "sentences",
        "name": "notes/{language}",
        "files": "{language}_{split}.txt",
        "lines": ["{text}"],
    }
    files = {"de_test.txt": "Zwei.\n", "de_train.txt": "Eins.\n\n", "fr_train.txt": "Un.\n"}
    found = catalog(tmp_path, manifest, files)
    assert found.load("notes/de").sentences == ["Eins.", "Zwei."]
    assert found.load("notes/fr").sentences == ["Un."]


def test_files_side_by_side_and_names_of_labels(tmp_path: Path) -> None:
    sides = {"text": ["t.txt", 1, 2], "label": "l.txt"}
    manifest = {"kind": "labels", "files": {"test": sides}, "labels": "n.txt"}
    files = {"t.txt": "no\nOne.\nno\nTwo.\n", "l.txt": "0\n1\n", "n.txt": "0\tcalm\n"}
    data = catalog(tmp_path, manifest, files).load("reviews")
    assert (data.sentences, data.labels) == (["One.", "Two."], ["calm", "1"])


def test_it_takes_the_place_of_what_ships(tmp_path: Path) -> None:
    lines = {"kind": "sentences", "files": {"": "train.txt"}, "lines": ["{text}"], "name": "mine"}
    place = "mteb/classification/emotion"
    files = {f"{place}/dataset.json": json.dumps(lines), f"{place}/train.txt": "text;label\na;b\n"}
    found = Catalog(folder.files(tmp_path, files))
    assert found.load("mine").sentences == ["text;label", "a;b"]
    assert "emotion" not in found.names()


@pytest.mark.parametrize(
    ("manifest", "code", "named"),
    [
        ("x", "damaged", "dataset.json"),
        ({"kind": "labels"}, "damaged", "files"),
        (TABLE | {"kinds": 1}, "unknown", "'kinds'"),
        (TABLE | {"kind": "letters"}, "damaged", "letters"),
        (TABLE | {"columns": {"text": "said"}}, "damaged", "'label'"),
        (TABLE | {"files": {"train": "../../other.csv"}}, "damaged", "outside"),
        (TABLE | {"files": "{year}.csv"}, "damaged", "{year}"),
    ],
)
def test_a_manifest_that_cannot_be_used_says_why(
    tmp_path: Path, manifest: object, code: str, named: str
) -> None:
    found = catalog(tmp_path, manifest, {"a.csv": "is,said\ngood,Gut.\n"})
    (info,) = found.unread()
    assert (info.name, "starter-topics" in found.names()) == (PLACE, True)
    assert named in str(info.problem)
    if code != "unknown":
        with refused(code, named):
            found.load(PLACE)


# --- bitext, pairs and summaries ---


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
    part = Catalog(folder.files(tmp_path, BUCC)).load("bucc/zh-en").parts["dev"]
    assert (part.left, part.right, part.gold.tolist()) == (("一", "二"), ("one",), [[0, 0]])


def test_tables_of_pairs_are_told_by_split_and_language(tmp_path: Path) -> None:
    """Without a line of names the label is the column that is no sentence."""
    rows = "This is a sentence.\tThis is another one.\tneutral\n" * 2
    files = dict.fromkeys(("dev-de", "test-de", "test-en"), rows) | {"test-fr": ""}
    catalog = write(tmp_path, {f"pair_classification/mine/{n}.tsv": t for n, t in files.items()})
    data = catalog.load("mine/de")
    assert (data.splits, data.labels) == (["dev"] * 2 + ["test"] * 2, ["neutral"] * 4)
    (info,) = catalog.unread()
    assert info.name == "mine/fr" and "mine/test-fr.tsv is empty" in (info.problem or "")


def test_entailment_in_xml(tmp_path: Path) -> None:
    packed = gzip.compress(RTE.format("").encode())
    data = write(tmp_path, {"pair_classification/rte/rte_dev.xml.gz": packed}).load("rte")
    assert (data.sentences, data.labels) == (["A & b.", "B."], ["YES"])


@pytest.mark.data
def test_the_sets_of_the_data_folder_are_read_whole(real: Catalog) -> None:
    """Counts are those of their sources."""
    names = Counter(name.partition("/")[0] for name in real.names())
    assert (names["tatoeba"], names["multi30k"], real.unread()) == (48, 3, [])
    assert len(real.load("bucc2018/zh-en").parts["dev"].gold) == 257
    news = real.load("summeval")
    assert (len(news.documents), len(news.machine[0]), len(news.human[0])) == (100, 16, 11)
    assert [len(real.load(name).labels) for name in ("xnli/sw", "rte3")] == [2490, 1600]
