"""The card of a decoder: `README.md` in its folder."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.training.base_spec import short
from theodolite.engine.training.card import WHY, code, fenced, plain, settings, table

MOST_ROWS = 20
"""Most held-out losses listed on the card; `decoder.json` has all."""
ARCHITECTURES = {
    "prefix": "a small Transformer that reads the vector as its first positions",
    "lstm": "an LSTM with the vector joined to every input (Vec2Sent, section 3.3)",
    "lstm-mos": "an LSTM with a mixture of softmaxes, the vector joined to every input (Vec2Sent, "
    "section 2)",
    "causal": "a language model behind a soft prefix that the vector becomes",
}
TERMS = (
    "To be filled in by whoever passes this folder on. A decoder can write out what it learned "
    "from: the terms of its training text, of the encoder and of a base hold for it too."
)


def card(facts: Mapping[str, Any], *, source: str = "", terms: str = TERMS, proof: str = "") -> str:
    """The text of `README.md`.

    Args:
        facts: the content of `decoder.json`.
        source: description of the training text, Markdown; by default the names of its files.
        terms: terms of use, Markdown.
        proof: the decoder's scores, Markdown.
    """
    spec = DecoderSpec.from_dict(facts["spec"])
    sources = ", ".join(code(short(name)) for name in spec.train)
    kept = "matrices as int8 with a scale a row" if facts["int8"] else "float16"
    parts = [
        f"# A decoder for {code(short(spec.encoder))}",
        f"It turns a vector of {facts['dim']} dimensions of this encoder back into a sentence: "
        f"{ARCHITECTURES[spec.architecture]}. {facts['parameters']:,} parameters, {kept}; "
        f"{facts['pieces']:,} tokens. It belongs to vectors of fingerprint "
        f"{code(facts['fingerprint'])}, and to none else.",
        "It knows sentences of the length and kind that it learned from, and writes what is "
        "likely where the vector does not say: a name or number may be made up."
        + _words(facts.get("known_words")),
        "## Training text",
        f"{source or sources}: {facts['sentences']:,} sentences of at most {spec.words} words"
        + (", clauses of longer ones among them" if spec.clauses else "")
        + f". Content hash {code(facts['data_hash'])}.",
        "## Training",
        f"{WHY.get(facts['why'], '')} {facts['steps']:,} updates in {facts['seconds']:,.0f} "
        f"seconds. The weights are those after update {facts['step']:,}, with the lowest loss, "
        f"{facts['loss']:.3f} nats a token, on {facts['held_out']:,} held-out sentences.",
        spec.start
        and f"It began with the weights of the decoder {code(short(spec.start))}, which "
        "may have learned some of the sentences that are held out here.",
        "\n".join(f"- {plain(note)}" for note in facts["notes"]),
        settings(spec, ("encoder", "train", "out")),
        "The same again:",
        fenced(shlex.join(spec.relative_paths().command()), "sh"),
        table(("update", "held-out loss"), _curve(facts["curve"])),
        proof,
        "## Terms",
        terms,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _words(known: int | None) -> str:
    """The sentence about the words that decoding is restricted to."""
    if not known:
        return ""
    return (
        f" Unless any word is asked for, it writes only the {known:,} words of its training "
        "text (`words.txt.gz`), beside numbers and marks."
    )


def _curve(curve: Sequence[Sequence[float]]) -> list[tuple[str, str]]:
    """Held-out losses, evenly thinned; the first and the last are always among them."""
    every = -(-len(curve) // MOST_ROWS) or 1
    last = len(curve) - 1
    return [
        (f"{step:,.0f}", f"{loss:.3f}")
        for i, (step, loss) in enumerate(curve)
        if i % every == 0 or i == last
    ]
