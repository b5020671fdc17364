"""Protocols are frozen, and each says its choices."""

import pytest

from tests.errors import refused
from theodolite.engine import protocols
from theodolite.engine.protocols.published import (
    FURTHER,
    TABLE_B3,
    TABLE_E1,
    TABLE_MAIN,
    Published,
)
from theodolite.engine.tasks import SEVEN, TRANSFER
from theodolite.engine.tasks.transfer import SETTINGS

HASHES = {
    "simcse-2021": "86c6bd5812e8e51a",
    "starter-1": "ae7b103ce3fd6da0",
    "starter-2": "f770f027c2157570",
    "starter-3": "54fdca122e804db7",
    "senteval": "9a20c4f445526fa2",
    "senteval-exact": "54203e3cb2a709cc",
    "senteval-fast": "bcc677f6dffcc84e",
    "senteval-sklearn": "44b9d817bfaef73f",
    "senteval-mlp": "e0ce33cad097c466",
    "pitfalls": "f27471dd049e2368",
    "pitfalls-mlp": "04fab4a43fbfcd8d",
    "mteb-v2": "cd3769fc5325f09f",
    "mteb-v1": "01bba9e4532e6fda",
    "vec2sent": "52d3174f87bfca6a",
}


def test_no_choice_drifts() -> None:
    """A changed choice is a new protocol: give it a new name instead of changing this hash."""
    assert {name: p.hash for name, p in protocols.PROTOCOLS.items()} == HASHES


def test_an_unknown_protocol_says_the_close_one() -> None:
    with refused("unknown", "simcse-2012", "simcse-2021"):
        protocols.get("simcse-2012")


@pytest.mark.parametrize(
    "name",
    [
        *("senteval", "senteval-exact", "senteval-fast", "senteval-mlp"),
        *("pitfalls", "pitfalls-mlp"),
    ],
)
def test_the_cards_state_what_is_run(name: str) -> None:
    """Numbers in words are those of the setting that trains."""
    setting, card = SETTINGS[name], dict(protocols.get(name).card())
    optimiser = {"adam": "Adam", "rmsprop": "RMSprop"}[setting.optimiser]
    plans = (
        (f"first of {setting.folds} strat", f"{setting.folds} stratified outer folds")
        if setting.choose_znorm
        else (f"{setting.folds} stratified", f"nested: {setting.folds} ")
    )
    stated = [
        ("classifier", f"{setting.hidden} units" if setting.hidden else "softmax regression"),
        ("optimiser", f"{optimiser}, lr"),
        ("optimiser", f"batch {setting.batch}"),
        ("stopping", f"every {setting.passes} passes"),
        ("stopping", f"the {setting.tenacity + 1}th round"),
        ("stopping", f"beyond pass {setting.max_passes}"),
        *zip(("TREC, MRPC", "MR, CR, SUBJ, MPQA"), plans, strict=True),
    ]
    assert [(key, words) for key, words in stated if words not in card[key]] == []
    assert (setting.dropout == 0) == ("no dropout" in card["classifier"] or not setting.hidden)
    assert setting.choose_znorm == name.startswith("pitfalls") == ("z-normalisation" in card)
    assert (
        (name == "pitfalls")
        == ("sts" in protocols.get(name).types)
        == ("STS: z-normalised" in card)
    )


# --- printed rows ---


PRINTED_OTHERWISE = {("BERT-base (avg.)", 84.94), ("SBERT-base", 74.89)}
"""Their scores have the means 84.954 and 74.86: printed so in the papers that copy the rows too."""


@pytest.mark.parametrize(
    "row", [*TABLE_MAIN, *TABLE_B3, *TABLE_E1], ids=lambda row: f"{row.model}, {row.training}"
)
def test_a_printed_average_is_the_mean_of_its_row(row: Published) -> None:
    """Which a slip in copying would show; the two exceptions are known."""
    assert tuple(row.scores) == (TRANSFER if row.table.startswith("SimCSE table E") else SEVEN)
    if (row.model, row.average) not in PRINTED_OTHERWISE:
        assert row.average == pytest.approx(sum(row.scores.values()) / 7, abs=0.00501)


@pytest.mark.parametrize(
    ("table", "model", "task", "protocol", "printed"),
    [
        ("Pitfalls section 3", "Glove-300d", "STSBenchmark", "pitfalls", 44),
        ("Pitfalls section 3", "Glove-300d", "STSBenchmark", "senteval", None),
        ("SentEval table 3", "GloVe", "MR", "senteval", 77.4),
        ("SentEval table 3", "InferSent", "SST5", "senteval", 46.3),
        ("SentEval table 3", "SkipThought", "SST5", "senteval", None),
        ("SentEval table 3, MLP", "GloVe", "MR", "senteval", None),
        ("SentEval table 3, MLP", "GloVe", "MR", "senteval-mlp", 77.7),
        ("SentEval table 4, learned", "InferSent", "STSBenchmark", "senteval", 75.6),
        ("SentEval table 4, learned", "InferSent", "STSBenchmark", "simcse-2021", None),
        ("Vec2Sent table 5", "SBERT", "SNLI", "senteval", 83.92),
        ("Vec2Sent table 5", "SBERT", "MRPC", "senteval", None),  # it prints F1
    ],
)
def test_further_papers_beside_the_protocols_they_are_of(
    table: str, model: str, task: str, protocol: str, printed: float | None
) -> None:
    """Single cells as printed; an MLP's numbers are not those of logistic regression."""
    assert sum(map(len, FURTHER.values())) == 19
    (row,) = (row for row in FURTHER[table] if row.model == model)
    assert (row.printed(task, protocol), row.aggregation) == (printed, None)
