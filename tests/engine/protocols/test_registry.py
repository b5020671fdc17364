"""Protocols are frozen, and each says its choices."""

import pytest

from tests.errors import refused
from theodolite.engine import protocols
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
    stated = [
        ("classifier", f"{setting.hidden} units" if setting.hidden else "softmax regression"),
        ("optimiser", f"{optimiser}, lr"),
        ("optimiser", f"batch {setting.batch}"),
        ("stopping", f"every {setting.passes} passes"),
        ("stopping", f"the {setting.tenacity + 1}th round"),
        ("stopping", f"beyond pass {setting.max_passes}"),
    ]
    if setting.choose_znorm:
        stated += [
            ("TREC, MRPC", f"first of {setting.folds} strat"),
            ("MR, CR, SUBJ, MPQA", f"{setting.folds} stratified outer folds"),
        ]
    else:
        stated += [
            ("TREC, MRPC", f"{setting.folds} stratified"),
            ("MR, CR, SUBJ, MPQA", f"nested: {setting.folds} "),
        ]
    assert [(key, words) for key, words in stated if words not in card[key]] == []
    assert (setting.dropout == 0) == ("no dropout" in card["classifier"] or not setting.hidden)
    assert setting.choose_znorm == name.startswith("pitfalls") == ("z-normalisation" in card)
    assert (
        (name == "pitfalls")
        == ("sts" in protocols.get(name).types)
        == ("STS: z-normalised" in card)
    )
