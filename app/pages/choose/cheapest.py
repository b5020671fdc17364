"""The cheapest encoder that is shown to lose less than the margin of a decision sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from theodolite.app.pages.choose.candidates import DTYPES, Candidate, Dtype
from theodolite.engine.encoders.variants import baseline, ladder
from theodolite.engine.stats.choice import Behind, behind, choose
from theodolite.engine.stats.power import to_show

if TYPE_CHECKING:
    from theodolite.engine.stats.bootstrap import Sample


class _Trials:
    """All that was compared with the best: at once, so that choosing among them is accounted for.

    Args:
        best: the best encoder.
        refit: see `engine.stats.choice.choose`.
        margin: points that may be lost.
        others: encoders to compare with it.
    """

    def __init__(
        self, best: Candidate, refit: float, margin: float, others: Iterable[Candidate]
    ) -> None:
        self.best, self.margin, self._refit = best, margin, refit
        self._samples: dict[str, Sample] = {}
        self.behind: dict[str, Behind] = {}
        self.add(*others)

    def add(self, *more: Candidate) -> None:
        """Compare more encoders, all of them anew."""
        assert self.best.sample is not None  # noqa: S101 - for the type checker
        added = {one.spec: one.sample for one in more if one.sample is not None}
        if added:
            self._samples |= added
            self.behind = behind(self.best.sample, self._samples, self._refit)

    def shown(self, one: Candidate) -> bool:
        """Whether it is the best, or shown to lose less than the margin."""
        less = self.behind.get(one.spec)
        return one is self.best or (less is not None and less.within(self.margin))


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
    others = [one for one in scored.values() if one is not best]
    trials = _Trials(best, refit, margin, others)
    able = [one for one in others if baseline(one.encoder) != "random"]
    quickest = min([best, *filter(trials.shown, able)], key=_price)
    if other := faster(quickest):
        trials.add(other)
        able.append(other)
        quickest = other if trials.shown(other) else quickest
    forms = [quickest]
    for dtype in DTYPES:
        for dim in ladder(quickest.dim)[::-1]:
            made = shrunk(quickest, dtype, dim)
            if made.bytes < quickest.bytes:
                trials.add(made)
                forms.append(made)
                if not trials.shown(made):
                    break
    within = [best, *filter(trials.shown, forms)]
    least = min(within, key=lambda one: (*_price(one)[:2], one.bytes))
    if least is not best:
        return _chosen(least, trials.behind[least.spec], refit), None
    cheaper = [one for one in able if _price(one) < _price(best)]
    return _chosen(best, None, refit), _next(trials, [*cheaper, *forms])


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
    name = trials.best.encoder
    needs = [
        (to_show(trials.behind[one.spec], trials.margin, smaller=one.encoder == name), one)
        for one in cheaper
        if one.spec in trials.behind
    ]
    if not needs:
        return None
    more, one = min(needs, key=lambda pair: (pair[0].n is None, pair[0].n or 0, -pair[0].power))
    return {"encoder": one.encoder, **one.form(), "n": more.n, "power": more.power}
