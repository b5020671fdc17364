"""The cheapest encoder that is shown to lose less than the margin of a decision sheet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from theodolite.app.pages.choose.candidates import DTYPES, Candidate, Dtype
from theodolite.engine.encoders.variants import baseline, ladder
from theodolite.engine.stats.choice import Behind, choose
from theodolite.engine.stats.power import to_show


class _Trials:
    """All that was compared with the best: at once, so that choosing among them is accounted for.

    Args:
        best: the best encoder.
        others: encoders to compare with it.
        refit: see `engine.stats.choice.choose`.
        margin: points that may be lost.
    """

    def __init__(
        self, best: Candidate, others: Mapping[str, Candidate], refit: float, margin: float
    ) -> None:
        self.best, self.margin, self._refit = best, margin, refit
        self.tried = {one.spec: one for one in others.values() if one is not best}
        self._compare()

    def _compare(self) -> None:
        from theodolite.engine.stats.choice import behind

        samples = {spec: one.sample for spec, one in self.tried.items() if one.sample is not None}
        assert self.best.sample is not None  # noqa: S101 - for the type checker
        self.found: dict[str, Behind] = behind(self.best.sample, samples, self._refit)

    def add(self, one: Candidate) -> bool:
        """Compare one more; return whether it is shown to be within the margin."""
        if one.sample is None:
            return False
        self.tried[one.spec] = one
        self._compare()
        return self.shown(one)

    def shown(self, one: Candidate) -> bool:
        """Whether it is the best, or shown to lose less than the margin."""
        return one is self.best or self.found[one.spec].within(self.margin)


def cheapest(
    best: Candidate,
    scored: Mapping[str, Candidate],
    margin: float,
    refit: float,
    faster: Callable[[Candidate], Candidate | None],
    shrunk: Callable[[Candidate, Dtype, int], Candidate],
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The fastest encoder shown to lose less than a margin, in the smallest vectors so shown.

    In each precision of vectors, the dimensions are halved as long as the result is within the
    margin. Random encoders are not chosen.

    Args:
        best: the best encoder.
        scored: encoders to choose from, the best among them.
        margin: points that may be lost.
        refit: see `engine.stats.choice.choose`.
        faster: returns an encoder in a faster form; None if there is none.
        shrunk: returns an encoder with vectors of another precision and dimension.

    Returns:
        What was chosen; and, if that is the best as it is, how many more examples would show that
        something cheaper is within the margin. None if there is nothing cheaper.
    """
    trials = _Trials(best, scored, refit, margin)
    able = [one for one in trials.tried.values() if baseline(one.encoder) != "random"]
    quickest = min([best, *filter(trials.shown, able)], key=_price)
    other = faster(quickest)
    if other is not None:
        able.append(other)
        quickest = other if trials.add(other) else quickest
    forms = [quickest]
    for dtype in DTYPES:
        for dim in ladder(quickest.dim)[::-1]:
            made = shrunk(quickest, dtype, dim)
            if made.bytes < quickest.bytes:
                forms.append(made)
                if not trials.add(made):
                    break
    tried = [one for one in forms if one is best or one.spec in trials.tried]
    least = min([best, *filter(trials.shown, tried)], key=lambda one: (*_price(one)[:2], one.bytes))
    if least is not best:
        return _chosen(least, trials.found[least.spec], refit), None
    cheaper = [one for one in able if _price(one) < _price(best)]
    return _chosen(best, None, refit), _next(trials, [*cheaper, *tried])


def _price(one: Candidate) -> tuple[bool, float, int]:
    """Sorts by speed, unknown last, then by dimensions."""
    return one.ms is None, one.ms or 0.0, one.dim


def _chosen(one: Candidate, behind: Behind | None, refit: float) -> dict[str, Any]:
    """An encoder with its form and score, and its difference from the best; None for the best."""
    assert one.sample is not None  # noqa: S101 - for the type checker
    score, low, high = choose({one.spec: one.sample}, refit).intervals[one.spec]
    return {
        "encoder": one.encoder,
        "score": score,
        "low": low,
        "high": high,
        **one.form(),
        "behind": {key: getattr(behind, key, 0.0) for key in ("delta", "low", "high")},
    }


def _next(trials: _Trials, cheaper: list[Candidate]) -> dict[str, Any] | None:
    """What needs the fewest further examples to be shown within the margin."""
    best = trials.best
    found = [
        (to_show(trials.found[one.spec], trials.margin, smaller=one.encoder == best.encoder), one)
        for one in cheaper
        if one is not best
    ]
    if not found:
        return None
    more, one = min(found, key=lambda pair: (pair[0].n is None, pair[0].n or 0, -pair[0].power))
    return {"encoder": one.encoder, **one.form(), "n": more.n, "power": more.power}
