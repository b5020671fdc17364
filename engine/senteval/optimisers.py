"""Parse SentEval's optimiser strings: `adam`, `sgd,lr=0.1`, as its README documents.

Source: facebookresearch/SentEval, `senteval/utils.py` (`get_optimizer`).
"""

from __future__ import annotations

import inspect
import re

from theodolite.engine.classifiers.optimisers import BY_TORCH
from theodolite.engine.errors import UserError

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
"""Without an exponent, as in the reference."""


def parse(text: str) -> tuple[str, tuple[tuple[str, float], ...]]:
    """Read the name of an optimiser and its options.

    A `weight_decay` is accepted and ignored: each classifier has its own.
    """
    name, *given = str(text).split(",")
    if name not in BY_TORCH:
        raise UserError(
            f"The optimiser {name!r} is not available.",
            f"Available: {', '.join(BY_TORCH)}.",
            code="unknown",
        )
    options: dict[str, float] = {}
    for option in given:
        key, _, value = option.partition("=")
        if not _NUMBER.fullmatch(value):
            raise UserError(
                f"optim has {option!r} where an option and a number are expected.",
                "Write it as in 'sgd,lr=0.1', without spaces or exponents.",
            )
        options[key] = float(value)
    _check_options(name, options)
    return name, tuple(options.items())


def _check_options(name: str, options: dict[str, float]) -> None:
    """Check options now that the optimiser would only reject in the middle of an evaluation."""
    import torch

    kind = getattr(torch.optim, BY_TORCH[name])
    parameters = inspect.signature(kind).parameters.values()
    known = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
    unknown = [key for key in options if key not in known]
    if unknown:
        raise UserError(
            f"The optimiser {name} has no option {unknown[0]!r}.",
            f"Available: {', '.join(known)}.",
            code="unknown",
        )
    if name == "sgd" and "lr" not in options:
        raise UserError(
            "The optimiser sgd has no learning rate.",
            "Write it as in 'sgd,lr=0.1'.",
            code="missing",
        )
    weight = torch.zeros(1, requires_grad=True)
    weight.grad = torch.ones(1)
    try:
        kind([weight], **options).step()
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(
            f"The optimiser {name} does not take these options: {error}.",
            "Leave out the one that is named to have torch's default.",
        ) from None
