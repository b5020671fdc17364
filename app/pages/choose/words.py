"""A decision sheet in plain words, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app import formats

Sheet = Mapping[str, Any]
LEAST_TOLD, LEAST_SHOWN = 0.05, 0.005
"""Points: of optimism that is worth a sentence, and of two decimals."""
MOST_SHOWN = 160
"""Characters of an example: what is right of a query may be whole documents."""
ALIKE = 0.8
"""Share of their neighbours from which two encoders see much the same."""
UNITS = {"float32": "", "int8": " in int8", "binary": " in binary"}
METRICS = {
    "accuracy": "accuracy in %",
    "precision_at_10": "% of the ten nearest neighbours with the same label",
    "ndcg_at_10": "nDCG@10",
    "map_at_1000": "mean average precision",
    "max_ap": "average precision",
    "spearman": "Spearman correlation × 100",
    "pearson": "Pearson correlation × 100",
    "f1": "F1",
}
EXAMPLES = {
    "pairs": ("pair", "pairs"),
    "labelled-pairs": ("pair", "pairs"),
    "parallel": ("translation", "translations"),
    "retrieval": ("query", "queries"),
}
"""Kind of data -> what one of its examples is called; *example* for all others."""
OPEN = {
    "no_labels": "the data has no labels",
    "few_examples": "too few examples are labelled",
    "no_encoder_within_limits": "no encoder is within the limits",
    "encoder_failed": "no encoder could be measured",
}
"""Code of a warning -> why nothing is decided."""
FRONT = (
    "Score against the time of one sentence, with 95 % intervals. Dotted: the Pareto front; no "
    "encoder is both better and faster than one on it."
)
HEADS = ("Encoder", "Score", "95 % interval", "ms a sentence", "Sentences/s", "Dimensions",
         "Bytes a vector", "Licence", "Remark")  # fmt: skip


def headline(sheet: Sheet) -> str:
    """What was decided, in a line."""
    best, ties, over = sheet["best"], sheet["ties"], sheet["against_baseline"]
    if best is None:
        codes = {one["code"] for one in sheet["warnings"]}
        why = next((text for code, text in OPEN.items() if code in codes), "nothing was scored")
        return f"Nothing is decided: {why}"
    if over is not None and not over["beaten"]:
        return f"No encoder is better than random words on these {examples(sheet)}"
    if not ties:
        alone = len(_scored(sheet)) < 2
        return f"{best['encoder']} is {'the only one to choose' if alone else 'best'}"
    cheapest = sheet["cheapest"]["encoder"]
    others = formats.listed([one["encoder"] for one in ties], 3)
    said = f"{best['encoder']} ties with {others}"
    return said if cheapest == best["encoder"] else f"{said}: take {cheapest}"


def examples(sheet: Sheet, number: int | None = None) -> str:
    """`300 examples`, or what they are: pairs, queries."""
    names = EXAMPLES.get(sheet["kind"], ("example", "examples"))
    return formats.plural(sheet["n"] if number is None else number, *names)


def sentences(sheet: Sheet) -> list[str]:
    """What a person should know of it, in the order in which it is asked."""
    if sheet["best"] is None:
        return [*_agreement(sheet), *_costs(sheet)]
    return [*_best(sheet), *_cheapest(sheet), *_further(sheet), *_against(sheet), *_front(sheet)]


def score(one: Mapping[str, Any]) -> str:
    """`81.33 (77.00 to 85.67)`."""
    return f"{formats.score(one['score'])} ({interval(one)})"


def _scored(sheet: Sheet) -> list[Mapping[str, Any]]:
    """Rows of the encoders that were chosen from, best first."""
    rows = [row for row in sheet["encoders"] if row["low"] is not None]
    return sorted(rows, key=lambda row: -row["score"])


def interval(one: Mapping[str, Any]) -> str:
    """`77.00 to 85.67`."""
    if one["low"] is None:
        return formats.MISSING
    return f"{formats.score(one['low'])} to {formats.score(one['high'])}"


def metric(sheet: Sheet) -> str:
    """What the scores are."""
    name = str(sheet["metric"])
    return METRICS.get(name, name.replace("_", " "))


def form(one: Mapping[str, Any]) -> str:
    """`128 dimensions in int8`."""
    return f"{one['dim']} dimensions{UNITS[one['dtype']]}"


def _best(sheet: Sheet) -> Iterator[str]:
    best, ties, every = sheet["best"], sheet["ties"], _scored(sheet)
    yield (
        f"{best['encoder']} scores {formats.score(best['score'])} ({metric(sheet)} on "
        f"{examples(sheet)}; 95 % interval {interval(best)})."
    )
    if sheet.get("highest") is not None:
        yield (
            f"No encoder could score more than {formats.score(sheet['highest'])} here: most labels "
            "have fewer than eleven examples."
        )
    how = f"{sheet['test']} at 5 %, with Holm's correction over all pairs"
    if ties:
        others = formats.listed(f"{one['encoder']}, {score(one)}" for one in ties)
        yield f"No significant difference from {others}: {how}."
    elif len(every) > 1 and every[1]["encoder"] != sheet["baseline"]:
        yield f"{every[1]['encoder']} comes next with {score(every[1])}, significantly less: {how}."
    if len(every) > 1 and sheet["optimism"] >= LEAST_TOLD:
        yield (
            f"Expect about {sheet['optimism']:.1f} points less on new examples: it was picked as "
            f"the best of {len(every)} on these very ones."
        )


def _cheapest(sheet: Sheet) -> Iterator[str]:
    cheap, best = sheet["cheapest"], sheet["best"]
    full = next(row for row in sheet["encoders"] if row["encoder"] == best["encoder"])
    same = cheap["encoder"] == best["encoder"]
    if same and cheap["bytes_per_vector"] == full["bytes_per_vector"]:
        return
    gains = [
        f"{times} times {word}"
        for a, b, word in (
            (full["ms_per_sentence"], cheap["ms_per_sentence"], "faster"),
            (full["bytes_per_vector"], cheap["bytes_per_vector"], "smaller"),
        )
        if a and b and (times := ratio(a / b))
    ]
    found = f": {' and '.join(gains)}" if gains else ""
    whole = "its full vectors" if same else best["encoder"]
    yield (
        f"{cheap['encoder']} at {form(cheap)} ties with {whole}{found}. It scores {score(cheap)}, "
        f"{_less(cheap['behind'])}."
    )


def _less(behind: Mapping[str, Any]) -> str:
    """A difference and its interval in words."""
    ends = formats.signed(behind["low"]), formats.signed(behind["high"])
    if all(abs(behind[key]) < LEAST_SHOWN for key in ("delta", "low", "high")):
        return "no difference"
    if abs(behind["delta"]) < LEAST_SHOWN:
        said = "no difference on average"
    else:
        word = "less" if behind["delta"] < 0 else "more"
        said = f"{formats.score(abs(behind['delta']))} points {word}"
    return f"{said} (95 % interval of the difference {ends[0]} to {ends[1]})"


def ratio(value: float) -> str:
    """Times that are worth a word: two figures, nothing below 1.1."""
    if value < 1.1:
        return ""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}".removesuffix(".0")


def _further(sheet: Sheet) -> Iterator[str]:
    for more in sheet["more_examples"]:
        chance = f"{100 * more['power']:.0f} %"
        if more["n"] is not None:
            yield (
                f"About {formats.count(more['n'])} more examples like these would tell "
                f"{more['a']} and {more['b']} apart with a chance of {chance}."
            )
        elif more["power"]:
            yield (
                f"Even 20 times as many examples would tell {more['a']} and {more['b']} apart "
                f"with a chance of only {chance}."
            )


def _against(sheet: Sheet) -> Iterator[str]:
    over, best = sheet["against_baseline"], sheet["best"]
    if over is not None and over["beaten"] and best["encoder"] != sheet["baseline"]:
        yield (
            f"Random words ({sheet['baseline']}) score {formats.score(over['score'])}: "
            f"{best['encoder']} is {formats.score(over['delta'])} points better (95 % interval "
            f"{formats.score(over['low'])} to {formats.score(over['high'])})."
        )


def _front(sheet: Sheet) -> Iterator[str]:
    known = [row for row in _scored(sheet) if row["ms_per_sentence"]]
    if 1 < len(sheet["front"]) < len(known):
        yield (
            f"Pareto front of score and time: {formats.listed(sheet['front'])}. Every other "
            "encoder is slower than one of these and scores no better."
        )


def front(sheet: Sheet) -> str:
    """What the picture of score against time says; nothing below two encoders."""
    by = {row["encoder"]: row for row in _scored(sheet) if row["ms_per_sentence"]}
    names = [name for name in sheet["front"] if name in by]
    if len(by) < 2 or not names:
        return ""
    better = [name for name in names if name != sheet["baseline"]] or names
    quick, best = by[better[0] if len(better) > 1 else names[0]], by[names[-1]]
    if quick is best:
        return f"{best['encoder']} scores highest and is fastest"
    times = ratio(best["ms_per_sentence"] / quick["ms_per_sentence"])
    takes = f"takes {times} times as long" if times else "takes about as long"
    if quick["encoder"] in [one["encoder"] for one in sheet["ties"]]:
        return f"{best['encoder']} {takes} as {quick['encoder']} and is not significantly better"
    more = formats.score(best["score"] - quick["score"])
    return f"{best['encoder']} scores {more} points more than {quick['encoder']} and {takes}"


def _agreement(sheet: Sheet) -> Iterator[str]:
    every = sorted(sheet["agreement"], key=lambda row: row["shared"])
    pairs = [row for row in every if sheet["baseline"] not in (row["a"], row["b"])] or every
    if not pairs:
        return
    least, most = pairs[0], pairs[-1]
    matters = "they see much the same" if least["shared"] >= ALIKE else "which you take matters"
    what = f"of a sentence's {least['k']} nearest neighbours"
    if least is most:
        yield f"{_pair(least)} share {_share(least)} {what}: {matters}."
    else:
        yield (
            f"Two encoders share from {_share(least)} ({_pair(least)}) to {_share(most)} "
            f"({_pair(most)}) {what}: {matters}."
        )


def _pair(row: Mapping[str, Any]) -> str:
    return f"{row['a']} and {row['b']}"


def _share(row: Mapping[str, Any]) -> str:
    return f"{100 * row['shared']:.0f} %"


def _costs(sheet: Sheet) -> Iterator[str]:
    """Without scores: who is fastest, and whose vectors are smallest."""
    rows = [row for row in sheet["encoders"] if not (row["error"] or row["outside"])]
    rows = [row for row in rows if row["encoder"] != sheet["baseline"]] or rows
    timed = [row for row in rows if row["ms_per_sentence"]]
    if len(rows) > 1 and len(timed) == len(rows):
        quick = min(timed, key=lambda row: row["ms_per_sentence"])
        small = min(rows, key=lambda row: row["bytes_per_vector"])
        yield (
            f"Fastest: {quick['encoder']}, {_number(quick['ms_per_sentence'])} ms a sentence. "
            f"Smallest vectors: {small['encoder']}, {formats.count(int(small['bytes_per_vector']))}"
            " bytes."
        )


def rows(sheet: Sheet) -> list[tuple[str, ...]]:
    """The table of encoders, as `HEADS` has its columns."""
    found: list[tuple[str, ...]] = []
    for row in sorted(sheet["encoders"], key=lambda row: -(row["score"] or -1e9)):
        remark = row["error"] or row["outside"] or ""
        if not remark and sheet["best"] is not None and row["low"] is None:
            remark = "baseline"
        found.append((
            row["encoder"], formats.score(row["score"]), interval(row),
            _number(row["ms_per_sentence"]), _number(row["per_second_64"]),
            str(row["dim"]), f"{row['bytes_per_vector']:g}", row["licence"] or formats.MISSING,
            remark,
        ))  # fmt: skip
    return found


def _number(value: float | None) -> str:
    return formats.MISSING if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def measured_how(sheet: Sheet) -> str:
    """The small print."""
    said = f"Times were measured on {sheet['machine']}."
    if sheet["task"] is None:
        return said
    return f"Task {sheet['task']} under the protocol {sheet['protocol']}. {said}"


def markdown(sheet: Sheet) -> str:
    """The whole sheet."""
    lines = [f"# {headline(sheet)}", "", f"Decision sheet for {sheet['data']}.", ""]
    lines += [f"- {text}" for text in sentences(sheet)]
    if sheet["warnings"]:
        lines += ["", "## Before you rely on it", ""]
        lines += [f"- **{one['code']}**: {one['message']}" for one in sheet["warnings"]]
    lines += ["", "## Encoders", "", *_table(HEADS, rows(sheet))]
    if sheet["differ"]:
        lines += ["", f"## Where {sheet['differ']['a']} and {sheet['differ']['b']} differ", ""]
        lines += _table(*differing(sheet))
    return "\n".join([*lines, "", measured_how(sheet), ""])


def differing(sheet: Sheet) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and rows of the examples on which the finalists differ most."""
    found = sheet["differ"]
    pair = found["a"], found["b"]
    table = [
        (" / ".join(formats.shorten(text, MOST_SHOWN) for text in one["texts"]) or formats.MISSING,
         formats.shorten(one["label"], MOST_SHOWN) or formats.MISSING,
         *(_quality(one[name], found["graded"]) for name in pair))
        for one in found["examples"]
    ]  # fmt: skip
    return ("Example", "Expected", *pair), table


def differ(sheet: Sheet) -> str:
    """On how many examples either finalist does better."""
    found = sheet["differ"]
    graded = " 1: the pair's rank by cosine is its rank by score." * bool(found["graded"])
    return (
        f"{found['a']} does better on {formats.count(found['ahead'])} of "
        f"{formats.count(found['of'])}, {found['b']} on {formats.count(found['behind'])}."
        f"{graded}"
    )


def _quality(value: float, graded: bool) -> str:
    if not graded and value in (0.0, 1.0):
        return "right" if value else "wrong"
    return f"{value:.2f}"


def _table(heads: Sequence[str], table: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(" ".join(c.replace("|", r"\|").split()) for c in cells) + " |"

    return [line(heads), line(["---"] * len(heads)), *map(line, table)]
