"""Protocols are frozen, and each says its choices."""

from tests.errors import refused
from theodolite.engine import protocols

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
