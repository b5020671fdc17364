"""A decision sheet in sentences, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from theodolite.app import formats
from theodolite.app.metrics import METRICS

Sheet = Mapping[str, Any]
MIN_OPTIMISM, MIN_DIFFERENCE = 0.05, 0.005
"""Points: least optimism worth a sentence, and least difference shown at two decimals."""
MAX_CHARACTERS = 160
"""Most characters of an example: the expected answers of a query may be whole documents."""
ALIKE, LIKELY = 0.8, 0.8
"""Share of common neighbours from which two encoders are called much alike, and probability from
which more examples are called enough."""
EXAMPLES = {
    "pairs": ("pair", "pairs"),
    "labelled-pairs": ("pair", "pairs"),
    "parallel": ("translation", "translations"),
    "retrieval": ("query", "queries"),
}
"""Kind of data -> singular and plural of its examples; *example* for all other kinds."""
GOLD = ("label", "score", "grade", "split")
"""Roles of columns that are named after the texts."""
OPEN = {
    "no_labels": "the data has no labels",
    "few_examples": "too few examples are labelled",
    "no_encoder_within_limits": "no encoder is within the limits",
    "encoder_failed": "no encoder could be evaluated",
}
"""Code of a warning -> reason for no decision."""
FRONT = (
    "Score against the time of one sentence, with 95 % intervals. Dotted: the Pareto front; no "
    "encoder is both better and faster than one on it."
)
HEADS = (
    "Encoder",
    "Score",
    "95 % interval",
    "ms per sentence",
    "Sentences/s",
    "Dimensions",
    "Bytes per vector",
    "Licence",
    "Remark",
)


def headline(sheet: Sheet) -> str:
    """The decision in a line."""
    best, ties, cheap = sheet["best"], sheet["ties"], sheet["cheapest"]
    if best is None:
        codes = {one["code"] for one in sheet["warnings"]}
        why = next((text for code, text in OPEN.items() if code in codes), "nothing was scored")
        return f"Undecided: {why}"
    if not _beats_random(sheet):
        return f"No encoder is better than random words on these {examples(sheet)}"
    if len(_scored(sheet)) < 2:
        return f"{best['encoder']} is the only one to choose"
    others = formats.listed([one["encoder"] for one in ties], 3)
    lead = f"{best['encoder']} {f'ties with {others}' if ties else 'is best'}"
    if ties or cheap["encoder"] != best["encoder"]:
        return f"{lead}: take {cheap['encoder']}"
    return lead


def sentences(sheet: Sheet) -> list[str]:
    """The findings of a sheet in sentences, the most important first."""
    if sheet["best"] is None:
        return [*_agreement(sheet), *_costs(sheet)]
    if not _beats_random(sheet):
        return [*_best(sheet), *_optimism(sheet)]
    return [*_best(sheet), *_cheapest(sheet), *_further(sheet), *_random(sheet), *_optimism(sheet)]


def columns(sheet: Sheet) -> list[str]:
    """The columns that were used, in a sentence; none unless a file with columns was brought."""
    roles = sorted(sheet["columns"].items(), key=lambda pair: (pair[0] in GOLD, pair))
    used = formats.listed(f"{role} = {column}" for role, column in roles)
    return [f"Columns used: {used}."] if used else []


def examples(sheet: Sheet) -> str:
    """`300 examples`, or `300 pairs`, `300 queries`, by the kind of data."""
    return formats.plural(sheet["n"], *EXAMPLES.get(sheet["kind"], ("example", "examples")))


def metric(sheet: Sheet) -> str:
    """The name of the metric."""
    name = str(sheet["metric"])
    return METRICS.get(name, name)


def score(one: Mapping[str, Any]) -> str:
    """`81.33 (77.00 to 85.67)`."""
    return f"{formats.score(one['score'])} ({interval(one)})"


def interval(one: Mapping[str, Any]) -> str:
    """`77.00 to 85.67`."""
    if one["low"] is None:
        return formats.MISSING
    return f"{formats.score(one['low'])} to {formats.score(one['high'])}"


def _scored(sheet: Sheet) -> list[Mapping[str, Any]]:
    """Rows of the encoders with an interval, best first."""
    rows = [row for row in sheet["encoders"] if row["low"] is not None]
    return sorted(rows, key=lambda row: -row["score"])


def _beats_random(sheet: Sheet) -> bool:
    over = sheet["against_baseline"]
    return over is None or over["beaten"]


def _best(sheet: Sheet) -> Iterator[str]:
    best, ties, every = sheet["best"], sheet["ties"], _scored(sheet)
    yield (
        f"{best['encoder']} scores {formats.score(best['score'])} on {examples(sheet)} "
        f"({metric(sheet)}; 95 % interval {interval(best)})."
    )
    if sheet["highest"] is not None:
        yield (
            f"{formats.score(sheet['highest'])} is the highest possible score here: most labels "
            "have fewer than eleven examples."
        )
    how = "by the paired bootstrap (5 %, all pairs tested at once)"
    if ties:
        others = formats.listed(f"{one['encoder']} with {score(one)}" for one in ties)
        yield f"Not significantly different {how}: {others}."
    elif len(every) > 1 and every[1]["encoder"] != sheet["baseline"]:
        yield f"Next comes {every[1]['encoder']} with {score(every[1])}, significantly less {how}."


def _cheapest(sheet: Sheet) -> Iterator[str]:
    cheap, best = sheet["cheapest"], sheet["best"]
    full = next(row for row in sheet["encoders"] if row["encoder"] == best["encoder"])
    same = cheap["encoder"] == best["encoder"]
    if cheap["spec"] == full["spec"]:
        yield from _nothing_cheaper(sheet)
        return
    open_ = {cheap["encoder"], full["encoder"]} & _disturbed(sheet)
    times = "" if open_ else ratio(full["ms_per_sentence"], cheap["ms_per_sentence"])
    size = ratio(full["bytes_per_vector"], cheap["bytes_per_vector"])
    faster = f", is {times} times faster" if times else ""
    gains = faster + (f"{' and' if faster else ','} at {_size(size)}" if size else "")
    whole = "its full vectors" if same else best["encoder"]
    behind = cheap["behind"]
    if all(abs(behind[key]) < MIN_DIFFERENCE for key in ("delta", "low", "high")):
        what = f"scores the same as {whole}"
    else:
        what = f"is shown to lose less than {_margin(sheet)} against {whole}"
    yield f"{cheap['encoder']} with {form(cheap)} {what}{gains}. {_behind(cheap)}".strip()
    if cheap["spec"] != cheap["encoder"]:
        yield f"Its spec is {cheap['spec']}"


def _nothing_cheaper(sheet: Sheet) -> Iterator[str]:
    more = sheet["nothing_cheaper"]
    if more is None:
        return
    text = f"Nothing cheaper is shown to lose less than {_margin(sheet)}."
    if more["n"]:
        what = more["spec"] if more["spec"] == more["encoder"] else form(more)
        many = f"about {formats.count(more['n'])} more examples like these"
        text += f" With {many}, {what} would be, with {100 * more['power']:.0f} % probability."
    yield text


def _margin(sheet: Sheet) -> str:
    margin = sheet["limits"]["margin"]
    return f"{margin:g} {'point' if margin == 1 else 'points'}"


def _size(times: str) -> str:
    """`a quarter of the size`."""
    part = {"2": "half", "3": "a third", "4": "a quarter", "8": "an eighth"}.get(times)
    return f"{part} {'of ' if part != 'half' else ''}the size" if part else f"1/{times} of the size"


def form(one: Mapping[str, Any]) -> str:
    """`int8 vectors of 128 dimensions`."""
    precision = "" if one["dtype"] == "float32" else f"{one['dtype']} "
    return f"{precision}vectors of {one['dim']} dimensions"


def _behind(cheap: Mapping[str, Any]) -> str:
    """The difference to the best, in a sentence; empty if there is none."""
    behind = cheap["behind"]
    if all(abs(behind[key]) < MIN_DIFFERENCE for key in ("delta", "low", "high")):
        return ""
    if abs(behind["delta"]) < MIN_DIFFERENCE:
        gap = "the same on average"
    else:
        word = "less" if behind["delta"] < 0 else "more"
        gap = f"{formats.score(abs(behind['delta']))} points {word}"
    ends = f"{formats.signed(behind['low'])} to {formats.signed(behind['high'])}"
    return f"It scores {gap} (95 % interval of the difference {ends})."


def ratio(a: float | None, b: float | None) -> str:
    """How many times one cost is another, to two digits; empty if not known or below 1.1."""
    if not a or not b or (value := a / b) < 1.1:
        return ""
    return f"{value:.0f}" if value >= 10 else f"{value:.1f}".removesuffix(".0")


def _further(sheet: Sheet) -> Iterator[str]:
    for more in sheet["more_examples"]:
        apart = f"tell {more['a']} and {more['b']} apart"
        chance = f"{100 * more['power']:.0f} % probability"
        if more["n"] is not None:
            many = formats.count(more["n"])
            yield f"About {many} more examples like these would {apart} with {chance}."
        elif 0 < more["power"] < LIKELY:
            yield f"Even 20 times as many examples would {apart} only with {chance}."


def _random(sheet: Sheet) -> Iterator[str]:
    over, best = sheet["against_baseline"], sheet["best"]
    if over is not None and best["encoder"] != sheet["baseline"]:
        yield (
            f"Random words ({sheet['baseline']}) score {formats.score(over['score'])}: "
            f"{formats.score(over['delta'])} less than {best['encoder']} (95 % interval "
            f"{formats.score(over['low'])} to {formats.score(over['high'])})."
        )


def _optimism(sheet: Sheet) -> Iterator[str]:
    many = len(_scored(sheet))
    if many > 1 and sheet["optimism"] >= MIN_OPTIMISM:
        yield (
            f"Expect about {sheet['optimism']:.1f} points less on new data: the best of {many} was "
            "picked on these very examples."
        )


def front(sheet: Sheet) -> str:
    """The finding of the chart of score against time; empty below two encoders."""
    by = {row["encoder"]: row for row in _scored(sheet) if row["ms_per_sentence"]}
    names = [name for name in sheet["front"] if name in by]
    if len(by) < 2 or not names:
        return ""
    better = [name for name in names if name != sheet["baseline"]] or names
    quick, best = by[better[0] if len(better) > 1 else names[0]], by[names[-1]]
    if quick is best:
        return f"{best['encoder']} scores highest and is fastest"
    times = ratio(best["ms_per_sentence"], quick["ms_per_sentence"])
    takes = f"takes {times} times as long" if times else "takes about as long"
    than = "as"
    if {best["encoder"], quick["encoder"]} & _disturbed(sheet):
        takes, than = "takes longer (the machine was too busy to tell how much)", "than"
    if quick["encoder"] in [one["encoder"] for one in sheet["ties"]]:
        return (
            f"{best['encoder']} {takes} {than} {quick['encoder']} and is not significantly better"
        )
    more = formats.score(best["score"] - quick["score"])
    return f"{best['encoder']} scores {more} points more than {quick['encoder']} and {takes}"


def _disturbed(sheet: Sheet) -> set[str]:
    """Encoders that were timed while the machine was busy: their times are in no ratio."""
    return {row["encoder"] for row in sheet["encoders"] if row["timed_disturbed"]}


def _agreement(sheet: Sheet) -> Iterator[str]:
    every = sorted(sheet["agreement"], key=lambda row: row["shared"])
    pairs = [row for row in every if sheet["baseline"] not in (row["a"], row["b"])] or every
    if not pairs:
        return
    least, most = pairs[0], pairs[-1]
    alike = least["shared"] >= ALIKE
    matters = "they see the data much alike" if alike else "the choice matters"
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
    """Without scores: the fastest encoder, and the one with the smallest vectors."""
    rows = [row for row in sheet["encoders"] if not (row["error"] or row["outside"])]
    rows = [row for row in rows if row["encoder"] != sheet["baseline"]] or rows
    timed = [row for row in rows if row["ms_per_sentence"]]
    if len(rows) > 1 and len(timed) == len(rows):
        quick = min(timed, key=lambda row: row["ms_per_sentence"])
        small = min(rows, key=lambda row: row["bytes_per_vector"])
        yield (
            f"Fastest: {quick['encoder']}, {_number(quick['ms_per_sentence'])} ms per "
            f"sentence. Smallest vectors: {small['encoder']}, {small['bytes_per_vector']:,g} "
            "bytes."
        )


def table(sheet: Sheet) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows: the encoders, and the cheapest form; no scores if undecided."""
    if sheet["best"] is None:
        return HEADS[:1] + HEADS[3:], [row[:1] + row[3:] for row in _rows(sheet)]
    return HEADS, _rows(sheet)


def _rows(sheet: Sheet) -> list[tuple[str, ...]]:
    every = sorted(sheet["encoders"], key=lambda row: -(row["score"] or -1e9))
    found = [_row(row, _remark(sheet, row)) for row in every]
    cheap = sheet["cheapest"]
    if cheap and cheap["spec"] not in {row["spec"] for row in every} and _beats_random(sheet):
        found.append(_row(cheap, f"cheapest within {_margin(sheet)}"))
    return found


def _row(row: Mapping[str, Any], remark: str) -> tuple[str, ...]:
    precision = "" if row["dtype"] == "float32" else f" {row['dtype']}"
    return (
        row["encoder"],
        formats.score(row["score"]),
        interval(row),
        _number(row["ms_per_sentence"]),
        _number(row.get("per_second_64")),
        f"{row['dim']}{precision}",
        f"{row['bytes_per_vector']:,g}",
        row.get("licence") or formats.MISSING,
        remark,
    )


def _remark(sheet: Sheet, row: Mapping[str, Any]) -> str:
    if row["error"] or row["outside"]:
        return str(row["error"] or row["outside"])
    remarks = ["baseline"] * (row["encoder"] == sheet["baseline"])
    remarks += ["Pareto front"] * (row["encoder"] in sheet["front"])
    return ", ".join(remarks)


def _number(value: float | None) -> str:
    return formats.MISSING if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def measured_how(sheet: Sheet) -> str:
    """Task, protocol and machine, in a sentence or two."""
    text = f"Times were measured on {sheet['machine']}."
    if sheet["task"] is None:
        return text
    return f"Task {sheet['task']} under the protocol {sheet['protocol']}. {text}"


def markdown(sheet: Sheet) -> str:
    """The whole sheet as Markdown."""
    lines = [f"# {headline(sheet)}", "", f"Decision sheet for {sheet['data']}.", ""]
    lines += [f"- {text}" for text in [*columns(sheet), *sentences(sheet)]]
    if sheet["warnings"]:
        lines += ["", "## Before you rely on it", ""]
        lines += [f"- **{one['code']}**: {one['message']}" for one in sheet["warnings"]]
    lines += ["", "## Encoders", "", *_table(*table(sheet))]
    if sheet["differ"]:
        lines += ["", f"## Where {sheet['differ']['a']} and {sheet['differ']['b']} differ", ""]
        lines += _table(*differing(sheet))
    return "\n".join([*lines, "", measured_how(sheet), ""])


def differing(sheet: Sheet) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows of the examples on which the finalists differ most."""
    found = sheet["differ"]
    pair = found["a"], found["b"]
    rows = [
        (
            " / ".join(formats.shorten(text, MAX_CHARACTERS) for text in one["texts"])
            or formats.MISSING,
            formats.shorten(one["label"], MAX_CHARACTERS) or formats.MISSING,
            *(_quality(one[name], found["graded"]) for name in pair),
        )
        for one in found["examples"]
    ]
    return ("Example", "Expected", *pair), rows


def differ(sheet: Sheet) -> str:
    """The number of examples on which each finalist is better, in a sentence."""
    found = sheet["differ"]
    shares = any(one[found[side]] not in (0.0, 1.0) for one in found["examples"] for side in "ab")
    what = "share of draws that are right" if sheet["metric"] == "accuracy" else metric(sheet)
    graded = f" Below, {what}, from 0 to 1." * shares
    if found["graded"]:
        graded = " 1: the pair's rank by cosine is its rank by score."
    return (
        f"{found['a']} does better on {formats.count(found['ahead'])} of "
        f"{formats.count(found['of'])}, {found['b']} on {formats.count(found['behind'])}."
        f"{graded}"
    )


def _quality(value: float, graded: bool) -> str:
    if not graded and value in (0.0, 1.0):
        return "right" if value else "wrong"
    return f"{value:.2f}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(" ".join(c.replace("|", r"\|").split()) for c in cells) + " |"

    return [line(heads), line(["---"] * len(heads)), *map(line, rows)]
